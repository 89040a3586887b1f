//! The place of dynamic operations in a router: their namespace, layers and rules.

use std::sync::Arc;

use trunkline_core::call::Description;
use trunkline_core::operation::{LayerFn, Operation, Pattern, SourceLocation, may_match_below};

use crate::layers::authorize::{Rules, SharedRules};
use crate::layers::{AuthorizeLayer, layered};

/// The namespace of dynamic operations, and the layers and rules around them.
#[derive(Clone)]
pub(super) struct Placement {
    pub(super) namespace: String,
    wrappers: Vec<ScopedWrapper>,
}

/// A layer or rules, with the namespace at the time when they were added: patterns refer to the names in that
/// namespace.
#[derive(Clone)]
struct ScopedWrapper {
    namespace: String,
    wrapper: Wrapper,
}

#[derive(Clone)]
enum Wrapper {
    Layer(Pattern, LayerFn),
    Rules(RouterRules),
    Description(DescribeFn),
}

/// The rules of a router.
#[derive(Clone)]
pub(super) enum RouterRules {
    /// With the place where they were added.
    Fixed(Rules, SourceLocation),
    Shared(SharedRules),
}

impl RouterRules {
    /// The layer with the conditions of an operation, or of `rpc.discover`, which has no description.
    pub(super) fn layer_for(
        &self,
        name: &str,
        description: Option<&Description>,
    ) -> Option<AuthorizeLayer> {
        match self {
            Self::Fixed(rules, _) => rules.layer_for(name, description),
            Self::Shared(rules) => Some(rules.layer_for(name, description)),
        }
    }
}

/// Changes the description of an operation.
pub(super) type DescribeFn = Arc<dyn Fn(&mut Description) + Send + Sync>;

/// The last part of a namespace that is not known yet. No name of a method contains it.
const UNKNOWN: &str = "\0";

impl Placement {
    /// The placement of namespaces that are added later.
    pub(super) fn of_namespaces() -> Self {
        Self::new(UNKNOWN)
    }

    /// The placement of one of the namespaces.
    pub(super) fn of_namespace(&self, name: &str) -> Self {
        let mut placement = self.clone();
        let known = |namespace: &mut String| *namespace = namespace.replace(UNKNOWN, name);
        known(&mut placement.namespace);
        placement.wrappers.iter_mut().for_each(|wrapper| known(&mut wrapper.namespace));
        placement
    }

    pub(super) fn new(namespace: &str) -> Self {
        Self { namespace: namespace.to_owned(), wrappers: Vec::new() }
    }

    /// Adds a prefix to the namespace.
    pub(super) fn nest(&mut self, namespace: &str) {
        self.namespace = format!("{namespace}.{}", self.namespace);
    }

    /// Whether an operation with a matching name is possible.
    pub(super) fn may_have(&self, pattern: &str) -> bool {
        may_match_below(pattern, &self.namespace)
    }

    /// Whether the namespace is not known yet.
    pub(super) fn is_unknown(&self) -> bool {
        self.namespace.ends_with(UNKNOWN)
    }

    pub(super) fn layer(&mut self, pattern: &Pattern, layer: &LayerFn) {
        self.add(Wrapper::Layer(pattern.clone(), Arc::clone(layer)));
    }

    pub(super) fn authorize(&mut self, rules: &RouterRules) {
        self.add(Wrapper::Rules(rules.clone()));
    }

    pub(super) fn describe(&mut self, describe: &DescribeFn) {
        self.add(Wrapper::Description(Arc::clone(describe)));
    }

    fn add(&mut self, wrapper: Wrapper) {
        self.wrappers.push(ScopedWrapper { namespace: self.namespace.clone(), wrapper });
    }

    /// Wraps the operations, and adds the namespace to their names.
    pub(super) fn adopt(&self, mut operations: Vec<Operation>) -> Vec<Operation> {
        for operation in &mut operations {
            for wrapper in &self.wrappers {
                wrapper.wrap(operation);
            }
            require_declared_scopes(operation);
            operation.nest(&self.namespace);
        }
        operations
    }
}

impl ScopedWrapper {
    fn wrap(&self, operation: &mut Operation) {
        let name = format!("{}.{}", self.namespace, operation.name());
        match &self.wrapper {
            Wrapper::Layer(pattern, layer) if pattern.matches(&name) => {
                operation.wrap(Arc::clone(layer));
            }
            Wrapper::Layer(..) => {}
            Wrapper::Description(describe) => describe(operation.description_mut()),
            Wrapper::Rules(rules) => authorize(operation, &name, rules),
        }
    }
}

/// Wraps the handler of an operation in the requirements for a method of this name.
pub(super) fn authorize<S>(operation: &mut Operation<S>, name: &str, rules: &RouterRules) {
    if let Some(layer) = rules.layer_for(name, Some(operation.as_description())) {
        layer.describe(operation.extensions_mut());
        operation.wrap_handler(Arc::new(move |endpoint| layered(endpoint, &layer)));
    }
}

/// Wraps the handler of an operation in the requirement of its declared scopes.
pub(super) fn require_declared_scopes(operation: &mut Operation) {
    if let Some(layer) = AuthorizeLayer::declared(operation.as_description()) {
        layer.describe(operation.extensions_mut());
        operation.wrap_handler(Arc::new(move |endpoint| layered(endpoint, &layer)));
    }
}
