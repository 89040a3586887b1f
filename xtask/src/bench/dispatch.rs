//! The comparison in process: no HTTP, no socket, one call after the other.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::process::SERVER_CORE;
use crate::workspace::{self, Workspace};

/// What one call costs.
#[derive(Deserialize)]
pub(super) struct Cost {
    pub(super) nanos: f64,
    pub(super) allocations: f64,
}

#[derive(Deserialize)]
pub(super) struct Round {
    pub(super) ours: Cost,
    pub(super) jsonrpsee: Cost,
}

/// Runs the `dispatch` binary, which interleaves its rounds itself.
pub(super) fn measure(workspace: &Workspace, binaries: &Path, rounds: usize) -> Result<Vec<Round>> {
    let printed = workspace::output(
        workspace
            .command("taskset")
            .args(["-c", SERVER_CORE])
            .arg(binaries.join("dispatch"))
            .args(["--json", "--rounds", &rounds.to_string()]),
    )?;
    serde_json::from_str(&printed).with_context(|| format!("dispatch printed {printed:?}"))
}
