use std::time::Duration;

use tower::Layer;

use super::Timeout;
use super::pulse::Pulse;

/// Gives each call a deadline.
#[derive(Debug, Clone)]
pub struct TimeoutLayer {
    limit: Option<Pulse>,
    yields: bool,
}

impl TimeoutLayer {
    /// Calls may take `after`.
    #[must_use]
    pub fn new(after: Duration) -> Self {
        Self { limit: Some(Pulse::new(after)), yields: false }
    }

    /// Calls may take `after`, if it is said, or what their operation says.
    pub(crate) fn of_calls(after: Option<Duration>) -> Self {
        Self { limit: after.map(Pulse::new), yields: true }
    }
}

impl<S> Layer<S> for TimeoutLayer {
    type Service = Timeout<S>;

    fn layer(&self, inner: S) -> Timeout<S> {
        Timeout { inner, limit: self.limit.clone(), yields: self.yields }
    }
}
