//! The running calls of a client, by id.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;
use trunkline_client::frame::Key;

/// The running calls of a client, which it can cancel by id. Clones share the calls.
#[derive(Debug, Clone, Default)]
pub struct Calls(Arc<Mutex<ById>>);

/// A client may use an id for several calls.
type ById = HashMap<Key, Vec<Arc<Running>>>;

/// The registration of a running call or batch. Dropping it removes the call.
#[derive(Debug)]
pub struct Registration {
    calls: Calls,
    keys: Vec<Key>,
    running: Arc<Running>,
}

#[derive(Debug)]
struct Running {
    /// The number of ids that have not been cancelled.
    left: AtomicUsize,
    cancelled: CancellationToken,
}

impl Calls {
    /// Registers a call, or a batch with several ids.
    pub fn begin(&self, ids: impl IntoIterator<Item = Key>) -> Registration {
        self.register(&mut self.by_id(), ids.into_iter().collect())
    }

    /// Registers a call. `None` if another call with this id is running.
    pub fn begin_unique(&self, id: Key) -> Option<Registration> {
        let mut by_id = self.by_id();
        (!by_id.contains_key(&id)).then(|| self.register(&mut by_id, vec![id]))
    }

    /// Cancels the calls with this id, and the batches whose ids have all been cancelled.
    pub fn cancel(&self, id: &Key) {
        for running in self.by_id().remove(id).unwrap_or_default() {
            if running.left.fetch_sub(1, Ordering::Relaxed) == 1 {
                running.cancelled.cancel();
            }
        }
    }

    fn register(&self, by_id: &mut ById, keys: Vec<Key>) -> Registration {
        let left = AtomicUsize::new(keys.len());
        let running = Arc::new(Running { left, cancelled: CancellationToken::new() });
        for key in &keys {
            by_id.entry(key.clone()).or_default().push(Arc::clone(&running));
        }
        Registration { calls: self.clone(), keys, running }
    }

    fn by_id(&self) -> MutexGuard<'_, ById> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registration {
    /// Waits until all ids have been cancelled. Never completes without ids.
    pub async fn cancelled(&self) {
        self.running.cancelled.cancelled().await;
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut by_id = self.calls.by_id();
        for key in &self.keys {
            if let Some(running) = by_id.get_mut(key) {
                running.retain(|other| !Arc::ptr_eq(other, &self.running));
                if running.is_empty() {
                    by_id.remove(key);
                }
            }
        }
    }
}
