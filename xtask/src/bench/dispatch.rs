//! The comparison in process: sequential calls without HTTP and sockets.

use std::path::Path;

use anyhow::Result;
use serde::Deserialize;

use super::process::{SERVER_CORE, pinned};
use super::turns;

/// The cost of one call.
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

pub(super) fn measure(binaries: &Path, rounds: usize) -> Result<Vec<Round>> {
    turns::rounds(&mut pinned(SERVER_CORE, binaries.join("dispatch")), rounds)
}
