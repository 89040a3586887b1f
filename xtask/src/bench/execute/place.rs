//! Where the files of the records are.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;

use crate::workspace::Workspace;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Place {
    /// Where a commit waits for the disk.
    Disk,
    /// Where nothing waits, and what is left is the work of the processor.
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

/// A folder for each; dropped, it removes what it left in memory.
pub(super) struct Places {
    disk: PathBuf,
    memory: PathBuf,
}

/// The file system of Linux that is in memory.
const SHM: &str = "/dev/shm";

impl Places {
    pub(super) fn provide(workspace: &Workspace) -> Result<Self> {
        let name = format!("trunkline-bench-{}", std::process::id());
        let memory = Path::new(SHM).join(name);
        Ok(Self { disk: workspace.fresh_folder("target/bench/records")?, memory })
    }

    /// A folder with nothing in it.
    pub(super) fn fresh(&self, place: Place) -> Result<&Path> {
        let folder = match place {
            Place::Disk => &self.disk,
            Place::Memory => &self.memory,
        };
        if folder.exists() {
            fs::remove_dir_all(folder)
                .with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(folder)
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        // It is not there if nothing was measured.
        let _ = fs::remove_dir_all(&self.memory);
    }
}
