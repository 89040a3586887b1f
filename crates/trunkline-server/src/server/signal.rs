//! The signals that end a process.

use std::io;

use tokio::signal::unix::{SignalKind, signal};

/// A future that ends with SIGINT or SIGTERM. Both are taken in from this call on, so call it
/// before the server is announced: by default they end the process on the spot.
///
/// # Errors
/// When the system does not let this process handle them.
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
