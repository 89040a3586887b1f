use std::time::Duration;

use tower::Layer;

use super::Timeout;

/// Gives each call a deadline.
#[derive(Debug, Clone, Copy)]
pub struct TimeoutLayer {
    after: Option<Duration>,
}

impl TimeoutLayer {
    /// Calls may take `after`.
    #[must_use]
    pub fn new(after: Duration) -> Self {
        Self { after: Some(after) }
    }

    pub(crate) fn optional(after: Option<Duration>) -> Self {
        Self { after }
    }
}

impl<S> Layer<S> for TimeoutLayer {
    type Service = Timeout<S>;

    fn layer(&self, inner: S) -> Timeout<S> {
        Timeout { inner, after: self.after }
    }
}
