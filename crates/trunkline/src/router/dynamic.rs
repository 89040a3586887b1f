//! Operations that can be replaced while a service runs.

use std::fmt;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use trunkline_core::operation::{BuildError, Operation, Registry};

use super::placement::Placement;

/// Operations that can be replaced while their service runs. Clones share the operations.
///
/// [`Router::dynamic`](crate::Router::dynamic) adds them to a router, at most once, and [`replace`](Self::replace)
/// replaces them. [`Rpc::operations`](crate::protocol::Dispatcher::operations), `rpc.discover` and the metrics reflect
/// the current operations.
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
    /// Whether they were added to a router.
    is_claimed: AtomicBool,
    state: Mutex<State>,
}

enum State {
    /// The initial operations, before the service is built.
    Detached(Vec<Operation>),
    Attached {
        registry: Weak<Registry>,
        part: usize,
        placement: Arc<Placement>,
    },
}

impl DynamicOperations {
    /// An empty set of operations.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces all operations atomically.
    pub(super) fn set(&self, operations: Vec<Operation>) -> Result<(), BuildError> {
        let (registry, part, placement) = match &mut *self.lock() {
            State::Detached(initial) => {
                *initial = operations;
                return Ok(());
            }
            State::Attached { registry, part, placement } => {
                (registry.upgrade(), *part, Arc::clone(placement))
            }
        };
        registry.map_or(Ok(()), |registry| registry.replace(part, placement.adopt(operations)))
    }

    /// Returns whether this is the first router that they are added to.
    pub(super) fn claim(&self) -> bool {
        !self.0.is_claimed.swap(true, Ordering::Relaxed)
    }

    /// Sets the initial operations of the registry, which later ones replace.
    pub(super) fn attach(
        &self,
        registry: &Arc<Registry>,
        part: usize,
        placement: Placement,
    ) -> Result<(), BuildError> {
        // Locked throughout, so that no concurrent replacement is lost.
        let mut state = self.lock();
        if let State::Detached(operations) = &mut *state {
            registry.replace(part, placement.adopt(mem::take(operations)))?;
        }
        let (registry, placement) = (Arc::downgrade(registry), Arc::new(placement));
        *state = State::Attached { registry, part, placement };
        Ok(())
    }

    /// [`attach`](Self::attach) to a new part of the registry.
    fn attach_new(&self, registry: &Arc<Registry>, placement: Placement) -> Result<(), BuildError> {
        self.attach(registry, registry.add_part(), placement)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Namespaces of [`DynamicOperations`] that are added while their service runs. Clones share them.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use trunkline::{DynamicNamespaces, Router};
///
/// let plugins = DynamicNamespaces::new();
/// let rpc = Router::new().method("ping", || "pong").dynamic_namespaces(&plugins).build()?;
///
/// let tools = plugins.add("tool");
/// tools.replace(Router::new().method("shout", || "HELLO"))?;
/// assert_eq!(rpc.call::<String>("tool.shout", &[(); 0]).await?, "HELLO");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct DynamicNamespaces(Arc<Mutex<Namespaces>>);

#[derive(Default)]
struct Namespaces {
    is_claimed: bool,
    /// Those that were added before the service is built.
    pending: Vec<(String, DynamicOperations)>,
    /// The registry and the placement of the built service.
    attached: Option<(Weak<Registry>, Placement)>,
}

impl DynamicNamespaces {
    /// Without namespaces.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a namespace, whose operations are empty. They get the layers and the rules of the router whose patterns
    /// match. A namespace cannot be removed: replace its operations by none, and use it again for the same name.
    #[must_use]
    pub fn add(&self, namespace: &str) -> DynamicOperations {
        let operations = DynamicOperations::new();
        operations.claim();
        let attached = {
            let mut namespaces = self.lock();
            if namespaces.attached.is_none() {
                namespaces.pending.push((namespace.to_owned(), operations.clone()));
            }
            namespaces.attached.clone()
        };
        if let Some((registry, placement)) = attached
            && let Some(registry) = registry.upgrade()
        {
            // No operations, which have no names that others have.
            let _ = operations.attach_new(&registry, placement.of_namespace(namespace));
        }
        operations
    }

    /// Returns whether this is the first router that they are added to.
    pub(super) fn claim(&self) -> bool {
        !mem::replace(&mut self.lock().is_claimed, true)
    }

    /// Sets the initial operations of the namespaces.
    pub(super) fn attach(
        &self,
        registry: &Arc<Registry>,
        placement: &Placement,
    ) -> Result<(), BuildError> {
        let pending = {
            let mut namespaces = self.lock();
            namespaces.attached = Some((Arc::downgrade(registry), placement.clone()));
            mem::take(&mut namespaces.pending)
        };
        pending.iter().try_for_each(|(name, operations)| {
            operations.attach_new(registry, placement.of_namespace(name))
        })
    }

    fn lock(&self) -> MutexGuard<'_, Namespaces> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for DynamicNamespaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DynamicNamespaces")
    }
}

impl Default for State {
    fn default() -> Self {
        Self::Detached(Vec::new())
    }
}

impl fmt::Debug for DynamicOperations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DynamicOperations")
    }
}
