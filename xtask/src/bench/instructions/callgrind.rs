//! Servers under callgrind, which counts the instructions per request.

use std::fs::{self, File};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use crate::bench::connection::{Connection, Request};
use crate::bench::contender::{Case, Contender};
use crate::bench::server;
use crate::workspace::{self, Workspace};

const DEADLINE: Duration = Duration::from_secs(60);

/// User instructions per request.
#[derive(Serialize)]
pub(super) struct Row {
    pub(super) server: &'static str,
    pub(super) case: &'static str,
    pub(super) instructions: f64,
}

/// A request that is sent repeatedly over one connection.
pub(super) struct Load {
    pub(super) case: &'static str,
    pub(super) request: Request,
    /// The number of counted requests.
    pub(super) count: u32,
}

impl Load {
    /// This number of single calls, or a tenth of it for batches.
    pub(super) fn of(workspace: &Workspace, case: Case, singles: u32) -> Result<Self> {
        let count = if case == Case::Batch { singles / 10 } else { singles };
        Ok(Self { case: case.about(), request: Request::of(workspace, case)?, count })
    }
}

/// Fails if callgrind is missing.
pub(in crate::bench) fn require() -> Result<()> {
    let version = |program| workspace::output(Command::new(program).arg("--version"));
    let missing = "valgrind is missing: `apt-get install valgrind`";
    version("valgrind").and_then(|_| version("callgrind_control")).map(drop).context(missing)
}

/// A server under callgrind.
pub(super) struct Counted {
    name: &'static str,
    child: Child,
    address: String,
    /// Dumps are files with this name and a number.
    out: PathBuf,
    dumps: u32,
}

impl Counted {
    /// Starts a server of `bench/`, which is already built.
    pub(super) fn contender(
        workspace: &Workspace,
        binaries: &Path,
        contender: Contender,
    ) -> Result<Self> {
        let name = contender.binary();
        let mut server = Self::start(workspace, name, |callgrind, _| {
            callgrind.arg(binaries.join(name)).args(["--listen", "127.0.0.1:0"]);
        })?;
        server.address = server::announced(&mut server.child)?;
        Ok(server)
    }

    /// Starts a command that listens on an address, which `arguments` passes to it.
    pub(super) fn listening(
        workspace: &Workspace,
        name: &'static str,
        arguments: impl FnOnce(&mut Command, &str),
    ) -> Result<Self> {
        let server = Self::start(workspace, name, arguments)?;
        let start = Instant::now();
        while TcpStream::connect(&server.address).is_err() {
            ensure!(start.elapsed() < DEADLINE, "{} does not accept connections", server.address);
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    fn start(
        workspace: &Workspace,
        name: &'static str,
        arguments: impl FnOnce(&mut Command, &str),
    ) -> Result<Self> {
        eprintln!("instructions of {name}");
        let folder = workspace.path("target/bench");
        fs::create_dir_all(&folder)?;
        let out = folder.join(format!("callgrind.{}", name.replace(' ', "_")));
        let address = server::free_address()?;
        let mut command = Command::new("valgrind");
        command.arg("--tool=callgrind").arg(format!("--callgrind-out-file={}", out.display()));
        arguments(&mut command, &address);
        let log = File::create(out.with_extension("log"))?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let child = command.spawn().context("cannot start `valgrind`")?;
        Ok(Self { name, child, address, out, dumps: 0 })
    }

    pub(super) fn rows(&mut self, loads: &[Load]) -> Result<Vec<Row>> {
        let row = |load: &Load| {
            let instructions = self.count(load)?;
            Ok(Row { server: self.name, case: load.case, instructions })
        };
        loads.iter().map(row).collect()
    }

    /// The instructions per request, after a warm-up with half as many requests.
    fn count(&mut self, load: &Load) -> Result<f64> {
        let mut connection = Connection::open(&self.address, &load.request)?;
        (0..load.count / 2).try_for_each(|_| connection.exchange())?;
        self.dump()?;
        (0..load.count).try_for_each(|_| connection.exchange())?;
        Ok(self.dump()? as f64 / f64::from(load.count))
    }

    /// The instructions since the last dump.
    fn dump(&mut self) -> Result<u64> {
        let pid = self.child.id().to_string();
        workspace::output(Command::new("callgrind_control").args(["--dump", &pid]))?;
        self.dumps += 1;
        let path = PathBuf::from(format!("{}.{}", self.out.display(), self.dumps));
        let text = fs::read_to_string(&path)
            .with_context(|| format!("callgrind has not written {}", path.display()))?;
        fs::remove_file(&path)?;
        total(&text).with_context(|| format!("{} has no total", path.display()))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        // Both fail only if the process has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The sum of all costs in a dump.
fn total(dump: &str) -> Option<u64> {
    dump.lines().find_map(|line| line.strip_prefix("totals: "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn total_of_a_dump() {
        assert_eq!(total("events: Ir\nfn=(1)\n1 2\ntotals: 697542\n"), Some(697_542));
        assert_eq!(total("events: Ir\n"), None);
    }
}
