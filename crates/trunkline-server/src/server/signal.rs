//! Signals that stop the process.

use std::io;

use tokio::signal::unix::{SignalKind, signal};

/// Returns a future that completes on SIGINT or SIGTERM. The signals are handled from this call on, so call it
/// before announcing the server: by default, they terminate the process.
///
/// # Errors
/// When the signal handlers cannot be installed.
pub fn shutdown_signal() -> io::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}
