use tower::Layer;

use super::CatchPanic;

/// Turns panics of handlers and inner layers into -32603.
#[derive(Debug, Clone, Copy)]
pub struct CatchPanicLayer {
    on: bool,
}

impl CatchPanicLayer {
    /// Catches panics.
    #[must_use]
    pub fn new() -> Self {
        Self::switched(true)
    }

    pub(crate) fn switched(on: bool) -> Self {
        Self { on }
    }
}

impl Default for CatchPanicLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Layer<S> for CatchPanicLayer {
    type Service = CatchPanic<S>;

    fn layer(&self, inner: S) -> CatchPanic<S> {
        CatchPanic { inner, on: self.on }
    }
}
