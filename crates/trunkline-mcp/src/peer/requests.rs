//! Requests to a client that wait for their responses.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use tokio::sync::oneshot;
use trunkline::Outcome;
use trunkline::client::Response;

use crate::lock::Lock;

/// The pending requests to one client, by id.
#[derive(Debug)]
pub(crate) struct ClientRequests {
    /// A number that no other client of this process has.
    pub(crate) session: u64,
    pending: Lock<HashMap<String, oneshot::Sender<Outcome>>>,
    last: AtomicU64,
}

/// The maximum number of pending requests to one client.
const MAX_PENDING: usize = 64;

/// A request that waits for its response. Dropping it ends the wait.
#[derive(Debug)]
pub(super) struct PendingRequest {
    pub(super) id: u64,
    response: oneshot::Receiver<Outcome>,
    requests: Arc<ClientRequests>,
}

impl ClientRequests {
    /// Requests whose ids are greater than a number.
    pub(crate) fn after(last: u64) -> Self {
        static SESSIONS: AtomicU64 = AtomicU64::new(0);
        let session = SESSIONS.fetch_add(1, Ordering::Relaxed);
        Self { session, pending: Lock::default(), last: AtomicU64::new(last) }
    }

    /// A number that no request of this client has.
    pub(super) fn unused_id(&self) -> u64 {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Registers a request. `None` if too many are pending.
    pub(super) fn begin(self: &Arc<Self>) -> Option<PendingRequest> {
        let id = self.unused_id();
        let (sender, response) = oneshot::channel();
        let mut pending = self.pending.lock();
        if pending.len() >= MAX_PENDING {
            return None;
        }
        pending.insert(id.to_string(), sender);
        Some(PendingRequest { id, response, requests: Arc::clone(self) })
    }

    /// Whether a request with this id, as JSON, waits for its response.
    pub(crate) fn is_pending(&self, id: &str) -> bool {
        self.pending.lock().contains_key(id)
    }

    /// Passes a response to the request that waits for it, or ends the wait if the response is malformed. `id` is JSON.
    /// Other responses are ignored.
    pub(crate) fn answer(&self, id: Option<&str>, body: &Bytes) {
        let sender = id.and_then(|id| self.pending.lock().remove(id));
        match (sender, Response::parse(body)) {
            // This fails only if the request has just been dropped.
            (Some(sender), Ok(response)) => drop(sender.send(response.outcome)),
            (_, Err(error)) => tracing::debug!(%error, "a malformed response is ignored"),
            (None, Ok(_)) => tracing::debug!("a response without a request is ignored"),
        }
    }
}

impl PendingRequest {
    /// Waits for the response. `None` if it was malformed.
    ///
    /// # Cancel safety
    /// The response is not lost when the future is dropped.
    pub(super) async fn response(&mut self) -> Option<Outcome> {
        (&mut self.response).await.ok()
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        self.requests.pending.lock().remove(&self.id.to_string());
    }
}
