//! The registry of operations and how it is put together.

mod dynamic;
mod placement;
#[cfg(test)]
mod tests;

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use tower::{Layer, Service};
use trunkline_core::call::{Call, Endpoint};
use trunkline_core::dispatch::Dispatcher;
use trunkline_core::error::BoxError;
use trunkline_core::extensions::Extensions;
use trunkline_core::limits::calls::Limits;
use trunkline_core::operation::{
    BuildError, DISCOVER, Handler, IntoReply, Json, LayerFn, Operation, Pattern, Place, Registry,
    matches,
};
use trunkline_core::outcome::Outcome;
use trunkline_core::params::{Arguments, Function, Param};

use crate::blocking::Pool;
use crate::layers::authorize::Rules;
use crate::layers::{DefaultStack, Defaults, layered};
use crate::metrics::Counters;
use crate::openrpc::{Described, Info};
use crate::rpc::Rpc;
use crate::turns::Turns;
use placement::{Placement, authorize};

pub use dynamic::DynamicOperations;

/// Operations on their way to an [`Rpc`]: each is registered once and can then be called through
/// every door.
///
/// `S` is the state that handlers take with [`State`](crate::State) and that is still missing.
pub struct Router<S = ()> {
    operations: Vec<Operation<S>>,
    parts: Vec<Part>,
    limits: Limits,
    defaults: Defaults,
    info: Info,
    rules: Vec<(Rules, Place)>,
    /// The layers around what the router itself answers: `rpc.discover`.
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

    /// Registers a function whose arguments are the params, by name and by position.
    ///
    /// There is one name for each argument, which the compiler checks. `Option` arguments may be
    /// absent; [`param`](crate::param) declares defaults and variadic params. Up to eight
    /// arguments; for more, take a struct with [`Params`](crate::Params).
    #[track_caller]
    #[must_use]
    pub fn function<F, A, R, M, P, const N: usize>(
        mut self,
        name: impl Into<String>,
        params: [P; N],
        function: F,
    ) -> Self
    where
        F: Function<A, R, N>,
        A: Arguments + 'static,
        R: IntoReply<M> + 'static,
        M: 'static,
        P: Into<Param>,
    {
        let name = name.into();
        let declared = params.map(Into::into);
        let misplaced = declared.iter().rev().skip(1).find(|param| param.is_variadic());
        if let Some(param) = misplaced.map(Param::name) {
            let place = Location::caller();
            self.problem(BuildError::VariadicNotLast { name: name.clone(), param, place });
        }
        self.operation(Operation::function(name, declared, function))
    }

    /// Registers an operation.
    #[must_use]
    pub fn operation(mut self, operation: Operation<S>) -> Self {
        self.operations.push(operation);
        self
    }

    /// Adds the operations of `other`, layers and rules included. The limits remain this router's.
    #[must_use]
    pub fn merge(mut self, mut other: Self) -> Self {
        other.apply_rules(&[]);
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

    /// Gives operations that come and go a place under `namespace.`.
    ///
    /// What this router has around its operations is around theirs, whenever they come: the rules, and
    /// the layers that are added from here on.
    #[track_caller]
    #[must_use]
    pub fn dynamic(mut self, namespace: &str, operations: &DynamicOperations) -> Self {
        let place = Location::caller();
        if operations.take_place() {
            let placement = Placement::new(namespace);
            self.parts.push(Part { operations: operations.clone(), placement, place });
        } else {
            self.problem(BuildError::PlaceTaken { namespace: namespace.to_owned(), place });
        }
        self
    }

    /// Says who may call which methods. The rules hold for all methods of the built router, whenever
    /// they are registered, and `rpc.discover` is one of them; for a router that is merged or nested,
    /// they hold for its own, under the names that it gives them.
    ///
    /// They are asked inside of all layers, which may have a [`Principal`](crate::access::Principal) to
    /// set, right before the handler. A rule that no method matches is an error of
    /// [`build`](Self::build): a slip would leave the methods that it is meant for to all.
    #[track_caller]
    #[must_use]
    pub fn authorize(mut self, rules: Rules) -> Self {
        self.rules.push((rules, Location::caller()));
        self
    }

    /// Puts the layers of the rules around the operations that match.
    fn apply_rules(&mut self, more_names: &[&str]) {
        for (rules, place) in std::mem::take(&mut self.rules) {
            let names = self.operations.iter().map(Operation::name);
            let names: Vec<&str> = names.chain(more_names.iter().copied()).collect();
            let mut patterns = rules.patterns();
            let is_slip = |pattern: &&str| {
                !names.iter().any(|name| matches(pattern, name))
                    && !self.parts.iter().any(|part| part.placement.may_have(pattern))
            };
            let slip = patterns.find(is_slip).map(str::to_owned);
            for operation in &mut self.operations {
                let name = operation.name().to_owned();
                authorize(operation, &name, &rules);
            }
            self.parts.iter_mut().for_each(|part| part.placement.authorize(&rules));
            if let Some(layer) = more_names.iter().find_map(|name| rules.layer_for(name)) {
                self.built_in.insert(0, Arc::new(move |endpoint| layered(endpoint, &layer)));
            }
            if let Some(pattern) = slip {
                self.problem(BuildError::NoMethod { pattern, place });
            }
        }
    }

    /// Wraps every operation registered so far: the layer sees each of their calls, the members
    /// of batches too. The last layer added is the outermost. `rpc.discover` is registered from the
    /// beginning.
    ///
    /// Any tower layer over `Service<Call, Response = Outcome>` will do. Errors of a layer itself
    /// become error objects as told at [`HandleErrorLayer`](crate::layers::HandleErrorLayer).
    /// Each operation gets a service of its own from the layer: to count over all of them, use
    /// layers that share (tower's `GlobalConcurrencyLimitLayer`).
    ///
    /// A call awaits the readiness of each layer, so a layer that acts on the readiness of the one
    /// inside (tower's `LoadShed`) has to be stacked with it: one `layer(Stack::new(limit, shed))`,
    /// not two `layer` calls.
    #[must_use]
    pub fn layer<L>(self, layer: L) -> Self
    where
        L: Layer<Endpoint> + Send + Sync + 'static,
        L::Service: Service<Call, Response = Outcome> + Clone + Send + Sync + 'static,
        <L::Service as Service<Call>>::Error: Into<BoxError>,
        <L::Service as Service<Call>>::Future: Send,
    {
        self.layer_matching(&Pattern::new("*"), layer).0
    }

    /// Like [`layer`](Self::layer), for the operations that match: a name, or a prefix and `*` (`math.*`).
    #[track_caller]
    #[must_use]
    pub fn route_layer<L>(self, pattern: &str, layer: L) -> Self
    where
        L: Layer<Endpoint> + Send + Sync + 'static,
        L::Service: Service<Call, Response = Outcome> + Clone + Send + Sync + 'static,
        <L::Service as Service<Call>>::Error: Into<BoxError>,
        <L::Service as Service<Call>>::Future: Send,
    {
        let place = Location::caller();
        let (mut router, count) = self.layer_matching(&Pattern::new(pattern), layer);
        if count == 0 {
            router.problem(BuildError::NothingMatches { pattern: pattern.to_owned(), place });
        }
        router
    }

    fn layer_matching<L>(mut self, pattern: &Pattern, layer: L) -> (Self, usize)
    where
        L: Layer<Endpoint> + Send + Sync + 'static,
        L::Service: Service<Call, Response = Outcome> + Clone + Send + Sync + 'static,
        <L::Service as Service<Call>>::Error: Into<BoxError>,
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
            if part.placement.may_have(pattern.as_str()) {
                part.placement.layer(pattern, &wrap);
                count += 1;
            }
        }
        if pattern.matches(DISCOVER) {
            self.built_in.push(wrap);
            count += 1;
        }
        (self, count)
    }

    /// Gives the handlers their state.
    #[must_use]
    pub fn with_state<S2>(self, state: S) -> Router<S2> {
        let bind = |operation: Operation<S>| operation.bind(state.clone());
        let operations = self.operations.into_iter().map(bind).collect();
        let Self { parts, limits, defaults, info, rules, built_in, problem, .. } = self;
        Router { operations, parts, limits, defaults, info, rules, built_in, problem }
    }

    /// Sets the limits of all calls.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Switches layers that are on by default.
    #[must_use]
    pub fn default_layers(mut self, defaults: Defaults) -> Self {
        self.defaults = defaults;
        self
    }

    /// Says what the service is called, for `rpc.discover`.
    #[must_use]
    pub fn info(mut self, title: impl Into<String>, version: impl Into<String>) -> Self {
        self.info = Info { title: title.into(), version: version.into() };
        self
    }

    /// The first problem is the one that `build` reports.
    fn problem(&mut self, problem: BuildError) {
        self.problem.get_or_insert(problem);
    }
}

impl Router {
    /// Builds the service.
    ///
    /// # Errors
    /// The first thing that is wrong with the registrations, with its place in your source.
    pub fn build(mut self) -> Result<Rpc, BuildError> {
        self.apply_rules(&[DISCOVER]);
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        self.limits.check()?;
        let Self { operations, parts, built_in, info, .. } = self;
        let described = Arc::new(Described::new(info));
        let discover = vec![discover(&described, built_in)];
        let pool = Pool::new(self.limits.blocking_threads, self.limits.blocking_queue);
        let extensions = move || {
            let mut extensions = Extensions::new();
            extensions.insert(pool.clone());
            // What each call looks for is found first.
            extensions.insert(Arc::<Counters>::default());
            extensions
        };
        let registry = Arc::new(Registry::new(operations, discover, parts.len(), extensions)?);
        described.attach(&registry);
        for (index, part) in parts.into_iter().enumerate() {
            part.operations.attach(&registry, index, part.placement)?;
        }
        let unknown = Arc::default();
        let stack = DefaultStack::new(&self.limits, self.defaults, &unknown);
        let turns = Arc::new(Turns::new());
        let dispatcher = Dispatcher::new(registry, self.limits, Arc::new(stack), turns);
        Ok(Rpc::new(dispatcher, described, unknown))
    }

    /// The operations, for a place where they may be replaced.
    fn into_passing(mut self) -> Result<Vec<Operation>, BuildError> {
        self.apply_rules(&[]);
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        match self.parts.pop() {
            Some(Part { placement, place, .. }) => {
                Err(BuildError::ChangingInside { namespace: placement.namespace, place })
            }
            None => Ok(self.operations),
        }
    }
}

impl DynamicOperations {
    /// Puts the operations of `router` in place of those that were there, all at once. Before the
    /// service is built, they are what it starts with; when it is gone, nothing happens.
    ///
    /// Calls that are running, or were read before, go on with the operation that they were for. Counters
    /// of names that stay go on, too. The layers and rules of `router` come along, inside of those
    /// that the service has around this place; each operation gets a service of its own from every layer, so
    /// what a layer keeps for one operation begins anew. The limits, the default layers and the
    /// information of `router` do not count.
    ///
    /// [Listeners](crate::protocol::Dispatcher::on_change) are notified on this thread, before this returns.
    ///
    /// # Errors
    /// The first thing that is wrong with the registrations, or that the service has a method or a
    /// tool of such a name already. Nothing has changed then. Before the service is built, it is
    /// [`build`](Router::build) that compares names.
    pub fn replace(&self, router: Router) -> Result<(), BuildError> {
        self.put(router.into_passing()?)
    }
}

fn discover(described: &Arc<Described>, layers: Vec<LayerFn>) -> Operation {
    let described = Arc::clone(described);
    let mut discover = Operation::new(DISCOVER, move || Json(described.openrpc().answer()))
        .description("Describes this service as an OpenRPC document.");
    layers.into_iter().for_each(|layer| discover.wrap(layer));
    discover
}

/// Operations that come and go, and where they stand.
struct Part {
    operations: DynamicOperations,
    placement: Placement,
    place: Place,
}

impl<S> fmt::Debug for Router<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Router").field("operations", &self.operations).finish_non_exhaustive()
    }
}
