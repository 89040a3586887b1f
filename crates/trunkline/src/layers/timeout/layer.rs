use std::time::Duration;

use tower::Layer;

use super::Timeout;
use super::pulse::Pulse;

/// Gives each call a deadline.
#[derive(Debug, Clone)]
pub struct TimeoutLayer {
    limit: Option<Pulse>,
}

impl TimeoutLayer {
    /// Calls may take `after`.
    #[must_use]
    pub fn new(after: Duration) -> Self {
        Self::optional(Some(after))
    }

    pub(crate) fn optional(after: Option<Duration>) -> Self {
        Self { limit: after.map(Pulse::new) }
    }
}

impl<S> Layer<S> for TimeoutLayer {
    type Service = Timeout<S>;

    fn layer(&self, inner: S) -> Timeout<S> {
        Timeout { inner, limit: self.limit.clone() }
    }
}
