//! The place of dynamic operations in a router: their namespace, and the layers and guards around them.

use std::sync::Arc;

use trunkline_core::operation::{Operation, may_match_prefix};

/// The namespace of dynamic operations, and the layers and guards around them.
#[derive(Clone)]
pub(super) struct Placement {
    pub(super) namespace: String,
    wrappers: Vec<ScopedWrapper>,
}

/// A layer or guard, with the namespace at the time when it was added: patterns refer to the names in that
/// namespace.
#[derive(Clone)]
struct ScopedWrapper {
    namespace: String,
    wrap: WrapFn,
}

/// Wraps an operation with this name, or changes its description.
type WrapFn = Arc<dyn Fn(&mut Operation, &str) + Send + Sync>;

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
        may_match_prefix(pattern, &format!("{}.", self.namespace))
    }

    /// Whether the namespace is not known yet.
    pub(super) fn is_unknown(&self) -> bool {
        self.namespace.ends_with(UNKNOWN)
    }

    /// Adds a function that wraps each operation, which gets its name.
    pub(super) fn wrap(&mut self, wrap: impl Fn(&mut Operation, &str) + Send + Sync + 'static) {
        let (namespace, wrap) = (self.namespace.clone(), Arc::new(wrap));
        self.wrappers.push(ScopedWrapper { namespace, wrap });
    }

    /// Wraps the operations, and adds the namespace to their names.
    pub(super) fn adopt(&self, mut operations: Vec<Operation>) -> Vec<Operation> {
        for operation in &mut operations {
            for ScopedWrapper { namespace, wrap } in &self.wrappers {
                let name = format!("{namespace}.{}", operation.name());
                wrap(operation, &name);
            }
            operation.nest(&self.namespace);
        }
        operations
    }
}
