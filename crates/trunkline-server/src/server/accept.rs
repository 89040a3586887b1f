//! Accepts connections.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use super::answer::Answer;
use super::connection;
#[cfg(feature = "tls")]
use super::handshake;
use super::shared::Shared;
use crate::status::Phase;

/// The wait after the system had no file descriptor or memory for a connection.
const EXHAUSTED: Duration = Duration::from_millis(100);

/// Accepts connections until the server has drained. Connections accepted while draining get a reply that the
/// server is stopping, which is more informative than a refused connection.
pub(super) async fn run<A: Answer>(
    listener: TcpListener,
    service: A,
    shared: Arc<Shared>,
    tasks: TaskTracker,
) {
    let service = Arc::new(service);
    let limit = Arc::new(Semaphore::new(shared.settings.connections.min(Semaphore::MAX_PERMITS)));
    loop {
        let permit = tokio::select! {
            // The semaphore is never closed.
            permit = Arc::clone(&limit).acquire_owned() => permit,
            () = shared.counts.reached(Phase::Stopped) => return,
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shared.counts.reached(Phase::Stopped) => return,
        };
        let (socket, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                recover(&error).await;
                continue;
            }
        };
        // Replies are written as a whole, so delaying segments has no benefit.
        if let Err(error) = socket.set_nodelay(true) {
            tracing::debug!(%peer, %error, "failed to set TCP_NODELAY");
        }
        let open = (shared.counts.open(), permit);
        let (service, shared) = (Arc::clone(&service), Arc::clone(&shared));
        #[cfg(feature = "tls")]
        if let Some(tls) = shared.tls.clone() {
            spawn(&tasks, handshake::serve(socket, peer, tls, service, shared), open);
            continue;
        }
        spawn(&tasks, connection::serve(socket, peer, service, shared), open);
    }
}

/// Runs a connection. `open` is dropped when the connection has ended.
fn spawn<T: Send + 'static>(
    tasks: &TaskTracker,
    connection: impl Future<Output = ()> + Send + 'static,
    open: T,
) {
    tasks.spawn(async move {
        connection.await;
        drop(open);
    });
}

/// Waits until accepting may succeed again.
pub(crate) async fn recover(error: &io::Error) {
    if !is_of_one_connection(error) {
        tracing::warn!(%error, "failed to accept a connection");
        tokio::time::sleep(EXHAUSTED).await;
    }
}

/// Whether the error only concerns the connection being accepted.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
    )
}
