//! A measured process, pinned to its own core and killed at the end.

use std::ffi::OsStr;
use std::process::{Child, Command};
use std::time::Duration;

use anyhow::{Context, Result};

/// The core of servers.
pub(super) const SERVER_CORE: &str = "0";

/// The core of the load generator.
pub(super) const LOAD_CORE: &str = "1";

/// The unit of CPU time in `/proc`: `USER_HZ`, which is always 100 on Linux.
const TICK: Duration = Duration::from_millis(10);

/// A command that runs a program on one core, as the same process.
pub(super) fn pinned(core: &str, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", core]).arg(program);
    command
}

pub(super) struct Process {
    pub(super) child: Child,
}

impl Process {
    /// Starts a command of [`pinned`].
    pub(super) fn start(command: &mut Command) -> Result<Self> {
        let child =
            command.spawn().context("cannot start `taskset` (Debian package util-linux)")?;
        Ok(Self { child })
    }

    /// User and system time of all threads so far.
    pub(super) fn cpu_time(&self) -> Result<Duration> {
        self.read("stat", cpu_time_of)
    }

    /// Resident memory in bytes.
    pub(super) fn resident_bytes(&self) -> Result<u64> {
        self.read("status", resident_bytes_of)
    }

    fn read<T>(&self, file: &str, parse: fn(&str) -> Option<T>) -> Result<T> {
        let path = format!("/proc/{}/{file}", self.child.id());
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {path}: did the process end?"))?;
        parse(&text).with_context(|| format!("unexpected content of {path}: {text:?}"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only if the process has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Fields 14 and 15 of proc(5) `stat`. The second field is a name that may hold spaces, so the
/// count starts after its parenthesis, at field 3.
fn cpu_time_of(stat: &str) -> Option<Duration> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(14 - 3);
    let user: u32 = fields.next()?.parse().ok()?;
    let system: u32 = fields.next()?.parse().ok()?;
    Some(TICK * (user + system))
}

fn resident_bytes_of(status: &str) -> Option<u64> {
    let (_, rest) = status.split_once("VmRSS:")?;
    let (kib, _) = rest.split_once("kB")?;
    kib.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stat: &str, expected: Option<u64>) {
        let millis = expected.map(Duration::from_millis);
        assert_eq!(cpu_time_of(stat), millis, "{stat:?}");
    }

    #[test]
    fn cpu_time_is_user_and_system() {
        check("7 (ours) S 1 7 7 0 -1 4194560 1 2 3 4 25 17 0 0 20 0", Some(420));
        check("7 (a ) b) S 1 7 7 0 -1 4194560 1 2 3 4 25 17 0 0 20", Some(420));
        check("7 (ours) S 1 7", None);
        check("", None);
    }

    #[test]
    fn memory_is_the_resident_size() {
        let status = "Name:\tours\nVmHWM:\t    9000 kB\nVmRSS:\t    8192 kB\nThreads:\t6\n";
        assert_eq!(resident_bytes_of(status), Some(8 << 20));
        assert_eq!(resident_bytes_of("Name:\tours\n"), None);
    }
}
