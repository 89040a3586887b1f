//! Taking connections in.

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

/// What all connections of a server share.
pub(super) struct Shared {
    pub(super) rpc: Dispatcher,
    pub(super) settings: UnixConfig,
    /// Cancelled when the server shall stop.
    pub(super) closing: CancellationToken,
    pub(super) counts: Arc<Counts>,
}

/// Accepts until the server stops, and waits for the connections' end.
pub(super) async fn run(
    listener: UnixListener,
    file: SocketFile,
    shared: Arc<Shared>,
    tasks: TaskTracker,
    cut: Arc<AtomicUsize>,
) {
    let connections = TaskTracker::new();
    let _ =
        shared.closing.run_until_cancelled(accept(&listener, &shared, &connections, &cut)).await;
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
    cut: &Arc<AtomicUsize>,
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
        let (shared, cut) = (Arc::clone(shared), Arc::clone(cut));
        connections.spawn(async move {
            let unanswered = Unanswered::default();
            if let Err(error) = serve(socket, &shared, unanswered.clone()).await {
                tracing::debug!(%error, "connection ended");
                if shared.closing.is_cancelled() && is_of_server(&error) {
                    cut.fetch_add(unanswered.count(), Ordering::Relaxed);
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

/// Whether the client may still wait for replies: its end has not come from itself.
fn is_of_server(error: &StreamError) -> bool {
    match error {
        StreamError::Unfinished { .. } => true,
        StreamError::Write(error) => error.kind() == ErrorKind::TimedOut,
        _ => false,
    }
}

/// The process at the other end of a connection, as the system knows it. Handlers get it as
/// `Extension<Peer>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Peer {
    /// Its user.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// The process, where the system tells.
    pub pid: Option<i32>,
}

impl Peer {
    /// None if the system does not tell.
    fn of(stream: &UnixStream) -> Option<Self> {
        let known = stream.peer_cred().ok()?;
        Some(Self { uid: known.uid(), gid: known.gid(), pid: known.pid() })
    }
}
