//! Handlers that block: on threads of their own, as many as a limit allows.

mod pool;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

pub use pool::Pool;

/// A handler that runs on the thread pool; made by [`blocking`].
pub struct Blocking<F>(Arc<F>);

/// Makes a handler of a function that blocks: file access, a database without async, long
/// computations.
///
/// It runs on a thread of a bounded pool (see [`Limits`](crate::Limits)); its arguments are
/// extracted before that. A thread cannot be stopped: when the call is cancelled, its reply is not
/// awaited any more, and the function learns of it through a
/// [`CancellationToken`](crate::CancellationToken) argument.
pub fn blocking<F>(function: F) -> Blocking<F> {
    Blocking(Arc::new(function))
}

impl<F> Blocking<F> {
    pub(crate) fn function(&self) -> Arc<F> {
        Arc::clone(&self.0)
    }
}

impl<F> fmt::Debug for Blocking<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Blocking")
    }
}
