use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use trunkline::{ErrorObject, Id, code};

use crate::fault::Fault;

/// What runs for one client: so many at a time, and requests by their ids.
#[derive(Clone)]
pub(super) struct InFlight {
    places: Arc<Semaphore>,
    requests: Arc<Mutex<Requests>>,
}

#[derive(Default)]
struct Requests {
    by_id: HashMap<String, (u64, CancellationToken)>,
    begun: u64,
}

/// One of those that run, until it is dropped.
pub(super) struct Ticket {
    _place: OwnedSemaphorePermit,
    request: Option<(Arc<Mutex<Requests>>, String, u64)>,
}

impl InFlight {
    pub(super) fn new(limit: usize) -> Self {
        let places = Arc::new(Semaphore::new(limit.min(Semaphore::MAX_PERMITS)));
        Self { places, requests: Arc::default() }
    }

    /// Begins what has no id: a batch.
    pub(super) fn begin(&self) -> Result<Ticket, ErrorObject> {
        let place = Arc::clone(&self.places).try_acquire_owned();
        let place = place.map_err(|_| ErrorObject::new(code::BUSY, "Server is busy"))?;
        Ok(Ticket { _place: place, request: None })
    }

    /// Begins a request. Its token is cancelled when its client cancels it.
    pub(super) fn begin_request(
        &self,
        id: &Id,
    ) -> Result<(Ticket, CancellationToken), ErrorObject> {
        let key = key(id.as_raw());
        let mut requests = lock(&self.requests);
        if requests.by_id.contains_key(&key) {
            return Err(Fault::Request("a request with this id is running").error());
        }
        let mut ticket = self.begin()?;
        requests.begun += 1;
        let number = requests.begun;
        let token = CancellationToken::new();
        requests.by_id.insert(key.clone(), (number, token.clone()));
        ticket.request = Some((Arc::clone(&self.requests), key, number));
        Ok((ticket, token))
    }

    /// Cancels the request whose id has this JSON text, if it runs.
    pub(super) fn cancel(&self, id: &str) {
        if let Some((_, token)) = lock(&self.requests).by_id.remove(&key(id)) {
            token.cancel();
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let Some((requests, key, number)) = &self.request else {
            return;
        };
        let mut requests = lock(requests);
        // A cancelled request is gone already, and its id may be another one's by now.
        if requests.by_id.get(key).is_some_and(|(current, _)| current == number) {
            requests.by_id.remove(key);
        }
    }
}

/// One text for all spellings of an id: `"a\/b"` is `"a/b"`.
fn key(id: &str) -> String {
    if !id.contains('\\') {
        return id.to_owned();
    }
    let value: Option<serde_json::Value> = serde_json::from_str(id).ok();
    value.map_or_else(|| id.to_owned(), |value| value.to_string())
}

fn lock(requests: &Mutex<Requests>) -> MutexGuard<'_, Requests> {
    requests.lock().unwrap_or_else(PoisonError::into_inner)
}
