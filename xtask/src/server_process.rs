//! A server process on a free port, which is killed when dropped.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result};

/// The variable with the directory of the server's data.
pub(crate) const DATA_DIR: &str = "TRUNKLINE_DATA_DIR";

const DEADLINE: Duration = Duration::from_secs(120);

pub(crate) struct ServerProcess {
    child: Child,
    log: PathBuf,
    /// The printed address: `http://host:port`, optionally with a path.
    pub(crate) url: String,
}

impl ServerProcess {
    /// Starts the program and waits until it prints `listening http://…`. Its stderr goes to the log file, and its data
    /// to a directory next to that.
    pub(crate) fn start(command: &mut Command, log: &Path) -> Result<Self> {
        let stderr =
            File::create(log).with_context(|| format!("cannot create {}", log.display()))?;
        // A command that sets or removes the variable has another directory, or none.
        if command.get_envs().all(|(name, _)| name != DATA_DIR) {
            command.env(DATA_DIR, log.with_extension("data"));
        }
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .context("cannot start the server")?;
        let stdout = child.stdout.take().context("stdout is piped")?;
        // From here on, dropping `server` kills the process.
        let mut server = Self { child, log: log.to_owned(), url: String::new() };
        server.url = read_address(stdout)
            .with_context(|| format!("the server did not start:\n{}", server.log_tail()))?;
        Ok(server)
    }

    /// The address that it listens on.
    pub(crate) fn address(&self) -> &str {
        let address = self.url.trim_start_matches("http://");
        address.split_once('/').map_or(address, |(address, _)| address)
    }

    /// The file of its stderr.
    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    /// The last lines of its stderr, for error messages.
    pub(crate) fn log_tail(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let tail = lines[lines.len().saturating_sub(30)..].join("\n");
        if tail.is_empty() { "(nothing)".to_owned() } else { tail }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // Both fail only if the process has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads stdout to its end, so that the server never blocks on a full pipe.
fn read_address(stdout: ChildStdout) -> Result<String> {
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if let Some(url) = address(&line) {
                // The receiver is gone after the first address.
                let _ = send.send(url.to_owned());
            }
        }
    });
    receive.recv_timeout(DEADLINE).context("no address was printed")
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
