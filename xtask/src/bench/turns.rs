//! Programs of `bench/` that measure several contenders in one process.

use std::process::Command;

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;

use crate::workspace;

/// Runs a program for this number of rounds, and parses its output.
pub(super) fn rounds<T: DeserializeOwned>(program: &mut Command, rounds: usize) -> Result<Vec<T>> {
    let printed = workspace::output(program.args(["--json", "--rounds", &rounds.to_string()]))?;
    serde_json::from_str(&printed).with_context(|| format!("{program:?} printed {printed:?}"))
}
