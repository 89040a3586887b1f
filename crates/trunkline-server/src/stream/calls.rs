//! The calls of one client that run, by what they can be cancelled with.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;
use trunkline_client::frame::Key;

use super::asked::Asked;

/// The calls that run. Clones are the same calls.
#[derive(Debug, Clone, Default)]
pub(super) struct Calls(Arc<Mutex<ById>>);

/// Ids are the client's business: it may use one twice.
type ById = HashMap<Key, Vec<Arc<Running>>>;

/// A call or a batch that runs, until this is dropped.
#[derive(Debug)]
pub(super) struct Registration {
    calls: Calls,
    keys: Vec<Key>,
    running: Arc<Running>,
}

#[derive(Debug)]
struct Running {
    /// Ids that have not been cancelled.
    left: AtomicUsize,
    cancelled: CancellationToken,
}

impl Calls {
    pub(super) fn begin(&self, asked: &Asked) -> Registration {
        let keys: Vec<Key> = asked.ids().map(Key::from).collect();
        let left = AtomicUsize::new(keys.len());
        let running = Arc::new(Running { left, cancelled: CancellationToken::new() });
        let mut by_id = self.by_id();
        for key in &keys {
            by_id.entry(key.clone()).or_default().push(Arc::clone(&running));
        }
        drop(by_id);
        Registration { calls: self.clone(), keys, running }
    }

    /// Cancels what runs with this id.
    pub(super) fn cancel(&self, key: &Key) {
        for running in self.by_id().remove(key).unwrap_or_default() {
            if running.left.fetch_sub(1, Ordering::Relaxed) == 1 {
                running.cancelled.cancel();
            }
        }
    }

    fn by_id(&self) -> MutexGuard<'_, ById> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registration {
    pub(super) fn is_cancelled(&self) -> bool {
        self.running.cancelled.is_cancelled()
    }

    /// Waits until all ids have been cancelled. What has none waits for ever.
    pub(super) async fn cancelled(&self) {
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
