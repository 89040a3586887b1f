//! The load: wrk on a core of its own, posting one body over and over.

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::contender::Case;
use super::process::LOAD_CORE;
use super::server::Server;
use crate::workspace::{self, Workspace};

const CONNECTIONS: u32 = 16;

/// What `bench/load/post.lua` prints at the end.
#[derive(Deserialize)]
pub(super) struct Load {
    pub(super) requests: u64,
    pub(super) micros: u64,
    failed: u64,
    bad_status: u64,
}

pub(super) fn require_wrk() -> Result<()> {
    // wrk has no option that only succeeds, so that it starts is what counts.
    std::process::Command::new("wrk")
        .arg("--version")
        .output()
        .map(drop)
        .context("wrk makes the load and is missing: `apt-get install wrk` (Debian package wrk)")
}

/// Posts the case's body to the server for so many seconds.
pub(super) fn post(
    workspace: &Workspace,
    server: &Server,
    case: Case,
    seconds: u32,
) -> Result<Load> {
    let printed = workspace::output(
        workspace
            .command("taskset")
            .args(["-c", LOAD_CORE, "wrk", "-t1"])
            .arg(format!("-c{CONNECTIONS}"))
            .arg(format!("-d{seconds}s"))
            .args(["-s", "bench/load/post.lua"])
            .arg(format!("http://{}{}", server.address, case.path()))
            .args(["--", case.body_file()])
            .args(case.headers()),
    )?;
    let line = printed.lines().find(|line| line.starts_with('{'));
    let line = line.with_context(|| format!("wrk printed {printed:?}"))?;
    let load: Load = serde_json::from_str(line).with_context(|| format!("wrk printed {line:?}"))?;
    if load.failed + load.bad_status > 0 || load.requests == 0 {
        bail!(
            "{} of {} requests failed, {} had an error status",
            load.failed,
            load.requests,
            load.bad_status
        );
    }
    Ok(load)
}
