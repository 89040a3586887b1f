//! Logs: on stderr, so that stdout is for data.

use std::io::{IsTerminal, stderr};

use tracing_subscriber::EnvFilter;

/// Logs from INFO on; `RUST_LOG` says otherwise.
pub(crate) fn start() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let colours = stderr().is_terminal();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(colours)
        .with_writer(stderr)
        // It would complain of a stderr that takes nothing on stderr, and panic.
        .log_internal_errors(false)
        .init();
}
