//! The locations of the database files.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;

use crate::workspace::Workspace;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Place {
    /// Commits wait for the disk.
    Disk,
    /// Commits do not wait, so that only CPU work remains.
    Memory,
}

impl Place {
    pub(super) fn about(self) -> &'static str {
        match self {
            Self::Disk => "on disk",
            Self::Memory => "in memory",
        }
    }
}

/// A folder for each location. The folder in memory is removed on drop.
pub(super) struct Places {
    disk: PathBuf,
    memory: PathBuf,
}

/// An in-memory file system of Linux.
const SHM: &str = "/dev/shm";

impl Places {
    pub(super) fn provide(workspace: &Workspace) -> Result<Self> {
        let name = format!("trunkline-bench-{}", std::process::id());
        let memory = Path::new(SHM).join(name);
        Ok(Self { disk: workspace.fresh_folder("target/bench/records")?, memory })
    }

    /// Creates an empty folder.
    pub(super) fn fresh(&self, place: Place) -> Result<&Path> {
        let folder = match place {
            Place::Disk => &self.disk,
            Place::Memory => &self.memory,
        };
        if folder.exists() {
            fs::remove_dir_all(folder)
                .with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(folder)
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        // The folder does not exist if nothing was measured.
        let _ = fs::remove_dir_all(&self.memory);
    }
}
