//! A format of packages: how its files are built, and installed as by a new user.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::program::Program;
use super::release::Release;
use super::tools::Tools;

pub(super) struct Format {
    pub(super) name: &'static str,
    /// Writes the files of the format from the program.
    pub(super) build: fn(&Release<'_>, &Program, &Tools) -> Result<Vec<PathBuf>>,
    /// Installs the files, and uses the installed program.
    pub(super) check: fn(&Release<'_>, &Tools, &[PathBuf]) -> Result<Installed>,
}

/// The times of an installation.
pub(super) struct Installed {
    pub(super) install: Duration,
    /// From the start of the program to its first answer.
    pub(super) first_answer: Duration,
}

pub(super) fn timed(run: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let start = Instant::now();
    run()?;
    Ok(start.elapsed())
}
