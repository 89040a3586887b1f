//! Accepts connections.

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use trunkline_core::extensions::Extensions;

use super::config::UnixConfig;
use super::socket_file::SocketFile;
use crate::server::{Phase, recover};
use crate::status::Counts;
use crate::stream::{Connection, StreamError, Unanswered};
use trunkline_core::dispatch::Dispatcher;

/// The state shared by all connections of a server.
pub(super) struct Shared {
    pub(super) rpc: Dispatcher,
    pub(super) settings: UnixConfig,
    /// Cancelled when the server must stop.
    pub(super) closing: CancellationToken,
    pub(super) counts: Arc<Counts>,
}

/// Accepts connections until the server stops, then waits for their end.
pub(super) async fn run(
    listener: UnixListener,
    file: SocketFile,
    shared: Arc<Shared>,
    tasks: TaskTracker,
    aborted: Arc<AtomicUsize>,
) {
    let connections = TaskTracker::new();
    let accepting = accept(&listener, &shared, &connections, &aborted);
    let _ = shared.closing.run_until_cancelled(accepting).await;
    shared.counts.advance(Phase::Draining);
    drop(listener);
    file.remove().await;
    connections.close();
    connections.wait().await;
    tasks.close();
    shared.counts.advance(Phase::Stopped);
}

async fn accept(
    listener: &UnixListener,
    shared: &Arc<Shared>,
    connections: &TaskTracker,
    aborted: &Arc<AtomicUsize>,
) {
    let limit = shared.settings.connections.min(Semaphore::MAX_PERMITS);
    let limit = Arc::new(Semaphore::new(limit));
    loop {
        // The semaphore is never closed.
        let permit = Arc::clone(&limit).acquire_owned().await;
        let socket = match listener.accept().await {
            Ok((socket, _)) => socket,
            Err(error) => {
                recover(&error).await;
                continue;
            }
        };
        let open = shared.counts.open();
        let (shared, aborted) = (Arc::clone(shared), Arc::clone(aborted));
        connections.spawn(async move {
            let unanswered = Unanswered::default();
            if let Err(error) = serve(socket, &shared, unanswered.clone()).await {
                tracing::debug!(%error, "connection failed");
                if shared.closing.is_cancelled() && is_caused_by_server(&error) {
                    aborted.fetch_add(unanswered.count(), Ordering::Relaxed);
                }
            }
            drop((open, permit));
        });
    }
}

async fn serve(
    socket: UnixStream,
    shared: &Shared,
    unanswered: Unanswered,
) -> Result<(), StreamError> {
    let mut extensions = Extensions::from_endpoint("unix");
    if let Some(peer) = Peer::of(&socket) {
        extensions.insert(peer);
    }
    let mut config = shared.settings.stream.clone();
    config.closing = shared.closing.clone();
    let (rpc, counts) = (shared.rpc.clone(), Arc::clone(&shared.counts));
    let (input, output) = socket.into_split();
    Connection { rpc, extensions, counts, unanswered }.run(input, output, &config).await
}

/// Whether the server ended the connection, so that the client may still wait for replies.
fn is_caused_by_server(error: &StreamError) -> bool {
    match error {
        StreamError::Unfinished { .. } => true,
        StreamError::Write(error) => error.kind() == ErrorKind::TimedOut,
        _ => false,
    }
}

/// The credentials of the process at the other end of a connection. Handlers extract them as
/// `Extension<Peer>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Peer {
    /// The user id.
    pub uid: u32,
    /// The group id.
    pub gid: u32,
    /// The process id, if the system provides it.
    pub pid: Option<i32>,
}

impl Peer {
    /// The credentials. `None` if the system does not provide them.
    fn of(stream: &UnixStream) -> Option<Self> {
        let credentials = stream.peer_cred().ok()?;
        Some(Self { uid: credentials.uid(), gid: credentials.gid(), pid: credentials.pid() })
    }
}
