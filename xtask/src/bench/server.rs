//! A contender's process: started on its own core, asked for its CPU time, killed at the end.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};

use super::contender::Contender;

/// The core that servers run on; the load comes from another one.
const CORE: &str = "0";

/// What `/proc` counts CPU time in: `USER_HZ`, which Linux fixes at 100 for programs.
const TICK: Duration = Duration::from_millis(10);

pub(super) struct Server {
    child: Child,
    /// `host:port`.
    pub(super) address: String,
}

impl Server {
    /// Starts the server on a free port and waits until it accepts connections.
    pub(super) fn start(binaries: &Path, contender: Contender) -> Result<Self> {
        let name = contender.binary();
        let child = Command::new("taskset")
            .args(["-c", CORE])
            .arg(binaries.join(name))
            .args(["--listen", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start `taskset` (Debian package util-linux)")?;
        // From here on, dropping the server kills it.
        let mut server = Self { child, address: String::new() };
        server.address = server.announced().with_context(|| format!("{name} did not start"))?;
        Ok(server)
    }

    fn announced(&mut self) -> Result<String> {
        let stdout = self.child.stdout.take().context("stdout is piped")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let address = line.trim().strip_prefix("listening on http://");
        let address = address.with_context(|| format!("it printed {line:?}"))?;
        Ok(address.to_owned())
    }

    /// User and system time of all its threads so far.
    pub(super) fn cpu_time(&self) -> Result<Duration> {
        let path = format!("/proc/{}/stat", self.child.id());
        let stat = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {path}: did the server end?"))?;
        cpu_time_of(&stat).with_context(|| format!("{path} reads {stat:?}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Either fails only when the process is gone already.
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
}
