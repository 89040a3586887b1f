//! Operations that come and go while a service runs.

use std::fmt;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use trunkline_core::operation::{BuildError, Operation, Registry};

use super::placement::Placement;

/// Operations that come and go while their service runs. Clones are the same ones.
///
/// [`Router::dynamic`](crate::Router::dynamic) gives them a place in a router, once; [`replace`](Self::replace) puts others in
/// their place. All that lists operations follows: [`Rpc::operations`](crate::protocol::Dispatcher::operations),
/// `rpc.discover`, the metrics.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use trunkline::{DynamicOperations, Router};
///
/// let tools = DynamicOperations::new();
/// let rpc = Router::new().method("ping", || "pong").dynamic("tool", &tools).build()?;
///
/// tools.replace(Router::new().method("shout", || "HELLO"))?;
/// assert_eq!(rpc.call::<String>("tool.shout", &[(); 0]).await?, "HELLO");
///
/// tools.replace(Router::new().method("whisper", || "hello"))?;
/// assert!(rpc.call::<String>("tool.shout", &[(); 0]).await.is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct DynamicOperations(Arc<Inner>);

#[derive(Default)]
struct Inner {
    has_place: AtomicBool,
    state: Mutex<State>,
}

enum State {
    /// There is no service yet: what it will start with.
    Waiting(Vec<Operation>),
    Serving {
        registry: Weak<Registry>,
        part: usize,
        placement: Arc<Placement>,
    },
}

impl DynamicOperations {
    /// No operations, so far.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts these operations in place of those that were there, all at once.
    pub(super) fn put(&self, operations: Vec<Operation>) -> Result<(), BuildError> {
        let (registry, part, placement) = match &mut *self.lock() {
            State::Waiting(waiting) => {
                *waiting = operations;
                return Ok(());
            }
            State::Serving { registry, part, placement } => {
                (registry.upgrade(), *part, Arc::clone(placement))
            }
        };
        registry.map_or(Ok(()), |registry| registry.replace(part, placement.adopt(operations)))
    }

    /// Takes the place in a router, if no router has given one before.
    pub(super) fn take_place(&self) -> bool {
        !self.0.has_place.swap(true, Ordering::Relaxed)
    }

    /// Gives the registry what it starts with, and from now on what comes.
    pub(super) fn attach(
        &self,
        registry: &Arc<Registry>,
        part: usize,
        placement: Placement,
    ) -> Result<(), BuildError> {
        // Held all the time, so that nothing that comes meanwhile is left waiting.
        let mut state = self.lock();
        if let State::Waiting(operations) = &mut *state {
            registry.replace(part, placement.adopt(mem::take(operations)))?;
        }
        let (registry, placement) = (Arc::downgrade(registry), Arc::new(placement));
        *state = State::Serving { registry, part, placement };
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for State {
    fn default() -> Self {
        Self::Waiting(Vec::new())
    }
}

impl fmt::Debug for DynamicOperations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DynamicOperations")
    }
}
