//! Requests to a client of the stateless era: the call ends with the requests, and the client repeats it with the
//! responses (2026-07-28, "Multi Round-Trip Requests").

use std::collections::{BTreeMap, BTreeSet};
use std::future::{pending, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use futures_util::task::AtomicWaker;
use serde::Serialize;
use serde_json::Value;
use trunkline::Outcome;
use trunkline::protocol::CallFuture;

use super::error::PeerError;
use crate::capabilities::ClientCapabilities;

/// The responses that a client has sent so far, and the requests for further ones.
#[derive(Debug)]
pub(crate) struct Rounds {
    pub(crate) capabilities: ClientCapabilities,
    responses: BTreeMap<String, Value>,
    /// The keys of the responses that the call has received.
    used: Mutex<BTreeSet<String>>,
    requests: Mutex<InputRequests>,
    /// Wakes the call when a request is added by another task.
    added: AtomicWaker,
}

/// Requests by key.
pub(crate) type InputRequests = BTreeMap<String, InputRequest>;

/// A request to a client.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct InputRequest {
    method: &'static str,
    params: Value,
}

impl Rounds {
    pub(crate) fn new(
        capabilities: ClientCapabilities,
        responses: BTreeMap<String, Value>,
    ) -> Self {
        let (used, requests, added) = Default::default();
        Self { capabilities, responses, used, requests, added }
    }

    /// The responses that the call has received.
    pub(crate) fn used_responses(&self) -> BTreeMap<String, Value> {
        let used = lock(&self.used);
        let responses = self.responses.iter().filter(|(key, _)| used.contains(*key));
        responses.map(|(key, response)| (key.clone(), response.clone())).collect()
    }

    /// The response to a request. Without one, this never completes, and the call ends with the request. The same is
    /// true if the handler has received the response before: it sends the request again, since it needs another response.
    pub(super) async fn ask(
        &self,
        key: &str,
        method: &'static str,
        params: Value,
    ) -> Result<Value, PeerError> {
        if let Some(response) = self.take_response(key) {
            return Ok(response);
        }
        let request = InputRequest { method, params };
        if lock(&self.requests).insert(key.to_owned(), request).is_some() {
            return Err(PeerError::DuplicateKey { key: key.to_owned() });
        }
        self.added.wake();
        pending().await
    }

    fn take_response(&self, key: &str) -> Option<Value> {
        let response = self.responses.get(key)?;
        let mut used = lock(&self.used);
        if used.insert(key.to_owned()) {
            return Some(response.clone());
        }
        used.remove(key);
        None
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a call until it ends or waits for responses. Then the call is dropped, and `ask` creates the outcome with the
/// requests.
pub(crate) fn in_rounds(
    mut call: CallFuture,
    rounds: Arc<Rounds>,
    ask: impl FnOnce(&Rounds, InputRequests) -> Outcome + Send + 'static,
) -> CallFuture {
    call = match call.into_outcome() {
        Ok(outcome) => return CallFuture::ready(outcome),
        Err(call) => call,
    };
    CallFuture::from_future(async move {
        let ended = poll_fn(|cx| {
            rounds.added.register(cx.waker());
            if let Poll::Ready(Ok(outcome)) = Pin::new(&mut call).poll(cx) {
                return Poll::Ready(Some(outcome));
            }
            if lock(&rounds.requests).is_empty() { Poll::Pending } else { Poll::Ready(None) }
        });
        match ended.await {
            Some(outcome) => outcome,
            None => {
                drop(call);
                let requests = std::mem::take(&mut *lock(&rounds.requests));
                ask(&rounds, requests)
            }
        }
    })
}
