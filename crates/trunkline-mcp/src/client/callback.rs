use std::fmt;
use std::sync::Arc;

use crate::model::ProgressUpdate;

/// Receives values while a request runs. It must not block.
pub struct Callback<T>(Arc<dyn Fn(T) + Send + Sync>);

/// Receives the progress of a request.
pub type ProgressCallback = Callback<ProgressUpdate>;

impl<T> Callback<T> {
    /// A callback.
    pub fn new(callback: impl Fn(T) + Send + Sync + 'static) -> Self {
        Self(Arc::new(callback))
    }

    pub(super) fn call(&self, value: T) {
        (self.0)(value);
    }
}

impl<T> Clone for Callback<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> fmt::Debug for Callback<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Callback")
    }
}
