//! What a server says of itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// The life of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Its socket is bound.
    Starting,
    /// It answers.
    Running,
    /// It takes no further requests and finishes those that run.
    Draining,
    /// It has ended.
    Stopped,
}

/// The state of a server at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// Where in its life it is.
    pub phase: Phase,
    /// How long it has been running.
    pub uptime: Duration,
    /// Open connections.
    pub connections: usize,
    /// Requests that are being answered.
    pub in_flight: usize,
    /// Connections accepted since the start.
    pub total_connections: u64,
    /// Requests taken since the start, without those of the health page.
    pub total_requests: u64,
}

/// What the connections of a server count together.
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

    /// Goes on to `phase`; never back.
    pub(crate) fn advance(&self, phase: Phase) {
        self.phase.send_if_modified(|current| {
            let later = phase > *current;
            *current = phase.max(*current);
            later
        });
    }

    pub(crate) async fn reached(&self, phase: Phase) {
        // The sender lives in `self`, so the wait cannot fail.
        let _ = self.phase.subscribe().wait_for(|current| *current >= phase).await;
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::SeqCst)
    }

    /// Counts a connection until what is returned is dropped.
    pub(crate) fn open(self: &Arc<Self>) -> OpenConnection {
        self.connections.fetch_add(1, Ordering::Relaxed);
        self.total_connections.fetch_add(1, Ordering::Relaxed);
        OpenConnection(Arc::clone(self))
    }

    /// In one order with the phase for all threads: a request that begins sees that the server
    /// stops, or the server that stops sees the request.
    pub(crate) fn request_begun(&self) {
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

/// An open connection.
pub(crate) struct OpenConnection(Arc<Counts>);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}
