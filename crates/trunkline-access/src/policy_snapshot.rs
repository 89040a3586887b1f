use std::any::Any;
use std::fmt;
use std::sync::Arc;

use trunkline_core::extensions::Extensions;

/// The rules for the callers of a request, as configured when it was authenticated: tokens and rules may be replaced
/// before its calls run. The type is that of the layers that check calls. Cloning is cheap.
#[derive(Clone)]
pub struct PolicySnapshot(Arc<dyn Any + Send + Sync>);

impl PolicySnapshot {
    /// A policy of this type.
    pub fn new<T: Send + Sync + 'static>(policy: Arc<T>) -> Self {
        Self(policy)
    }

    /// The policy, if it is of this type.
    #[must_use]
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        Arc::clone(&self.0).downcast().ok()
    }

    /// The policy of a call, for layers.
    #[must_use]
    pub fn of(extensions: &Extensions) -> Option<&Self> {
        extensions.get()
    }
}

impl fmt::Debug for PolicySnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PolicySnapshot")
    }
}
