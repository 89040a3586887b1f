//! The status of a server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// The phase in the life of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The socket is bound.
    Starting,
    /// The server accepts requests.
    Running,
    /// The server refuses further requests and finishes running ones.
    Draining,
    /// The server has stopped.
    Stopped,
}

/// A snapshot of the status of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// The phase.
    pub phase: Phase,
    /// The time since the start.
    pub uptime: Duration,
    /// The number of open connections.
    pub connections: usize,
    /// The number of running requests.
    pub in_flight: usize,
    /// The number of connections accepted since the start.
    pub total_connections: u64,
    /// The number of requests accepted since the start, without health checks.
    pub total_requests: u64,
}

/// The counters shared by the connections of a server.
#[derive(Debug)]
pub(crate) struct Counts {
    started: Instant,
    phase: watch::Sender<Phase>,
    connections: AtomicUsize,
    in_flight: AtomicUsize,
    total_connections: AtomicU64,
    total_requests: AtomicU64,
}

impl Counts {
    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
            phase: watch::Sender::new(Phase::Starting),
            connections: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            total_connections: AtomicU64::new(0),
            total_requests: AtomicU64::new(0),
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    /// Advances to `phase`. Never goes back.
    pub(crate) fn advance(&self, phase: Phase) {
        self.phase.send_if_modified(|current| {
            let is_later = phase > *current;
            *current = phase.max(*current);
            is_later
        });
    }

    pub(crate) async fn reached(&self, phase: Phase) {
        // `self` owns the sender, so the wait cannot fail.
        let _ = self.phase.subscribe().wait_for(|current| *current >= phase).await;
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::SeqCst)
    }

    /// Counts a connection until the returned guard is dropped.
    pub(crate) fn open(self: &Arc<Self>) -> OpenConnection {
        self.connections.fetch_add(1, Ordering::Relaxed);
        self.total_connections.fetch_add(1, Ordering::Relaxed);
        OpenConnection(Arc::clone(self))
    }

    /// Sequentially consistent with the phase: either a new request sees that the server is stopping, or the
    /// stopping server sees the request.
    pub(crate) fn request_started(&self) {
        self.in_flight.fetch_add(1, Ordering::SeqCst);
        self.total_requests.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn request_ended(&self) {
        self.in_flight.fetch_sub(1, Ordering::SeqCst);
    }

    pub(crate) fn read(&self) -> Status {
        Status {
            phase: self.phase(),
            uptime: self.started.elapsed(),
            connections: self.connections.load(Ordering::Relaxed),
            in_flight: self.in_flight(),
            total_connections: self.total_connections.load(Ordering::Relaxed),
            total_requests: self.total_requests.load(Ordering::Relaxed),
        }
    }
}

/// A guard that counts an open connection.
pub(crate) struct OpenConnection(Arc<Counts>);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}
