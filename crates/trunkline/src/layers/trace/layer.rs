use tower::Layer;

use super::Trace;

/// Opens a tracing span for each call.
#[derive(Debug, Clone, Copy)]
pub struct TraceLayer {
    on: bool,
}

impl TraceLayer {
    /// One span for each call.
    #[must_use]
    pub fn new() -> Self {
        Self::switched(true)
    }

    pub(crate) fn switched(on: bool) -> Self {
        Self { on }
    }
}

impl Default for TraceLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Layer<S> for TraceLayer {
    type Service = Trace<S>;

    fn layer(&self, inner: S) -> Trace<S> {
        Trace { inner, on: self.on }
    }
}
