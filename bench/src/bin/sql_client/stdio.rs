//! A process that reads and writes one message per line.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio as Pipe};

use anyhow::{Context, Result, ensure};

use crate::Connection;

const INITIALIZE: &[u8] = br#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1.0.0"}}}"#;
const INITIALIZED: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

pub struct Stdio {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    line: Vec<u8>,
}

impl Stdio {
    /// Starts the server and initialises the session.
    pub fn start(program: &str, args: &[String]) -> Result<Self> {
        let mut child = Command::new(program)
            .args(args)
            .stdin(Pipe::piped())
            .stdout(Pipe::piped())
            .stderr(Pipe::null())
            .spawn()
            .with_context(|| format!("cannot start {program}"))?;
        let stdin = child.stdin.take().context("stdin is piped")?;
        let stdout = child.stdout.take().context("stdout is piped")?;
        let stdout = BufReader::with_capacity(1 << 16, stdout);
        let mut server = Self { child, stdin, stdout, line: Vec::new() };
        let mut greeting = Vec::new();
        server.exchange(INITIALIZE, &mut greeting)?;
        let greeting = String::from_utf8_lossy(&greeting).into_owned();
        ensure!(greeting.contains("\"2025-11-25\""), "unexpected reply to initialize: {greeting}");
        server.send(INITIALIZED)?;
        Ok(server)
    }

    fn send(&mut self, message: &[u8]) -> Result<()> {
        self.line.clear();
        self.line.extend_from_slice(message);
        self.line.push(b'\n');
        Ok(self.stdin.write_all(&self.line)?)
    }
}

impl Connection for Stdio {
    fn exchange(&mut self, request: &[u8], reply: &mut Vec<u8>) -> Result<()> {
        self.send(request)?;
        reply.clear();
        self.stdout.read_until(b'\n', reply)?;
        ensure!(reply.last() == Some(&b'\n'), "the server ended");
        Ok(())
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        // Both fail only if the process has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
