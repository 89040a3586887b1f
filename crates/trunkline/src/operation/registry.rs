//! The registry: operations by name, and the service that calls them.

use std::convert::Infallible;
use std::fmt;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::task::{Context, Poll};

use tower::Service;

use super::build::{self, BuildError, DISCOVER};
use super::reply::Json;
use super::{LayerFn, Operation};
use crate::blocking::Pool;
use crate::call::{Call, CallFuture, Registered};
use crate::error::ErrorObject;
use crate::openrpc::{Info, OpenRpc};
use crate::outcome::Outcome;

type Operations = Vec<Arc<Registered>>;
type Listener = Arc<dyn Fn() + Send + Sync>;

/// All operations of a built router: those that stay, and those that are there at the moment.
pub(crate) struct Registry {
    /// Those that stay, in the order of their registration.
    fixed: Operations,
    discover: Arc<Registered>,
    /// Both, in the order of their names.
    by_name: Operations,
    /// Whether there are parts.
    is_changing: bool,
    /// What each part has. Whoever changes one holds this, and changes come one after the other.
    changing: Mutex<Vec<Operations>>,
    moment: RwLock<Moment>,
    /// What `rpc.discover` answers at the moment. It has this, too.
    openrpc: Arc<RwLock<OpenRpc>>,
    listeners: Mutex<Vec<Listener>>,
    /// For operations to come.
    info: Info,
    pool: Pool,
}

/// What is there between two changes.
struct Moment {
    /// All operations, in the order of their registration.
    operations: Arc<[Arc<Registered>]>,
    /// Those of parts, in the order of their names.
    by_name: Operations,
}

impl Registry {
    /// The registry of `operations` and of `rpc.discover`, which describes them, with so many parts that
    /// are empty until they are [replaced](Self::replace).
    pub(crate) fn new(
        operations: Vec<Operation>,
        parts: usize,
        built_in: Vec<LayerFn>,
        info: Info,
        pool: Pool,
    ) -> Result<Self, BuildError> {
        build::check([], &operations)?;
        let registered =
            |operation: Operation| Arc::new(operation.register(&pool, true, Arc::default()));
        let fixed: Operations = operations.into_iter().map(registered).collect();
        let openrpc = Arc::new(RwLock::new(described(&info, &fixed)));
        let discover = Arc::new(discover(&openrpc, built_in).register(&pool, true, Arc::default()));
        let all: Operations = fixed.iter().chain([&discover]).cloned().collect();
        let moment = Moment { operations: all.clone().into(), by_name: Vec::new() };
        let changing = vec![Vec::new(); parts];
        Ok(Self {
            fixed,
            discover,
            by_name: sorted(all),
            is_changing: parts > 0,
            changing: Mutex::new(changing),
            moment: RwLock::new(moment),
            openrpc,
            listeners: Mutex::default(),
            info,
            pool,
        })
    }

    pub(crate) fn is_changing(&self) -> bool {
        self.is_changing
    }

    pub(crate) fn openrpc(&self) -> OpenRpc {
        read(&self.openrpc).clone()
    }

    pub(crate) fn operations(&self) -> Arc<[Arc<Registered>]> {
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
    pub(crate) fn replace(
        &self,
        part: usize,
        operations: Vec<Operation>,
    ) -> Result<(), BuildError> {
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
            let counters = known.map(|known| Arc::clone(known.counters())).unwrap_or_default();
            Arc::new(operation.register(&self.pool, false, counters))
        };
        let registered = operations.into_iter().map(registered).collect();
        let before = mem::replace(&mut changing[part], registered);

        let passing: Operations = changing.iter().flatten().cloned().collect();
        let all: Operations = self.fixed.iter().chain(&passing).cloned().collect();
        let openrpc = described(&self.info, &all);
        let operations = all.into_iter().chain([Arc::clone(&self.discover)]).collect();
        let after = Moment { operations, by_name: sorted(passing) };
        let mut moment = self.moment.write().unwrap_or_else(PoisonError::into_inner);
        *self.openrpc.write().unwrap_or_else(PoisonError::into_inner) = openrpc;
        Ok((before, mem::replace(&mut *moment, after)))
    }
}

fn described(info: &Info, operations: &[Arc<Registered>]) -> OpenRpc {
    OpenRpc::new(info, operations.iter().map(|operation| operation.description()))
}

fn discover(openrpc: &Arc<RwLock<OpenRpc>>, layers: Vec<LayerFn>) -> Operation {
    let openrpc = Arc::clone(openrpc);
    let mut discover = Operation::new(DISCOVER, move || Json(read(&openrpc).answer()))
        .description("Describes this service as an OpenRPC document.");
    discover.layers = layers;
    discover
}

fn sorted(mut operations: Operations) -> Operations {
    operations.sort_by(|one, other| one.name().cmp(other.name()));
    operations
}

/// `by_name` is in the order of names.
fn find<'a>(by_name: &'a [Arc<Registered>], name: &[u8]) -> Option<&'a Arc<Registered>> {
    let order = |operation: &Arc<Registered>| operation.name().as_bytes().cmp(name);
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
pub(crate) struct Dispatch;

impl Service<Call> for Dispatch {
    type Response = Outcome;
    type Error = Infallible;
    type Future = CallFuture;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> CallFuture {
        // Whatever operation it is for, it has no params that one could take.
        if let Some(refusal) = call.aside().and_then(|aside| aside.refusal()) {
            return CallFuture::ready(Outcome::error(refusal.clone()));
        }
        match call.operation().cloned() {
            Some(operation) => operation.endpoint.call(call),
            None => {
                CallFuture::ready(Outcome::error(ErrorObject::method_not_found(&call.method())))
            }
        }
    }
}
