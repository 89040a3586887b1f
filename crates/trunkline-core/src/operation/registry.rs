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
use crate::call::{Call, CallFuture, Registered};
use crate::error::ErrorObject;
use crate::extensions::Extensions;
use crate::outcome::Outcome;

type Operations = Vec<Arc<Registered>>;
type Listener = Arc<dyn Fn() + Send + Sync>;

/// All operations of a built router: those that stay, and those that are there at the moment.
pub struct Registry {
    /// Those that stay, in the order of their registration.
    fixed: Operations,
    built_in: Operations,
    /// Both, [sorted].
    by_name: Operations,
    /// Whether there are parts.
    is_changing: bool,
    /// What each part has. Whoever changes one holds this, and changes come one after the other.
    changing: Mutex<Vec<Operations>>,
    moment: RwLock<Moment>,
    listeners: Mutex<Vec<Listener>>,
    /// Those of an operation that is new.
    extensions: Box<dyn Fn() -> Extensions + Send + Sync>,
}

/// What is there between two changes.
struct Moment {
    /// All operations, in the order of their registration.
    operations: Arc<[Arc<Registered>]>,
    /// Those of parts, [sorted].
    by_name: Operations,
}

impl Registry {
    /// The registry of `operations` and of those that are `built_in`, whose names are not checked and
    /// which are listed last, with `parts` parts that are empty until they are [replaced](Self::replace).
    /// Each operation gets its [extensions](Registered::extensions) from `extensions`.
    pub fn new(
        operations: Vec<Operation>,
        built_in: Vec<Operation>,
        parts: usize,
        extensions: impl Fn() -> Extensions + Send + Sync + 'static,
    ) -> Result<Self, BuildError> {
        build::check([], &operations)?;
        let registered = |operations: Vec<Operation>| -> Operations {
            let register = |operation: Operation| Arc::new(operation.register(true, extensions()));
            operations.into_iter().map(register).collect()
        };
        let (fixed, built_in) = (registered(operations), registered(built_in));
        let all: Operations = fixed.iter().chain(&built_in).cloned().collect();
        let moment = Moment { operations: all.clone().into(), by_name: Vec::new() };
        let changing = vec![Vec::new(); parts];
        Ok(Self {
            fixed,
            built_in,
            by_name: sorted(all),
            is_changing: parts > 0,
            changing: Mutex::new(changing),
            moment: RwLock::new(moment),
            listeners: Mutex::default(),
            extensions: Box::new(extensions),
        })
    }

    pub(crate) fn is_changing(&self) -> bool {
        self.is_changing
    }

    /// The current operations, in the order of their registration.
    pub fn operations(&self) -> Arc<[Arc<Registered>]> {
        Arc::clone(&read(&self.moment).operations)
    }

    /// The operation of this name. Those that stay are found without a lock.
    pub(crate) fn find(&self, name: &[u8]) -> Option<Arc<Registered>> {
        let fixed = find(&self.by_name, name);
        if fixed.is_some() || !self.is_changing {
            return fixed.cloned();
        }
        find(&read(&self.moment).by_name, name).cloned()
    }

    pub(crate) fn on_change(&self, listener: impl Fn() + Send + Sync + 'static) {
        lock(&self.listeners).push(Arc::new(listener));
    }

    /// Gives the part these operations in place of those that it has, or leaves all as it is.
    pub fn replace(&self, part: usize, operations: Vec<Operation>) -> Result<(), BuildError> {
        let before = self.exchange(part, operations)?;
        // With their handlers goes what those own, and that takes how long it takes.
        drop(before);
        let listeners = lock(&self.listeners).clone();
        listeners.iter().for_each(|listener| listener());
        Ok(())
    }

    fn exchange(
        &self,
        part: usize,
        operations: Vec<Operation>,
    ) -> Result<(Operations, Moment), BuildError> {
        let mut changing = lock(&self.changing);
        let others = changing.iter().enumerate().filter(|(index, _)| *index != part);
        let others = others.flat_map(|(_, operations)| operations);
        build::check(self.fixed.iter().chain(others).map(|other| &**other), &operations)?;

        let known = sorted(changing[part].clone());
        let registered = |operation: Operation| {
            let known = find(&known, operation.description.name.as_bytes());
            let known = known.map(|known| known.extensions().clone());
            Arc::new(operation.register(false, known.unwrap_or_else(&self.extensions)))
        };
        let registered = operations.into_iter().map(registered).collect();
        let before = mem::replace(&mut changing[part], registered);

        let passing: Operations = changing.iter().flatten().cloned().collect();
        let all = self.fixed.iter().chain(&passing).chain(&self.built_in);
        let operations = all.cloned().collect();
        let after = Moment { operations, by_name: sorted(passing) };
        let mut moment = self.moment.write().unwrap_or_else(PoisonError::into_inner);
        Ok((before, mem::replace(&mut *moment, after)))
    }
}

fn sorted(mut operations: Operations) -> Operations {
    operations.sort_by(|one, other| order(one.name().as_bytes(), other.name().as_bytes()));
    operations
}

/// The order in which operations are found. Most names differ in length, which is compared first.
fn order(one: &[u8], other: &[u8]) -> Ordering {
    one.len().cmp(&other.len()).then_with(|| one.cmp(other))
}

/// `by_name` is [sorted].
fn find<'a>(by_name: &'a [Arc<Registered>], name: &[u8]) -> Option<&'a Arc<Registered>> {
    let order = |operation: &Arc<Registered>| order(operation.name().as_bytes(), name);
    by_name.binary_search_by(order).ok().map(|index| &by_name[index])
}

/// What is under these locks is put there whole, so a panic leaves nothing half done.
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

/// Calls the operation that a call was resolved to.
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
    /// Calls `operation`, which the call was resolved to.
    pub fn run(operation: Option<&Registered>, call: Call) -> CallFuture {
        // Whatever operation it is for, it has no params that one could take.
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
