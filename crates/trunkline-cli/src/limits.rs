//! What the system allows the process.

use std::io;

use tokio::signal::unix::{SignalKind, signal};

/// Each connection takes a file descriptor, and the usual limit of 1,024 is soon reached. Where
/// the limit cannot be raised, connections wait to be accepted.
pub(crate) fn raise_open_files() {
    if let Err(error) = rlimit::increase_nofile_limit(u64::MAX) {
        tracing::debug!(%error, "the limit of open files stays as it is");
    }
}

/// Makes a write beyond the largest size that files may have (`ulimit -f`) fail like one to a full disk:
/// by default, its signal ends the process. Needs a runtime, which takes the signal in and drops it.
pub(crate) fn outlive_file_size() -> io::Result<()> {
    /// The same number on Linux, macOS and the BSDs.
    const SIGXFSZ: i32 = 25;
    // The handler stays when this is dropped.
    signal(SignalKind::from_raw(SIGXFSZ)).map(drop)
}
