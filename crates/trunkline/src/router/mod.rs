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
use crate::layers::authorize::{Rules, SharedRules};
use crate::layers::{DefaultLayers, Defaults, layered};
use crate::openrpc::{DocumentCache, Info};
use crate::rpc::{FORMATS, Rpc};
use placement::{DescribeFn, Placement, RouterRules, authorize, require_declared_scopes};

pub use dynamic::{DynamicNamespaces, DynamicOperations};

/// A collection of operations, from which an [`Rpc`] is built. Each operation is registered once and can be called
/// over every protocol.
///
/// `S` is the type of the state that handlers take with [`State`](crate::State) and that is not set yet.
pub struct Router<S = ()> {
    operations: Vec<Operation<S>>,
    parts: Vec<Part>,
    limits: Limits,
    /// `None` if not set.
    defaults: Option<Defaults>,
    info: Info,
    rules: Vec<RouterRules>,
    /// The layers around the method of the router itself: `rpc.discover`.
    built_in: Vec<LayerFn>,
    problem: Option<BuildError>,
}

impl<S> Default for Router<S> {
    fn default() -> Self {
        let (limits, defaults, info) = Default::default();
        let (operations, parts, rules, built_in) = Default::default();
        Self { operations, parts, limits, defaults, info, rules, built_in, problem: None }
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
    /// and info of `other` are ignored.
    #[must_use]
    pub fn merge(mut self, mut other: Self) -> Self {
        other.apply_rules(&[]);
        if let Some(defaults) = other.defaults {
            other = other.describe(move |description| defaults.keep(description));
        }
        self.operations.extend(other.operations);
        self.parts.extend(other.parts);
        if let Some(problem) = other.problem {
            self.problem(problem);
        }
        self
    }

    /// Adds the operations of `other` under `namespace.`.
    #[must_use]
    pub fn nest(self, namespace: &str, mut other: Self) -> Self {
        other.apply_rules(&[]);
        other.operations.iter_mut().for_each(|operation| operation.nest(namespace));
        other.parts.iter_mut().for_each(|part| part.placement.nest(namespace));
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
            self.parts.push(Part { operations, placement, location });
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
            self.parts.push(Part { operations, placement: Placement::of_namespaces(), location });
        } else {
            let namespace = "*".to_owned();
            self.problem(BuildError::AlreadyMounted { namespace, location });
        }
        self
    }

    /// Restricts methods to certain callers. The rules apply to all methods of the built router, including
    /// `rpc.discover` and methods that are registered later. The rules of a router that is merged or nested
    /// apply to its own methods, under their names in that router.
    ///
    /// Rules are checked inside of all layers, right before the handler, so that layers can set a
    /// [`Principal`](crate::access::Principal). A rule that matches no method is an error of
    /// [`build`](Self::build), since a misspelt name would leave methods unprotected.
    #[track_caller]
    #[must_use]
    pub fn authorize(mut self, rules: Rules) -> Self {
        self.rules.push(RouterRules::Fixed(rules, Location::caller()));
        self
    }

    /// Like [`authorize`](Self::authorize), with rules that can be replaced while the service runs. Patterns without a
    /// method are not errors.
    #[must_use]
    pub fn authorize_shared(mut self, rules: &SharedRules) -> Self {
        self.rules.push(RouterRules::Shared(rules.clone()));
        self
    }

    /// Puts the layers of the rules around the operations that match.
    fn apply_rules(&mut self, more_names: &[&str]) {
        for rules in std::mem::take(&mut self.rules) {
            if let RouterRules::Fixed(rules, location) = &rules {
                let names = self.operations.iter().map(Operation::name);
                let names: Vec<&str> = names.chain(more_names.iter().copied()).collect();
                let is_unmatched = |pattern: &&str| {
                    !names.iter().any(|name| matches(pattern, name))
                        && !self.parts.iter().any(|part| part.placement.may_have(pattern))
                };
                if let Some(pattern) = rules.patterns().find(is_unmatched).map(str::to_owned) {
                    self.problem(BuildError::UnmatchedRule { pattern, location });
                }
            }
            for operation in &mut self.operations {
                let name = operation.name().to_owned();
                authorize(operation, &name, &rules);
            }
            self.parts.iter_mut().for_each(|part| part.placement.authorize(&rules));
            if let Some(layer) = more_names.iter().find_map(|name| rules.layer_for(name, None)) {
                self.built_in.insert(0, Arc::new(move |endpoint| layered(endpoint, &layer)));
            }
        }
    }

    /// Wraps every operation registered so far, including `rpc.discover`. The layer runs once for each call,
    /// and for each member of a batch. The layer added last is the outermost.
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
        self.layer_matching(&Pattern::new("*"), layer).0
    }

    /// Like [`layer`](Self::layer), for the operations that match `pattern`: a name, or a prefix and `*` (`math.*`).
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
        let (mut router, count) = self.layer_matching(&Pattern::new(pattern), layer);
        if count == 0 {
            router.problem(BuildError::UnmatchedLayer { pattern: pattern.to_owned(), location });
        }
        router
    }

    /// Changes the description of every operation registered so far, for layers that add params.
    #[must_use]
    pub fn describe(mut self, describe: impl Fn(&mut Description) + Send + Sync + 'static) -> Self {
        let describe: DescribeFn = Arc::new(describe);
        for operation in &mut self.operations {
            describe(operation.description_mut());
        }
        self.parts.iter_mut().for_each(|part| part.placement.describe(&describe));
        self
    }

    fn layer_matching<L>(mut self, pattern: &Pattern, layer: L) -> (Self, usize)
    where
        L: Layer<Endpoint> + Send + Sync + 'static,
        L::Service: Service<Call, Response = Outcome> + Clone + Send + Sync + 'static,
        <L::Service as Service<Call>>::Error: Into<BoxError> + Send,
        <L::Service as Service<Call>>::Future: Send,
    {
        let wrap: LayerFn = Arc::new(move |endpoint| layered(endpoint, &layer));
        let mut count = 0;
        for operation in &mut self.operations {
            if pattern.matches(operation.name()) {
                operation.wrap(Arc::clone(&wrap));
                count += 1;
            }
        }
        for part in &mut self.parts {
            let may_match = part.placement.may_have(pattern.as_str());
            if may_match || part.placement.is_unknown() {
                part.placement.layer(pattern, &wrap);
            }
            count += usize::from(may_match);
        }
        if pattern.matches(DISCOVER) {
            self.built_in.push(wrap);
            count += 1;
        }
        (self, count)
    }

    /// Sets the state of the handlers.
    #[must_use]
    pub fn with_state<S2>(self, state: S) -> Router<S2> {
        let bind = |operation: Operation<S>| operation.bind(state.clone());
        let operations = self.operations.into_iter().map(bind).collect();
        let Self { parts, limits, defaults, info, rules, built_in, problem, .. } = self;
        Router { operations, parts, limits, defaults, info, rules, built_in, problem }
    }

    /// Sets the limits of calls.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Enables or disables the layers that are on by default. They apply to all operations of the built router, except
    /// for those of merged routers with other ones, and to `rpc.discover` and unknown methods.
    #[must_use]
    pub fn default_layers(mut self, defaults: Defaults) -> Self {
        self.defaults = Some(defaults);
        self
    }

    /// Sets the title and version of the service, for `rpc.discover`.
    #[must_use]
    pub fn info(mut self, title: impl Into<String>, version: impl Into<String>) -> Self {
        self.info = Info { title: title.into(), version: version.into() };
        self
    }

    /// Records a problem. `build` reports the first one.
    fn problem(&mut self, problem: BuildError) {
        self.problem.get_or_insert(problem);
    }
}

impl Router {
    /// Builds the service.
    ///
    /// # Errors
    /// The first problem of the registrations, with its place in the source.
    pub fn build(mut self) -> Result<Rpc, BuildError> {
        self.apply_rules(&[DISCOVER]);
        self.operations.iter_mut().for_each(require_declared_scopes);
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        self.limits.check()?;
        let Self { operations, parts, built_in, info, .. } = self;
        let documents = Arc::new(DocumentCache::new(info));
        let discover = vec![discover(&documents, built_in)];
        let layers = DefaultLayers::new(&self.limits, self.defaults.unwrap_or_default());
        let (unknown, depth) = (Arc::clone(&layers.unknown), self.limits.depth);
        let registry = Arc::new(Registry::new(operations, discover, parts.len(), layers, depth)?);
        documents.attach(&registry);
        for (index, part) in parts.into_iter().enumerate() {
            match part.operations {
                PartOperations::Namespace(one) => one.attach(&registry, index, part.placement)?,
                PartOperations::Namespaces(all) => all.attach(&registry, &part.placement)?,
            }
        }
        let scheduler = Arc::new(SemaphoreScheduler::new());
        let dispatcher = Dispatcher::new(registry, self.limits, scheduler);
        let dispatcher = dispatcher.with_formats(FORMATS);
        Ok(Rpc::new(dispatcher, documents, unknown))
    }

    /// The operations, for [`DynamicOperations`].
    fn into_operations(mut self) -> Result<Vec<Operation>, BuildError> {
        self.apply_rules(&[]);
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        match self.parts.pop() {
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
