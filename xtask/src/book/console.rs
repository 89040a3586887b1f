//! Execution of the commands of a page.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::expect::matches;
use super::page::{self, Page};
use crate::workspace::{Process, status_within, wait_for};

/// The address that pages show. A free port takes the place of its port.
const DOCUMENTED: &str = "127.0.0.1:8080";

/// Per command.
const DEADLINE: Duration = Duration::from_secs(60);

/// A directory, and a free address for servers.
pub(super) struct Sandbox {
    folder: PathBuf,
    path: std::ffi::OsString,
    address: SocketAddr,
}

impl Sandbox {
    pub(super) fn new(folder: &Path, program: &Path) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let mut path =
            program.parent().context("the program is in a folder")?.as_os_str().to_owned();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        // An error status is a failure, unless the page shows it.
        fs::write(folder.join(".curlrc"), "fail-with-body\n")?;
        Ok(Self { folder: folder.to_owned(), path, address })
    }

    /// Writes the files of the page, runs its commands in order, and returns what went wrong.
    pub(super) fn run(&self, page: &Page) -> Result<Vec<String>> {
        for (path, content) in &page.files {
            let path = self.folder.join(path);
            fs::create_dir_all(path.parent().context("the path is a file")?)?;
            fs::write(path, content)?;
        }
        let mut server = None;
        let mut failures = Vec::new();
        for command in &page.commands {
            let printed = if command.is_server() {
                drop(server.take());
                self.serve(command).map(|(started, printed)| {
                    server = Some(started);
                    printed
                })
            } else {
                self.execute(command)
            };
            let page::Command { line, text, output } = command;
            match printed {
                Ok(printed) if output.is_empty() || matches(output, &printed) => {}
                Ok(printed) => failures.push(format!(
                    "{line}: `{text}` printed\n{printed}\nbut the page shows\n{output}"
                )),
                Err(error) => failures.push(format!("{line}: `{text}`: {error:#}")),
            }
        }
        Ok(failures)
    }

    /// Starts a server, and waits until it accepts connections and has printed what the page shows.
    fn serve(&self, command: &page::Command) -> Result<(Process, String)> {
        let log = self.folder.join("server.log");
        let mut shell = self.shell(&format!("exec {}", command.text));
        let mut server = Process::start(shell.stdout(File::create(&log)?))?;
        let address = self.address.to_string();
        let read =
            || Ok::<_, anyhow::Error>(fs::read_to_string(&log)?.replace(&address, DOCUMENTED));
        let poll = || {
            let printed = read()?;
            let is_started = TcpStream::connect(self.address).is_ok();
            if is_started && (command.output.is_empty() || matches(&command.output, &printed)) {
                return Ok(Some(printed));
            }
            let ended = server.0.try_wait()?;
            ensure!(ended.is_none(), "the server has ended:\n{printed}");
            Ok(None)
        };
        let missing = || format!("not printed by the server: {:?}", read());
        let printed = wait_for(DEADLINE, poll, missing)?;
        Ok((server, printed))
    }

    fn execute(&self, command: &page::Command) -> Result<String> {
        let path = self.folder.join("output.log");
        let mut shell = self.shell(&command.text);
        let status = status_within(DEADLINE, shell.stdout(File::create(&path)?))?;
        let printed = fs::read_to_string(path)?.replace(&self.address.to_string(), DOCUMENTED);
        // A page may show a failure, with its output.
        if !status.success() && command.output.is_empty() {
            bail!("{status}:\n{printed}");
        }
        Ok(printed)
    }

    fn shell(&self, text: &str) -> Command {
        let address = self.address.to_string();
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("exec 2>&1\n{}", text.replace(DOCUMENTED, &address)));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("TRUNKLINE_") {
                shell.env_remove(name);
            }
        }
        shell.env("PATH", &self.path).env("NO_COLOR", "1").env_remove("CI");
        shell.env("CURL_HOME", &self.folder);
        shell.env("TRUNKLINE_LISTEN", &address).env("TRUNKLINE_URL", format!("http://{address}"));
        shell.current_dir(&self.folder).stdin(Stdio::null());
        shell
    }
}
