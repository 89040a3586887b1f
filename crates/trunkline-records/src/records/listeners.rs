//! Notification of listeners after changes of records.

use std::sync::{PoisonError, RwLock};

/// A durable change of a record: it was created, updated or deleted, or a change of it was reverted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordChange {
    /// The name of the record's type.
    pub resource: String,
    /// The id of the record.
    pub id: String,
}

/// The listeners of a store.
#[derive(Default)]
pub(super) struct Listeners(RwLock<Vec<Listener>>);

type Listener = Box<dyn Fn(&RecordChange) + Send + Sync>;

impl Listeners {
    pub(super) fn add(&self, listener: impl Fn(&RecordChange) + Send + Sync + 'static) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(Box::new(listener));
    }

    pub(super) fn notify(&self, change: &RecordChange) {
        for listener in &*self.0.read().unwrap_or_else(PoisonError::into_inner) {
            listener(change);
        }
    }
}
