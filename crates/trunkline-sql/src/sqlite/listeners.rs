//! Notification of listeners after committed changes.

use std::fmt;
use std::sync::{PoisonError, RwLock};

use crate::model::committed_change::{ChangeListener, CommittedChange};

/// The listeners of a database.
#[derive(Default)]
pub(crate) struct Listeners(RwLock<Vec<ChangeListener>>);

impl Listeners {
    pub(crate) fn add(&self, listener: ChangeListener) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(listener);
    }

    pub(crate) fn notify(&self, change: &CommittedChange) {
        for listener in &*self.0.read().unwrap_or_else(PoisonError::into_inner) {
            listener(change);
        }
    }
}

impl fmt::Debug for Listeners {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Listeners").finish_non_exhaustive()
    }
}
