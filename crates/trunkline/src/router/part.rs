//! A place in a router for operations that come and go, and what holds for all that come.

use std::fmt;
use std::sync::Arc;

use super::changing::Changing;
use crate::layers::authorize::Rules;
use crate::operation::{LayerFn, Operation, Pattern, Place, may_match_below};

/// Operations that come and go, and where they stand.
pub(super) struct Part {
    pub(super) changing: Changing,
    pub(super) place: Place,
    pub(super) placement: Placement,
}

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

impl Part {
    pub(super) fn new(namespace: &str, changing: Changing, place: Place) -> Self {
        let placement = Placement { namespace: namespace.to_owned(), around: Vec::new() };
        Self { changing, place, placement }
    }

    /// Puts the part under another namespace.
    pub(super) fn nest(&mut self, namespace: &str) {
        self.placement.namespace = format!("{namespace}.{}", self.placement.namespace);
    }

    /// Whether an operation of a name that matches may come.
    pub(super) fn may_have(&self, pattern: &str) -> bool {
        may_match_below(pattern, &self.placement.namespace)
    }

    pub(super) fn layer(&mut self, pattern: &Pattern, layer: &LayerFn) {
        self.put_around(What::Layer(pattern.clone(), Arc::clone(layer)));
    }

    pub(super) fn authorize(&mut self, rules: &Rules) {
        self.put_around(What::Rules(rules.clone()));
    }

    fn put_around(&mut self, what: What) {
        let Placement { namespace, around } = &mut self.placement;
        around.push(Around { namespace: namespace.clone(), what });
    }
}

impl Placement {
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
        let name = format!("{}.{}", self.namespace, operation.description.name);
        match &self.what {
            What::Layer(pattern, layer) if pattern.matches(&name) => {
                operation.layers.push(Arc::clone(layer));
            }
            What::Layer(..) => {}
            What::Rules(rules) => authorize(operation, &name, rules),
        }
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Part").field("namespace", &self.placement.namespace).finish_non_exhaustive()
    }
}

/// Puts what the rules require of a method of this name right around the handler.
pub(super) fn authorize<S>(operation: &mut Operation<S>, name: &str, rules: &Rules) {
    if let Some(layer) = rules.layer_for(name) {
        operation.layers.insert(0, Arc::new(move |endpoint| endpoint.layered(&layer)));
    }
}
