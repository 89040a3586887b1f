//! The program of this process, and the protection of its memory.

use std::path::PathBuf;

use anyhow::Context;

/// The path of this program, which is valid even if its file is moved or replaced.
pub(super) fn own_program() -> anyhow::Result<PathBuf> {
    let own = PathBuf::from("/proc/self/exe");
    if own.exists() {
        return Ok(own);
    }
    std::env::current_exe().context("cannot find the path of this program")
}

/// Hides the environment and the memory of this process, which may contain keys, from other processes of its user, such
/// as tools. This also disables core dumps, and debuggers require root.
pub(super) fn hide_environment() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
            tracing::warn!(%error, "tools can read the environment of this process");
        }
    }
}
