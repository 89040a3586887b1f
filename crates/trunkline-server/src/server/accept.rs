//! Accepts connections.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::TaskTracker;

use super::answer::Answer;
use super::config::DrainMode;
use super::connection::{self, Client};
#[cfg(feature = "tls")]
use super::handshake;
use super::shared::Shared;
use crate::status::Phase;

/// The wait after the system had no file descriptor or memory for a connection.
const EXHAUSTED: Duration = Duration::from_millis(100);

/// Accepts connections until the server has drained, or drains, according to its [`DrainMode`]. Connections accepted while
/// draining get a reply that the server is stopping, which is more informative than a refused connection.
pub(super) async fn run<A: Answer>(
    listener: TcpListener,
    service: A,
    shared: Arc<Shared>,
    tasks: TaskTracker,
) {
    let acceptor = Acceptor {
        service: Arc::new(service),
        limit: Arc::new(Semaphore::new(shared.settings.connections.min(Semaphore::MAX_PERMITS))),
        shared: Arc::clone(&shared),
        tasks,
    };
    loop {
        let permit = tokio::select! {
            () = shared.counts.reached(Phase::Stopped) => break,
            () = closes(&shared) => break,
            permit = acceptor.permit() => permit,
        };
        let accepted = tokio::select! {
            () = shared.counts.reached(Phase::Stopped) => break,
            () = closes(&shared) => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((socket, peer)) => acceptor.serve(socket, peer, permit),
            Err(error) => recover(&error).await,
        }
    }
    if shared.settings.drain_mode == DrainMode::Close {
        acceptor.accept_waiting(listener).await;
    }
    shared.closed.cancel();
}

struct Acceptor<A> {
    service: Arc<A>,
    limit: Arc<Semaphore>,
    shared: Arc<Shared>,
    tasks: TaskTracker,
}

impl<A: Answer> Acceptor<A> {
    async fn permit(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        Arc::clone(&self.limit).acquire_owned().await.ok()
    }

    fn serve(&self, socket: TcpStream, peer: SocketAddr, permit: Option<OwnedSemaphorePermit>) {
        // Replies are written as a whole, so delaying segments has no benefit.
        if let Err(error) = socket.set_nodelay(true) {
            tracing::debug!(%peer, %error, "failed to set TCP_NODELAY");
        }
        let open = (self.shared.counts.open(), permit);
        let (service, shared) = (Arc::clone(&self.service), Arc::clone(&self.shared));
        #[cfg(feature = "tls")]
        if let Some(tls) = shared.tls.clone() {
            spawn(&self.tasks, handshake::serve(socket, peer, tls, service, shared), open);
            return;
        }
        let client = Client { address: peer, certificate: None };
        spawn(&self.tasks, connection::serve(socket, client, service, shared), open);
    }

    /// Serves the connections that wait on a socket before it is closed, which would reset them.
    async fn accept_waiting(&self, listener: TcpListener) {
        refuse_handshakes(&listener);
        let listener = match listener.into_std() {
            Ok(listener) => listener,
            Err(error) => return tracing::warn!(%error, "failed to accept the last connections"),
        };
        // It does not block.
        while let Ok((socket, peer)) = listener.accept() {
            let permit = self.permit().await;
            match socket.set_nonblocking(true).and_then(|()| TcpStream::from_std(socket)) {
                Ok(socket) => self.serve(socket, peer, permit),
                Err(error) => tracing::warn!(%peer, %error, "failed to serve a connection"),
            }
        }
    }
}

/// Completes when the server drains and closes its socket.
async fn closes(shared: &Shared) {
    match shared.settings.drain_mode {
        DrainMode::Close => shared.counts.reached(Phase::Draining).await,
        DrainMode::Refuse => std::future::pending().await,
    }
}

/// Ignores the first packets of further connections. Their clients repeat them, and are refused after the socket is closed.
#[cfg(target_os = "linux")]
fn refuse_handshakes(listener: &TcpListener) {
    use socket2::{SockFilter, SockRef};
    /// In the language of BPF: drops packets with the flag SYN and without ACK, in the 13th byte of the header of TCP.
    const FILTER: [SockFilter; 5] = [
        SockFilter::new(0x30, 0, 0, 13),
        SockFilter::new(0x54, 0, 0, 0x12),
        SockFilter::new(0x15, 0, 1, 0x02),
        SockFilter::new(0x06, 0, 0, 0),
        SockFilter::new(0x06, 0, 0, u32::MAX),
    ];
    if let Err(error) = SockRef::from(listener).attach_filter(&FILTER) {
        // A connection that arrives now may be reset.
        tracing::debug!(%error, "failed to ignore further connections");
    }
}

#[cfg(not(target_os = "linux"))]
fn refuse_handshakes(_: &TcpListener) {}

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
