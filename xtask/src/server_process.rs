//! Servers of a step, on free ports, and the clients that use them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::sample_db;
use crate::workspace::{self, Process, Workspace, wait_for};

/// The variable with the directory of the server's data.
pub(crate) const DATA_DIR: &str = "TRUNKLINE_DATA_DIR";

/// Deadline of the start of a server, and of a client.
const DEADLINE: Duration = Duration::from_secs(120);

/// The program `trunkline`, and the folder of the output of a step.
pub(crate) struct Stage<'w> {
    pub(crate) workspace: &'w Workspace,
    pub(crate) trunkline: PathBuf,
    pub(crate) folder: PathBuf,
}

impl<'w> Stage<'w> {
    pub(crate) fn new(workspace: &'w Workspace, step: &str) -> Result<Self> {
        let trunkline = workspace.build("trunkline")?;
        let folder = workspace.fresh_folder(Path::new("target").join(step))?;
        Ok(Self { workspace, trunkline, folder })
    }

    /// A command of the program.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.workspace.command(&self.trunkline);
        command.args(arguments);
        command
    }

    /// `trunkline serve` on a free port.
    pub(crate) fn serve(&self, database: &Path, arguments: &[&str]) -> Command {
        let mut command = self.command(&["serve", "--listen", "127.0.0.1:0", "--db"]);
        command.arg(database).args(arguments);
        command
    }

    /// A copy of the Chinook sample.
    pub(crate) fn sample(&self, name: &str) -> Result<PathBuf> {
        let database = self.folder.join(name).with_extension("db");
        std::fs::copy(sample_db::cached(self.workspace)?, &database)
            .with_context(|| format!("cannot write {}", database.display()))?;
        Ok(database)
    }

    /// Starts a server with this name.
    pub(crate) fn start(&self, name: &str, command: &mut Command) -> Result<ServerProcess> {
        ServerProcess::start(command, &self.folder.join(format!("{name}.log")))
    }
}

/// A server process, which is killed when dropped.
pub(crate) struct ServerProcess {
    _process: Process,
    /// The file of its output.
    pub(crate) log: PathBuf,
    /// The printed address: `http://host:port`, optionally with a path.
    pub(crate) url: String,
}

impl ServerProcess {
    /// Starts the program and waits until it prints `listening http://…`. Its output goes to the log file, and its data
    /// to a directory next to that.
    pub(crate) fn start(command: &mut Command, log: &Path) -> Result<Self> {
        let file = File::create(log).with_context(|| format!("cannot create {}", log.display()))?;
        // A command that sets or removes the variable has another directory, or none.
        if command.get_envs().all(|(name, _)| name != DATA_DIR) {
            command.env(DATA_DIR, log.with_extension("data"));
        }
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let mut process = Process::start(command)?;
        let poll = || {
            let printed = std::fs::read_to_string(log)?;
            let lines = printed.split_inclusive('\n').filter(|line| line.ends_with('\n'));
            let url = lines.into_iter().find_map(address).map(str::to_owned);
            let ended = process.0.try_wait()?;
            ensure!(url.is_some() || ended.is_none(), "the server has ended:\n{}", tail(log));
            Ok(url)
        };
        let missing = || format!("the server printed no address:\n{}\n", tail(log));
        let url = wait_for(DEADLINE, poll, missing)?;
        Ok(Self { _process: process, log: log.to_owned(), url })
    }

    /// The address that it listens on.
    pub(crate) fn address(&self) -> &str {
        self.url.trim_start_matches("http://").split('/').next().unwrap_or_default()
    }

    /// Runs a client of the server.
    pub(crate) fn run(&self, client: &mut Command) -> Result<()> {
        self.explain(workspace::run_within(DEADLINE, client))
    }

    /// Adds the log to an error.
    pub(crate) fn explain<T>(&self, result: Result<T>) -> Result<T> {
        result.with_context(|| format!("log of the server:\n{}", tail(&self.log)))
    }
}

/// The last lines of a log, for error messages.
fn tail(log: &Path) -> String {
    let log = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}

fn address(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("listening ")?;
    rest.split_whitespace().next().filter(|url| url.starts_with("http://"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<&str>) {
        assert_eq!(address(line), expected, "{line:?}");
    }

    #[test]
    fn parses_addresses() {
        check("  listening http://127.0.0.1:80  (POST /)", Some("http://127.0.0.1:80"));
        check("listening http://127.0.0.1:80/mcp", Some("http://127.0.0.1:80/mcp"));
        check("listening 127.0.0.1:80", None);
        check("listening ", None);
        check("trunkline 0.1.0", None);
    }
}
