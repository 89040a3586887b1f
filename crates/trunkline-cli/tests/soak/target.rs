//! The server under attack.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A server. Dropped, it is killed.
pub(crate) struct Target {
    process: Child,
    /// Its directory, if it is removed with the server.
    directory: Option<TempDir>,
}

impl Target {
    /// A server over HTTP in a directory, with further arguments, and its address.
    pub(crate) fn serve_in(
        directory: &Path,
        arguments: &[&str],
        budget: usize,
    ) -> (Self, SocketAddr) {
        let arguments = [&["serve", "--listen", "127.0.0.1:0"], arguments].concat();
        let mut target = Self::start(directory, &arguments, Stdio::null(), budget);
        let stdout = BufReader::new(target.process.stdout.take().unwrap());
        let listening = stdout.lines().map(Result::unwrap).find(|line| line.contains("listening"));
        let listening = listening.expect("the server prints its address");
        let (_, address) = listening.split_once("http://").unwrap();
        let address = address.split([' ', '/']).next().unwrap().parse().unwrap();
        (target, address)
    }

    /// An MCP server over stdio, and its input. Nothing reads its output.
    pub(crate) fn mcp(budget: usize) -> (Self, ChildStdin) {
        let directory = TempDir::new().unwrap();
        let mut target = Self::start(directory.path(), &["mcp"], Stdio::piped(), budget);
        let stdin = target.process.stdin.take().unwrap();
        target.directory = Some(directory);
        (target, stdin)
    }

    fn start(directory: &Path, arguments: &[&str], stdin: Stdio, budget: usize) -> Self {
        let binary = std::env::var("SOAK_BINARY");
        let binary = binary.unwrap_or_else(|_| env!("CARGO_BIN_EXE_trunkline").to_owned());
        let process = Command::new(binary)
            .args(arguments)
            // A variable, which binaries without the flag ignore.
            .env("TRUNKLINE_MAX_MEMORY", budget.to_string())
            .env("TRUNKLINE_DATA_DIR", directory.join("data"))
            .env("RUST_LOG", "error")
            .current_dir(directory)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        Self { process, directory: None }
    }

    /// The resident memory in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.status("VmRSS:")
    }

    /// The peak resident memory in bytes.
    pub(crate) fn peak(&self) -> usize {
        self.status("VmHWM:")
    }

    /// The resident memory once it is at most `expected`, or after a timeout.
    pub(crate) fn settled(&self, expected: usize, patience: Duration) -> usize {
        let until = Instant::now() + patience;
        while self.memory() > expected && Instant::now() < until {
            sleep(Duration::from_millis(100));
        }
        self.memory()
    }

    fn status(&self, name: &str) -> usize {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        let kib: usize = line.trim().strip_suffix(" kB").unwrap().parse().unwrap();
        kib << 10
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}
