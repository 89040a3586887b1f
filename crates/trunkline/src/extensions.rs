//! What a transport or a layer tells the handlers about a call, by type.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;

/// A set of values, at most one of each type.
///
/// The calls of a batch share one set until a layer changes it for one of them. Cloning costs a
/// reference count.
#[derive(Clone, Default)]
pub struct Extensions(Option<Arc<Set>>);

#[derive(Clone, Default)]
struct Set {
    entries: Vec<(TypeId, Arc<dyn Any + Send + Sync>)>,
    /// What came with a request of the HTTP door, as other middleware set it.
    request: http::Extensions,
}

impl Extensions {
    /// An empty set. Allocates nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A set that starts with the extensions of an HTTP request.
    pub(crate) fn of_request(request: http::Extensions) -> Self {
        Self(Some(Arc::new(Set { entries: Vec::new(), request })))
    }

    /// Adds a value in place of the earlier one of its type.
    pub fn insert<T: Send + Sync + 'static>(&mut self, value: T) {
        let set = Arc::make_mut(self.0.get_or_insert_default());
        let key = TypeId::of::<T>();
        set.entries.retain(|(other, _)| *other != key);
        set.entries.push((key, Arc::new(value)));
    }

    /// The value of type `T`, if there is one.
    #[must_use]
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        let set = self.0.as_deref()?;
        let key = TypeId::of::<T>();
        match set.entries.iter().find(|(other, _)| *other == key) {
            Some((_, value)) => value.downcast_ref(),
            None => set.request.get(),
        }
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Extensions")
    }
}
