//! The registry: operations by name, and the service that calls them.

use std::cmp::Ordering;
use std::convert::Infallible;
use std::fmt;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::task::{Context, Poll};

use tower_service::Service;

use super::Operation;
use super::build::{self, BuildError};
use crate::call::{Call, CallFuture, RegisteredOperation};
use crate::error::ErrorObject;
use crate::extensions::Extensions;
use crate::outcome::Outcome;

type Operations = Vec<Arc<RegisteredOperation>>;
type Listener = Arc<dyn Fn() + Send + Sync>;

/// All operations of a built router: static ones and the current dynamic ones.
pub struct Registry {
    /// In the order of registration.
    static_operations: Operations,
    built_in: Operations,
    /// Static and built-in operations, [sorted].
    by_name: Operations,
    has_dynamic_operations: bool,
    /// The dynamic operations of each part. Held during a change, so that changes are sequential.
    parts: Mutex<Vec<Operations>>,
    current: RwLock<Snapshot>,
    listeners: Mutex<Vec<Listener>>,
    /// Creates the extensions of a new operation.
    extensions: Box<dyn Fn() -> Extensions + Send + Sync>,
    /// The maximum depth of a message.
    depth: usize,
}

/// The operations between two changes.
struct Snapshot {
    /// All operations, in the order of registration.
    operations: Arc<[Arc<RegisteredOperation>]>,
    /// The dynamic operations, [sorted].
    by_name: Operations,
}

impl Registry {
    /// A registry of `operations`, and of `built_in` operations, whose names are not checked and which are listed
    /// last. The number of sets of dynamic operations is `parts`; they are empty until [`replace`](Self::replace).
    /// Each operation gets its [extensions](RegisteredOperation::extensions) from `extensions`. `depth` is the maximum
    /// nesting depth of messages.
    pub fn new(
        operations: Vec<Operation>,
        built_in: Vec<Operation>,
        parts: usize,
        extensions: impl Fn() -> Extensions + Send + Sync + 'static,
        depth: usize,
    ) -> Result<Self, BuildError> {
        build::check([], &operations)?;
        let registered = |operations: Vec<Operation>| -> Operations {
            let register =
                |operation: Operation| Arc::new(operation.register(true, extensions(), depth));
            operations.into_iter().map(register).collect()
        };
        let (static_operations, built_in) = (registered(operations), registered(built_in));
        let all: Operations = static_operations.iter().chain(&built_in).cloned().collect();
        let current = Snapshot { operations: all.clone().into(), by_name: Vec::new() };
        Ok(Self {
            static_operations,
            built_in,
            by_name: sorted(all),
            has_dynamic_operations: parts > 0,
            parts: Mutex::new(vec![Vec::new(); parts]),
            current: RwLock::new(current),
            listeners: Mutex::default(),
            extensions: Box::new(extensions),
            depth,
        })
    }

    pub(crate) fn has_dynamic_operations(&self) -> bool {
        self.has_dynamic_operations
    }

    /// The current operations, in the order of registration.
    pub fn operations(&self) -> Arc<[Arc<RegisteredOperation>]> {
        Arc::clone(&read(&self.current).operations)
    }

    /// The operation of this name. Static operations are found without a lock.
    pub(crate) fn find(&self, name: &[u8]) -> Option<Arc<RegisteredOperation>> {
        let found = find(&self.by_name, name);
        if found.is_some() || !self.has_dynamic_operations {
            return found.cloned();
        }
        find(&read(&self.current).by_name, name).cloned()
    }

    pub(crate) fn on_change(&self, listener: impl Fn() + Send + Sync + 'static) {
        lock(&self.listeners).push(Arc::new(listener));
    }

    /// Replaces the operations of a part. On error, nothing changes.
    pub fn replace(&self, part: usize, operations: Vec<Operation>) -> Result<(), BuildError> {
        let before = self.exchange(part, operations)?;
        // Dropping the values owned by handlers may take long, so this happens outside of the lock.
        drop(before);
        let listeners = lock(&self.listeners).clone();
        listeners.iter().for_each(|listener| listener());
        Ok(())
    }

    fn exchange(
        &self,
        part: usize,
        operations: Vec<Operation>,
    ) -> Result<(Operations, Snapshot), BuildError> {
        let mut parts = lock(&self.parts);
        let others = parts.iter().enumerate().filter(|(index, _)| *index != part);
        let others = others.flat_map(|(_, operations)| operations);
        build::check(
            self.static_operations.iter().chain(others).map(|other| &**other),
            &operations,
        )?;

        let known = sorted(parts[part].clone());
        let registered = |operation: Operation| {
            let known = find(&known, operation.description.name.as_bytes());
            let known = known.map(|known| known.extensions().clone());
            let extensions = known.unwrap_or_else(&self.extensions);
            Arc::new(operation.register(false, extensions, self.depth))
        };
        let registered = operations.into_iter().map(registered).collect();
        let before = mem::replace(&mut parts[part], registered);

        let dynamic: Operations = parts.iter().flatten().cloned().collect();
        let all = self.static_operations.iter().chain(&dynamic).chain(&self.built_in);
        let operations = all.cloned().collect();
        let after = Snapshot { operations, by_name: sorted(dynamic) };
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        Ok((before, mem::replace(&mut *current, after)))
    }
}

fn sorted(mut operations: Operations) -> Operations {
    operations.sort_by(|one, other| order(one.name().as_bytes(), other.name().as_bytes()));
    operations
}

/// The search order. Compares lengths first, since most names differ in length.
fn order(one: &[u8], other: &[u8]) -> Ordering {
    one.len().cmp(&other.len()).then_with(|| one.cmp(other))
}

/// `by_name` must be [sorted].
fn find<'a>(
    by_name: &'a [Arc<RegisteredOperation>],
    name: &[u8],
) -> Option<&'a Arc<RegisteredOperation>> {
    let order = |operation: &Arc<RegisteredOperation>| order(operation.name().as_bytes(), name);
    by_name.binary_search_by(order).ok().map(|index| &by_name[index])
}

/// Values under these locks are replaced as a whole, so a panic leaves them consistent.
fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("operations", &self.operations()).finish_non_exhaustive()
    }
}

/// A service that runs the operation of a resolved call.
#[derive(Debug, Clone, Copy, Default)]
pub struct Dispatch;

impl Service<Call> for Dispatch {
    type Response = Outcome;
    type Error = Infallible;
    type Future = CallFuture;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> CallFuture {
        let operation = call.operation().cloned();
        Self::run(operation.as_deref(), call)
    }
}

impl Dispatch {
    /// Runs `operation`, to which the call was resolved.
    pub fn run(operation: Option<&RegisteredOperation>, call: Call) -> CallFuture {
        // The params could not be decoded, so no operation can run.
        if let Some(refusal) = call.encoding().and_then(|encoding| encoding.refusal()) {
            return CallFuture::ready(Outcome::error(refusal.clone()));
        }
        match operation {
            Some(operation) => operation.endpoint.call(call),
            None => {
                CallFuture::ready(Outcome::error(ErrorObject::method_not_found(&call.method())))
            }
        }
    }
}
