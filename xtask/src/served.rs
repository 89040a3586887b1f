//! A server of ours as a process: started on a free port, killed at the end.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result};

const DEADLINE: Duration = Duration::from_secs(20);

pub(crate) struct Served {
    child: Child,
    log: PathBuf,
    /// The address that it printed, as it printed it: `http://host:port`, perhaps with a path.
    pub(crate) url: String,
}

impl Served {
    /// Starts the program and waits until it says `listening http://…` on its stdout. What it writes to
    /// its stderr goes to the log file; its records, if it keeps some, to a directory beside that.
    pub(crate) fn start(command: &mut Command, log: &Path) -> Result<Self> {
        let stderr =
            File::create(log).with_context(|| format!("cannot create {}", log.display()))?;
        let mut child = command
            .env("TRUNKLINE_DATA_DIR", log.with_extension("data"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .context("cannot start the server")?;
        let stdout = child.stdout.take().context("stdout is piped")?;
        // From here on, dropping the server kills it.
        let mut server = Self { child, log: log.to_owned(), url: String::new() };
        server.url = announced(stdout)
            .with_context(|| format!("the server did not start:\n{}", server.log_tail()))?;
        Ok(server)
    }

    /// The end of what it wrote to its stderr, for the report of a failure.
    pub(crate) fn log_tail(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let tail = lines[lines.len().saturating_sub(30)..].join("\n");
        if tail.is_empty() { "(nothing)".to_owned() } else { tail }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Either fails only when the process is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads on after the address, so that the server never writes to a pipe that nobody reads.
fn announced(stdout: ChildStdout) -> Result<String> {
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if let Some(url) = address(&line) {
                // After the first address nobody listens.
                let _ = send.send(url.to_owned());
            }
        }
    });
    receive.recv_timeout(DEADLINE).context("it announced no address")
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
    fn the_address_is_read_from_its_line() {
        check("  listening http://127.0.0.1:80  (POST /)", Some("http://127.0.0.1:80"));
        check("listening http://127.0.0.1:80/mcp", Some("http://127.0.0.1:80/mcp"));
        check("listening 127.0.0.1:80", None);
        check("listening ", None);
        check("trunkline 0.1.0", None);
    }
}
