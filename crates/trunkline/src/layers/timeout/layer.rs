use std::time::Duration;

use tower::Layer;

use super::Timeout;
use super::pulse::Pulse;

/// Gives each call a deadline.
#[derive(Debug, Clone)]
pub struct TimeoutLayer {
    limit: Option<Duration>,
    yields: bool,
    pulse: Pulse,
}

impl TimeoutLayer {
    /// Calls may take `after`.
    #[must_use]
    pub fn new(after: Duration) -> Self {
        Self { limit: Some(after), yields: false, pulse: Pulse::default() }
    }

    /// Calls may take `after`, if it is said, or what their operation says.
    pub(crate) fn of_calls(after: Option<Duration>) -> Self {
        Self { limit: after, yields: true, pulse: Pulse::default() }
    }
}

impl<S> Layer<S> for TimeoutLayer {
    type Service = Timeout<S>;

    fn layer(&self, inner: S) -> Timeout<S> {
        Timeout { inner, limit: self.limit, yields: self.yields, pulse: self.pulse.clone() }
    }
}
