//! A contender as a process that has said where it listens.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result};

use super::contender::Contender;
use super::process::{Process, SERVER_CORE, pinned};

pub(super) struct Server {
    process: Process,
    /// `host:port`.
    pub(super) address: String,
}

impl Server {
    /// Starts the server on a free port and waits until it accepts connections.
    pub(super) fn start(binaries: &Path, contender: Contender) -> Result<Self> {
        let name = contender.binary();
        let process = Process::start(
            pinned(SERVER_CORE, binaries.join(name))
                .args(["--listen", "127.0.0.1:0"])
                .stdin(Stdio::null())
                .stdout(Stdio::piped()),
        )?;
        let mut server = Self { process, address: String::new() };
        server.address = server.announced().with_context(|| format!("{name} did not start"))?;
        Ok(server)
    }

    fn announced(&mut self) -> Result<String> {
        let stdout = self.process.child.stdout.take().context("stdout is piped")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let address = line.trim().strip_prefix("listening on http://");
        let address = address.with_context(|| format!("it printed {line:?}"))?;
        Ok(address.to_owned())
    }

    /// User and system time of all its threads so far.
    pub(super) fn cpu_time(&self) -> Result<Duration> {
        self.process.cpu_time()
    }
}
