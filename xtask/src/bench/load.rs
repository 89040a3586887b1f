//! The load: wrk on a core of its own, posting one body over and over.

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::process::LOAD_CORE;
use crate::workspace::{self, Workspace};

/// What is posted, and where to.
pub(super) struct Post<'p> {
    pub(super) url: String,
    /// A file of the checkout.
    pub(super) body_file: &'p str,
    /// What is sent besides the type of the content.
    pub(super) headers: &'p [&'p str],
    /// So many requests are under way at a time, each over a connection that is kept.
    pub(super) connections: u32,
    pub(super) seconds: u32,
}

/// What `bench/load/post.lua` prints at the end.
#[derive(Deserialize)]
pub(super) struct Load {
    pub(super) requests: u64,
    pub(super) micros: u64,
    failed: u64,
    bad_status: u64,
    pub(super) latency_p50_us: f64,
    pub(super) latency_p99_us: f64,
}

pub(super) fn require_wrk() -> Result<()> {
    // wrk has no option that only succeeds, so that it starts is what counts.
    std::process::Command::new("wrk")
        .arg("--version")
        .output()
        .map(drop)
        .context("wrk makes the load and is missing: `apt-get install wrk` (Debian package wrk)")
}

/// Posts the same for so many seconds.
pub(super) fn post(workspace: &Workspace, post: &Post<'_>) -> Result<Load> {
    let Post { url, body_file, headers, connections, seconds } = post;
    let printed = workspace::output(
        workspace
            .command("taskset")
            .args(["-c", LOAD_CORE, "wrk", "-t1"])
            .arg(format!("-c{connections}"))
            .arg(format!("-d{seconds}s"))
            .args(["-s", "bench/load/post.lua"])
            .args([url, "--", body_file])
            .args(*headers),
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
