//! The router, which collects operations and builds a service.

mod dynamic;
mod placement;
#[cfg(test)]
mod tests;

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use tower::{Layer, Service};
use trunkline_core::call::{Call, Description, Endpoint};
use trunkline_core::dispatch::Dispatcher;
use trunkline_core::error::BoxError;
use trunkline_core::limits::calls::Limits;
use trunkline_core::operation::{
    BuildError, DISCOVER, Handler, Json, LayerFn, Operation, Pattern, Registry, SourceLocation,
    matches,
};
use trunkline_core::outcome::Outcome;

use crate::batch_scheduler::SemaphoreScheduler;
#[cfg(feature = "audit")]
use crate::layers::audit::{AuditLayer, AuditLog};
use crate::layers::authorize::{Guard, Rules, SharedRules};
use crate::layers::{AroundUnknown, DefaultLayers, Defaults, RateLimitLayer, layer_fn};
use crate::openrpc::{DocumentCache, Info};
use crate::rpc::{FORMATS, Rpc};
use placement::Placement;

pub use dynamic::{DynamicNamespaces, DynamicOperations};

/// A collection of operations, from which an [`Rpc`] is built. Each operation is registered once and can be called
/// over every protocol.
///
/// `S` is the type of the state that handlers take with [`State`](crate::State) and that is not set yet.
pub struct Router<S = ()> {
    operations: Vec<Operation<S>>,
    common: Common,
}

/// The part of a router that does not depend on the state.
#[derive(Default)]
struct Common {
    parts: Vec<Part>,
    limits: Limits,
    /// `None` if not set.
    defaults: Option<Defaults>,
    info: Info,
    /// Those that are not added to the operations yet.
    guards: Vec<Guard>,
    /// The layers around the method of the router itself: `rpc.discover`.
    built_in: Vec<LayerFn>,
    around_unknown: AroundUnknown,
    problem: Option<BuildError>,
}

impl<S> Default for Router<S> {
    fn default() -> Self {
        Self { operations: Vec::new(), common: Common::default() }
    }
}

impl<S: Clone + Send + Sync + 'static> Router<S> {
    /// A router without operations.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a handler: a function of [extractors](crate::FromCall), async or not.
    #[track_caller]
    #[must_use]
    pub fn method<H, M>(self, name: impl Into<String>, handler: H) -> Self
    where
        H: Handler<M, S>,
        M: 'static,
    {
        self.operation(Operation::new(name, handler))
    }

    /// Registers an operation.
    #[must_use]
    pub fn operation(mut self, operation: Operation<S>) -> Self {
        self.operations.push(operation);
        self
    }

    /// Adds the operations of `other`, with their layers, rules and [default layers](Self::default_layers). The limits
    /// and info of `other` are ignored, and so are its layers around unknown methods.
    #[must_use]
    pub fn merge(mut self, mut other: Self) -> Self {
        other.apply_guards(None);
        if let Some(defaults) = other.common.defaults {
            other = other.describe(move |description| defaults.keep(description));
        }
        self.operations.extend(other.operations);
        self.common.parts.extend(other.common.parts);
        // An unknown method without a namespace is one of this router.
        let of_namespaces = |(prefix, _): &(String, Guard)| !prefix.is_empty();
        let guards = other.common.around_unknown.guards.into_iter().filter(of_namespaces);
        self.common.around_unknown.guards.extend(guards);
        if let Some(problem) = other.common.problem {
            self.problem(problem);
        }
        self
    }

    /// Adds the operations of `other` under `namespace.`.
    #[must_use]
    pub fn nest(self, namespace: &str, mut other: Self) -> Self {
        other.apply_guards(None);
        other.operations.iter_mut().for_each(|operation| operation.nest(namespace));
        for (prefix, _) in &mut other.common.around_unknown.guards {
            *prefix = format!("{namespace}.{prefix}");
        }
        other.common.parts.iter_mut().for_each(|part| part.placement.nest(namespace));
        self.merge(other)
    }

    /// Adds operations that can be replaced while the service runs, under `namespace.`.
    ///
    /// The rules of this router, and the layers that are added after this call, apply to all operations that
    /// are set later.
    #[track_caller]
    #[must_use]
    pub fn dynamic(mut self, namespace: &str, operations: &DynamicOperations) -> Self {
        let location = Location::caller();
        if operations.claim() {
            let placement = Placement::new(namespace);
            let operations = PartOperations::Namespace(operations.clone());
            self.common.parts.push(Part { operations, placement, location });
        } else {
            self.problem(BuildError::AlreadyMounted { namespace: namespace.to_owned(), location });
        }
        self
    }

    /// Adds namespaces of operations that are added while the service runs, each of which is like one of
    /// [`dynamic`](Self::dynamic). A rule or a layer must match other methods, too.
    #[track_caller]
    #[must_use]
    pub fn dynamic_namespaces(mut self, namespaces: &DynamicNamespaces) -> Self {
        let location = Location::caller();
        if namespaces.claim() {
            let operations = PartOperations::Namespaces(namespaces.clone());
            self.common.parts.push(Part {
                operations,
                placement: Placement::of_namespaces(),
                location,
            });
        } else {
            let namespace = "*".to_owned();
            self.problem(BuildError::AlreadyMounted { namespace, location });
        }
        self
    }

    /// Restricts methods to certain callers. The rules apply to all methods of the built router, including
    /// `rpc.discover`, methods that are registered later, and unknown methods, so that a refusal does not show which methods
    /// exist. The rules of a router that is merged or nested apply to its own methods, under their names in that router,
    /// and to the unknown methods in the namespace of a nested one.
    ///
    /// Rules are checked before all layers that are added to the router, so the
    /// [`Principal`](crate::access::Principal) is in the extensions of the call before: the authentication of the transport
    /// sets it ([`Authenticator`](crate::http::Authenticator)), or an HTTP middleware of the application, or the code that
    /// makes a call in this process. A rule that matches no method is an error of [`build`](Self::build), since a misspelt
    /// name would leave methods unprotected.
    #[track_caller]
    #[must_use]
    pub fn authorize(mut self, rules: Rules) -> Self {
        self.common.guards.push(Guard::Fixed(Arc::new(rules), Location::caller()));
        self
    }

    /// Like [`authorize`](Self::authorize), with rules that can be replaced while the service runs. Patterns without a
    /// method are not errors.
    #[must_use]
    pub fn authorize_shared(mut self, rules: &SharedRules) -> Self {
        self.common.guards.push(Guard::Shared(rules.clone()));
        self
    }

    /// Limits the rate of calls of each caller, to the same methods as [rules](Self::authorize), before they are checked:
    /// refused calls count, and so do those of unknown methods.
    #[must_use]
    pub fn rate_limit(mut self, limit: RateLimitLayer) -> Self {
        self.common.guards.push(Guard::Rate(limit));
        self
    }

    /// Writes the calls of every operation registered so far that may change data to an audit log, in a layer like one of
    /// [`layer`](Self::layer), and those that access rules refuse. Add it before the layers that may refuse a call, so that
    /// these refusals are not logged.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use trunkline::layers::audit::{AuditConfig, AuditLog};
    /// use trunkline::{Operation, Router};
    ///
    /// let log = AuditLog::open("audit.jsonl", AuditConfig::default())?;
    /// let delete = Operation::new("delete", || "deleted").destructive();
    /// let router: Router = Router::new().operation(delete).audit(log);
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "audit")]
    #[must_use]
    pub fn audit(self, log: AuditLog) -> Self {
        let layer = AuditLayer::new(log);
        let described = layer.clone();
        self.describe(move |description| described.describe(description)).layer(layer)
    }

    /// Adds the guards to the operations, and to `rpc.discover`.
    fn apply_guards(&mut self, mut discover: Option<&mut Operation>) {
        for guard in std::mem::take(&mut self.common.guards) {
            if let Guard::Fixed(rules, location) = &guard {
                let names = self.operations.iter().map(Operation::name);
                let names: Vec<&str> = names.chain(discover.as_ref().map(|_| DISCOVER)).collect();
                let is_unmatched = |pattern: &&str| {
                    !names.iter().any(|name| matches(pattern, name))
                        && !self.common.parts.iter().any(|part| part.placement.may_have(pattern))
                };
                if let Some(pattern) = rules.patterns().find(is_unmatched).map(str::to_owned) {
                    self.problem(BuildError::UnmatchedRule { pattern, location });
                }
            }
            for operation in &mut self.operations {
                let name = operation.name().to_owned();
                guard.add_to(&name, operation.description_mut());
            }
            for part in &mut self.common.parts {
                let guard = guard.clone();
                part.placement
                    .wrap(move |operation, name| guard.add_to(name, operation.description_mut()));
            }
            if let Some(discover) = &mut discover {
                guard.add_to(DISCOVER, discover.description_mut());
            }
            self.common.around_unknown.guards.push((String::new(), guard));
        }
    }

    /// Wraps every operation registered so far, including `rpc.discover`, and unknown methods, whose calls have no
    /// [operation](Call::operation). The layer runs once for each call, and for each member of a batch, if the
    /// [rules](Self::authorize) permit the call. The layer added last is the outermost.
    ///
    /// The layer can be any tower layer over `Service<Call, Response = Outcome>`. Errors of the layer itself
    /// become error objects, as described at [`HandleErrorLayer`](crate::layers::HandleErrorLayer). The layer
    /// makes a separate service for each operation. For a limit over all of them, use a layer with shared
    /// state, such as tower's `GlobalConcurrencyLimitLayer`.
    ///
    /// A call awaits the readiness of each layer. A layer that acts on the readiness of the inner service, such
    /// as tower's `LoadShed`, must be added together with it: `layer(Stack::new(limit, shed))`, not two
    /// `layer` calls.
    #[must_use]
    pub fn layer<L>(self, layer: L) -> Self
    where
        L: Layer<Endpoint> + Send + Sync + 'static,
        L::Service: Service<Call, Response = Outcome> + Clone + Send + Sync + 'static,
        <L::Service as Service<Call>>::Error: Into<BoxError> + Send,
        <L::Service as Service<Call>>::Future: Send,
    {
        self.layer_matching(&Pattern::new("*"), layer_fn(layer)).0
    }

    /// Like [`layer`](Self::layer), for the operations that match `pattern`: a name with any number of `*` (`math.*`).
    #[track_caller]
    #[must_use]
    pub fn route_layer<L>(self, pattern: &str, layer: L) -> Self
    where
        L: Layer<Endpoint> + Send + Sync + 'static,
        L::Service: Service<Call, Response = Outcome> + Clone + Send + Sync + 'static,
        <L::Service as Service<Call>>::Error: Into<BoxError> + Send,
        <L::Service as Service<Call>>::Future: Send,
    {
        let location = Location::caller();
        let (mut router, count) = self.layer_matching(&Pattern::new(pattern), layer_fn(layer));
        if count == 0 {
            router.problem(BuildError::UnmatchedLayer { pattern: pattern.to_owned(), location });
        }
        router
    }

    /// Changes the description of every operation registered so far, for layers that add params.
    #[must_use]
    pub fn describe(mut self, describe: impl Fn(&mut Description) + Send + Sync + 'static) -> Self {
        let describe = Arc::new(describe);
        for operation in &mut self.operations {
            describe(operation.description_mut());
        }
        for part in &mut self.common.parts {
            let describe = Arc::clone(&describe);
            part.placement.wrap(move |operation, _| describe(operation.description_mut()));
        }
        self
    }

    fn layer_matching(mut self, pattern: &Pattern, wrap: LayerFn) -> (Self, usize) {
        let mut count = 0;
        for operation in &mut self.operations {
            if pattern.matches(operation.name()) {
                operation.wrap(Arc::clone(&wrap));
                count += 1;
            }
        }
        for part in &mut self.common.parts {
            let may_match = part.placement.may_have(pattern.as_str());
            if may_match || part.placement.is_unknown() {
                let (pattern, layer) = (pattern.clone(), Arc::clone(&wrap));
                part.placement.wrap(move |operation, name| {
                    if pattern.matches(name) {
                        operation.wrap(Arc::clone(&layer));
                    }
                });
            }
            count += usize::from(may_match);
        }
        if pattern.as_str() == "*" {
            self.common.around_unknown.layers.push(Arc::clone(&wrap));
        }
        if pattern.matches(DISCOVER) {
            self.common.built_in.push(wrap);
            count += 1;
        }
        (self, count)
    }

    /// Sets the state of the handlers.
    #[must_use]
    pub fn with_state<S2>(self, state: S) -> Router<S2> {
        let bind = |operation: Operation<S>| operation.bind(state.clone());
        Router { operations: self.operations.into_iter().map(bind).collect(), common: self.common }
    }

    /// Sets the limits of calls.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.common.limits = limits;
        self
    }

    /// Enables or disables the layers that are on by default. They apply to all operations of the built router, except
    /// for those of merged routers with other ones, and to `rpc.discover` and unknown methods.
    #[must_use]
    pub fn default_layers(mut self, defaults: Defaults) -> Self {
        self.common.defaults = Some(defaults);
        self
    }

    /// Sets the title and version of the service, for `rpc.discover`.
    #[must_use]
    pub fn info(mut self, title: impl Into<String>, version: impl Into<String>) -> Self {
        self.common.info = Info { title: title.into(), version: version.into() };
        self
    }

    /// Records a problem. `build` reports the first one.
    fn problem(&mut self, problem: BuildError) {
        self.common.problem.get_or_insert(problem);
    }
}

impl Router {
    /// Builds the service.
    ///
    /// # Errors
    /// The first problem of the registrations, with its place in the source.
    pub fn build(mut self) -> Result<Rpc, BuildError> {
        let documents = Arc::new(DocumentCache::new(std::mem::take(&mut self.common.info)));
        let mut discover = discover(&documents, std::mem::take(&mut self.common.built_in));
        self.apply_guards(Some(&mut discover));
        let Common { parts, limits, defaults, around_unknown, problem, .. } = self.common;
        if let Some(problem) = problem {
            return Err(problem);
        }
        limits.check()?;
        let layers = DefaultLayers::new(&limits, defaults.unwrap_or_default(), around_unknown);
        let (unknown, depth) = (Arc::clone(&layers.unknown), limits.depth);
        let operations = self.operations;
        let registry = Registry::new(operations, vec![discover], parts.len(), layers, depth)?;
        let registry = Arc::new(registry);
        documents.attach(&registry);
        for (index, part) in parts.into_iter().enumerate() {
            match part.operations {
                PartOperations::Namespace(one) => one.attach(&registry, index, part.placement)?,
                PartOperations::Namespaces(all) => all.attach(&registry, &part.placement)?,
            }
        }
        let scheduler = Arc::new(SemaphoreScheduler::new());
        let dispatcher = Dispatcher::new(registry, limits, scheduler).with_formats(FORMATS);
        Ok(Rpc::new(dispatcher, documents, unknown))
    }

    /// The operations, for [`DynamicOperations`].
    fn into_operations(mut self) -> Result<Vec<Operation>, BuildError> {
        self.apply_guards(None);
        if let Some(problem) = self.common.problem {
            return Err(problem);
        }
        match self.common.parts.pop() {
            Some(Part { placement, location, .. }) => {
                Err(BuildError::NestedDynamic { namespace: placement.namespace, location })
            }
            None => Ok(self.operations),
        }
    }
}

impl DynamicOperations {
    /// Replaces all operations by those of `router`, atomically. Before the service is built, sets the initial
    /// operations. After the service was dropped, does nothing.
    ///
    /// Calls that are running or were already read complete with the previous operations. Counters are kept
    /// for names that remain. The layers and rules of `router` apply inside of those that the service has
    /// around these operations. Each layer makes new services, so its state for single operations is lost.
    /// The limits, default layers and info of `router` are ignored.
    ///
    /// [Listeners](crate::protocol::Dispatcher::on_change) are notified on this thread, before this returns.
    ///
    /// # Errors
    /// The first problem of the registrations, or a name of a method or tool that the service already has.
    /// The operations are unchanged then. Before the service is built, names are compared by
    /// [`build`](Router::build) instead.
    pub fn replace(&self, router: Router) -> Result<(), BuildError> {
        self.set(router.into_operations()?)
    }
}

fn discover(documents: &Arc<DocumentCache>, layers: Vec<LayerFn>) -> Operation {
    let documents = Arc::clone(documents);
    let mut discover = Operation::new(DISCOVER, move || Json(documents.openrpc().to_result()))
        .description("Describes this service as an OpenRPC document.")
        .read_only();
    layers.into_iter().for_each(|layer| discover.wrap(layer));
    discover
}

/// Operations that can be replaced, and their placement.
struct Part {
    operations: PartOperations,
    placement: Placement,
    location: SourceLocation,
}

enum PartOperations {
    Namespace(DynamicOperations),
    Namespaces(DynamicNamespaces),
}

impl<S> fmt::Debug for Router<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Router").field("operations", &self.operations).finish_non_exhaustive()
    }
}
