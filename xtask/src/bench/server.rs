//! A running contender, with the address that it printed.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
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
        let mut command = pinned(SERVER_CORE, binaries.join(name));
        Self::of(command.args(["--listen", "127.0.0.1:0"]))
            .with_context(|| format!("{name} did not start"))
    }

    /// Runs a command of [`pinned`], and waits for its first line, which contains the address.
    pub(super) fn of(command: &mut Command) -> Result<Self> {
        let process = Process::start(command.stdin(Stdio::null()).stdout(Stdio::piped()))?;
        let mut server = Self { process, address: String::new() };
        server.address = announced(&mut server.process.child)?;
        Ok(server)
    }

    /// User and system time of all threads so far.
    pub(super) fn cpu_time(&self) -> Result<Duration> {
        self.process.cpu_time()
    }

    /// Resident memory in bytes.
    pub(super) fn resident_bytes(&self) -> Result<u64> {
        self.process.resident_bytes()
    }
}

/// The address in the first line that a server prints on its piped stdout.
pub(super) fn announced(server: &mut Child) -> Result<String> {
    let stdout = server.stdout.take().context("stdout is piped")?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line)?;
    let address = line.trim().strip_prefix("listening on http://");
    let address = address.with_context(|| format!("it printed {line:?}"))?;
    Ok(address.to_owned())
}

/// A free address for a server that does not print its port.
pub(super) fn free_address() -> Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}
