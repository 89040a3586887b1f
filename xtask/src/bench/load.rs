//! The load: wrk on a separate core, which posts one body repeatedly.

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::process::LOAD_CORE;
use crate::workspace::{self, Workspace};

/// The request and its target.
pub(super) struct Post<'p> {
    pub(super) url: String,
    /// A file of the checkout.
    pub(super) body_file: &'p str,
    /// Additional headers.
    pub(super) headers: &'p [&'p str],
    /// Number of persistent connections, each with one request at a time.
    pub(super) connections: u32,
    pub(super) seconds: u32,
}

/// The output of `bench/load/post.lua`.
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
    // wrk has no option that exits successfully, so only check that it starts.
    std::process::Command::new("wrk")
        .arg("--version")
        .output()
        .map(drop)
        .context("wrk is missing: `apt-get install wrk`")
}

/// Posts for this number of seconds.
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
