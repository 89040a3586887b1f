//! Which of the layers that every router has are on.

/// The layers around every method that are on or off as a whole. All are on by default. The other
/// two, timeout and concurrency limit, are values of [`Limits`](crate::Limits).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Defaults {
    /// A tracing span for each call.
    pub trace: bool,
    /// Counters for each method; without them, [`Rpc::metrics`](crate::Rpc::metrics) stays at zero.
    pub metrics: bool,
    /// Panics as -32603. Without it, a panic ends the connection that the call came through.
    pub catch_panic: bool,
}

impl Default for Defaults {
    fn default() -> Self {
        Self { trace: true, metrics: true, catch_panic: true }
    }
}
