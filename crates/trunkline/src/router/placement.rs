//! A place in a router for operations that come and go, and what holds for all that come.

use std::sync::Arc;

use trunkline_core::operation::{LayerFn, Operation, Pattern, may_match_below};

use crate::layers::authorize::Rules;
use crate::layers::layered;

/// The namespace of operations that come and go, and what is around them.
pub(super) struct Placement {
    pub(super) namespace: String,
    around: Vec<Around>,
}

/// Something that was put around a part while it had this namespace: patterns are of the names that
/// operations had then.
struct Around {
    namespace: String,
    what: What,
}

enum What {
    Layer(Pattern, LayerFn),
    Rules(Rules),
}

impl Placement {
    pub(super) fn new(namespace: &str) -> Self {
        Self { namespace: namespace.to_owned(), around: Vec::new() }
    }

    /// Puts the operations under another namespace.
    pub(super) fn nest(&mut self, namespace: &str) {
        self.namespace = format!("{namespace}.{}", self.namespace);
    }

    /// Whether an operation of a name that matches may come.
    pub(super) fn may_have(&self, pattern: &str) -> bool {
        may_match_below(pattern, &self.namespace)
    }

    pub(super) fn layer(&mut self, pattern: &Pattern, layer: &LayerFn) {
        self.put_around(What::Layer(pattern.clone(), Arc::clone(layer)));
    }

    pub(super) fn authorize(&mut self, rules: &Rules) {
        self.put_around(What::Rules(rules.clone()));
    }

    fn put_around(&mut self, what: What) {
        self.around.push(Around { namespace: self.namespace.clone(), what });
    }

    /// The operations under their names here, inside of what is around the part.
    pub(super) fn adopt(&self, mut operations: Vec<Operation>) -> Vec<Operation> {
        for operation in &mut operations {
            for around in &self.around {
                around.wrap(operation);
            }
            operation.nest(&self.namespace);
        }
        operations
    }
}

impl Around {
    fn wrap(&self, operation: &mut Operation) {
        let name = format!("{}.{}", self.namespace, operation.name());
        match &self.what {
            What::Layer(pattern, layer) if pattern.matches(&name) => {
                operation.wrap(Arc::clone(layer));
            }
            What::Layer(..) => {}
            What::Rules(rules) => authorize(operation, &name, rules),
        }
    }
}

/// Puts what the rules require of a method of this name right around the handler.
pub(super) fn authorize<S>(operation: &mut Operation<S>, name: &str, rules: &Rules) {
    if let Some(layer) = rules.layer_for(name) {
        operation.wrap_handler(Arc::new(move |endpoint| layered(endpoint, &layer)));
    }
}
