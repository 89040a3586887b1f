//! What a transport or a layer tells the handlers about a call, by type.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;

/// A set of values, at most one of each type.
///
/// The calls of a batch share one set until a layer changes it for one of them. Cloning costs a
/// reference count.
#[derive(Clone, Default)]
pub struct Extensions(Option<Arc<Entries>>);

type Entries = Vec<(TypeId, Arc<dyn Any + Send + Sync>)>;

impl Extensions {
    /// An empty set. Allocates nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value in place of the earlier one of its type.
    pub fn insert<T: Send + Sync + 'static>(&mut self, value: T) {
        let entries = Arc::make_mut(self.0.get_or_insert_default());
        let key = TypeId::of::<T>();
        entries.retain(|(other, _)| *other != key);
        entries.push((key, Arc::new(value)));
    }

    /// The value of type `T`, if there is one.
    #[must_use]
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        let key = TypeId::of::<T>();
        let (_, value) = self.0.as_deref()?.iter().find(|(other, _)| *other == key)?;
        value.downcast_ref()
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.0.as_deref().map_or(0, Vec::len);
        write!(f, "Extensions({count})")
    }
}
