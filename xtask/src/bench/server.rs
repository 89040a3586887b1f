//! Measured programs, each pinned to a core.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::workspace::{self, Process, Workspace};

/// The core of servers, and that of the load generator.
pub(super) const SERVER_CORE: &str = "0";
pub(super) const LOAD_CORE: &str = "1";

/// The profile of programs that are compared: that of distributed packages.
pub(super) const DIST: &str = "dist";

/// The package of `bench/` with the servers `ours` and `axum_serde`. The others are in the package of the root.
pub(super) const PAIR: &str = "trunkline-bench-pair";

/// Deadline of the start of a server, which is slow under callgrind.
const DEADLINE: Duration = Duration::from_secs(60);
/// Polling interval of a starting server.
const TICK: Duration = Duration::from_micros(200);

/// Builds packages of `bench/` and returns the folder of their programs, which is always in `bench/target`.
pub(super) fn contenders(
    workspace: &Workspace,
    profile: &str,
    packages: &[&str],
) -> Result<PathBuf> {
    let target = workspace.path("bench/target");
    let mut command = workspace.cargo(["build", "--locked", "--manifest-path=bench/Cargo.toml"]);
    command.args(packages.iter().flat_map(|package| ["--package", package]));
    workspace::output(command.args(["--profile", profile, "--target-dir"]).arg(&target))?;
    Ok(target.join(profile))
}

/// All programs of `bench/` that are compared.
pub(super) fn all_contenders(workspace: &Workspace) -> Result<PathBuf> {
    contenders(workspace, DIST, &["trunkline-bench", PAIR])
}

/// Builds programs or examples of the workspace, and returns the folder of the programs.
pub(super) fn ours(workspace: &Workspace, chosen: &[&str]) -> Result<PathBuf> {
    let target = workspace.path("target/bench");
    let mut command = workspace.cargo(["build", "--profile", DIST, "--target-dir"]);
    workspace::output(command.arg(&target).args(chosen))?;
    Ok(target.join(DIST))
}

/// A command that runs a program on one core, as the same process.
pub(super) fn pinned(core: &str, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", core]).arg(program);
    command
}

/// A running server, which is killed when dropped.
pub(super) struct Server {
    process: Process,
    /// `host:port`.
    pub(super) address: String,
}

impl Server {
    /// Starts a server of `bench/`.
    pub(super) fn contender(binaries: &Path, name: &str) -> Result<Self> {
        let mut command = pinned(SERVER_CORE, binaries.join(name));
        Self::announcing(command.args(["--listen", "127.0.0.1:0"])).context(name.to_owned())
    }

    /// Starts a command whose first line has the address.
    pub(super) fn announcing(command: &mut Command) -> Result<Self> {
        let mut process = Process::start(command.stdin(Stdio::null()).stdout(Stdio::piped()))?;
        let stdout = process.0.stdout.take().context("stdout is piped")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let address = line.trim().strip_prefix("listening on http://");
        let address = address.with_context(|| format!("it printed {line:?}"))?.to_owned();
        Ok(Self { process, address })
    }

    /// Starts a command that listens on this address, and waits until it does.
    pub(super) fn listening(command: &mut Command, address: &str) -> Result<Self> {
        let process = Process::start(command.stdin(Stdio::null()))?;
        let start = Instant::now();
        while TcpStream::connect(address).is_err() {
            ensure!(start.elapsed() < DEADLINE, "{address} does not accept connections");
            std::thread::sleep(TICK);
        }
        Ok(Self { process, address: address.to_owned() })
    }

    pub(super) fn id(&self) -> String {
        self.process.0.id().to_string()
    }

    /// User and system time of all threads so far, in µs.
    pub(super) fn cpu_micros(&self) -> Result<f64> {
        self.read("stat", cpu_micros_of)
    }

    /// Resident memory in bytes.
    pub(super) fn resident_bytes(&self) -> Result<f64> {
        self.read("status", resident_bytes_of)
    }

    fn read(&self, file: &str, parse: fn(&str) -> Option<f64>) -> Result<f64> {
        let path = format!("/proc/{}/{file}", self.process.0.id());
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {path}: did the process end?"))?;
        parse(&text).with_context(|| format!("unexpected content of {path}: {text:?}"))
    }
}

/// A free address for a server that does not print its port.
pub(super) fn free_address() -> Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}

/// Fields 14 and 15 of proc(5) `stat`, in hundredths of a second. The second field is a name that may hold spaces, so the
/// count starts after its parenthesis, at field 3.
fn cpu_micros_of(stat: &str) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(14 - 3);
    let mut field = || fields.next()?.parse::<f64>().ok();
    Some((field()? + field()?) * 1e4)
}

fn resident_bytes_of(status: &str) -> Option<f64> {
    let (_, rest) = status.split_once("VmRSS:")?;
    let (kib, _) = rest.split_once("kB")?;
    Some(kib.trim().parse::<f64>().ok()? * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stat: &str, expected: Option<f64>) {
        assert_eq!(cpu_micros_of(stat), expected, "{stat:?}");
    }

    #[test]
    fn cpu_time_is_user_and_system() {
        check("7 (ours) S 1 7 7 0 -1 4194560 1 2 3 4 25 17 0 0 20 0", Some(420_000.0));
        check("7 (a ) b) S 1 7 7 0 -1 4194560 1 2 3 4 25 17 0 0 20", Some(420_000.0));
        check("7 (ours) S 1 7", None);
        check("", None);
    }

    #[test]
    fn memory_is_the_resident_size() {
        let status = "Name:\tours\nVmHWM:\t    9000 kB\nVmRSS:\t    8192 kB\nThreads:\t6\n";
        assert_eq!(resident_bytes_of(status), Some(f64::from(8 << 20)));
        assert_eq!(resident_bytes_of("Name:\tours\n"), None);
    }
}
