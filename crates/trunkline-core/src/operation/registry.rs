//! The registry: operations by name, in the layers of the service.

use std::cmp::Ordering;
use std::fmt;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use super::Operation;
use super::build::{self, BuildError};
use crate::call::{Call, CallFuture, Endpoint, RegisteredOperation};
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
    /// The endpoint of calls of unknown methods, in the layers of the service.
    unknown: Endpoint,
    service: Box<dyn ServiceLayers>,
    /// The maximum depth of a message.
    depth: usize,
}

/// The part of a service around its operations.
pub trait ServiceLayers: Send + Sync {
    /// The extensions of a new operation.
    fn extensions(&self) -> Extensions;

    /// Wraps the endpoint of an operation, or of unknown methods, in the layers of the service.
    fn wrap(&self, operation: Option<&RegisteredOperation>, endpoint: Endpoint) -> Endpoint;
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
    /// Each operation gets its [extensions](RegisteredOperation::extensions) and the layers around it from `service`.
    /// `depth` is the maximum nesting depth of messages.
    pub fn new(
        operations: Vec<Operation>,
        built_in: Vec<Operation>,
        parts: usize,
        service: impl ServiceLayers + 'static,
        depth: usize,
    ) -> Result<Self, BuildError> {
        build::check([], &operations)?;
        let registered = |operations: Vec<Operation>| -> Operations {
            let register = |operation: Operation| {
                wrapped(operation.register(true, service.extensions(), depth), &service)
            };
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
            unknown: service.wrap(None, Endpoint::new(unknown)),
            service: Box::new(service),
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

    /// Runs a resolved call.
    #[inline]
    pub(crate) fn run(&self, call: Call) -> CallFuture {
        match call.operation().cloned() {
            Some(operation) => operation.endpoint.run(call),
            None => self.unknown.run(call),
        }
    }

    pub(crate) fn on_change(&self, listener: impl Fn() + Send + Sync + 'static) {
        lock(&self.listeners).push(Arc::new(listener));
    }

    /// Adds a set of dynamic operations, which is empty, and returns its number. There must have been one before.
    pub fn add_part(&self) -> usize {
        let mut parts = lock(&self.parts);
        parts.push(Vec::new());
        parts.len() - 1
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
            let extensions = known.unwrap_or_else(|| self.service.extensions());
            wrapped(operation.register(false, extensions, self.depth), &*self.service)
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

/// The operation, whose endpoint is in the layers of the service.
fn wrapped(
    mut operation: RegisteredOperation,
    service: &dyn ServiceLayers,
) -> Arc<RegisteredOperation> {
    operation.endpoint = service.wrap(Some(&operation), operation.endpoint.clone());
    Arc::new(operation)
}

/// -32601, unless the call has another error.
fn unknown(mut call: Call) -> CallFuture {
    let error = call.take_refusal();
    let error = error.unwrap_or_else(|| ErrorObject::method_not_found(&call.method()));
    CallFuture::ready(Outcome::error(error))
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
