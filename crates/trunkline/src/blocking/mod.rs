//! Handlers that block: on the runtime's threads for blocking work, up to a limit.

#[cfg(test)]
mod tests;

use std::fmt;
use std::panic::resume_unwind;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::{JoinError, spawn_blocking};
use tokio_util::task::AbortOnDropHandle;

use crate::call::CallFuture;
use crate::error::{ErrorObject, code};
use crate::outcome::Outcome;
use crate::trace_context::TraceContext;

/// A handler that runs on a thread for blocking work; made by [`blocking`].
pub struct Blocking<F>(Arc<F>);

/// Makes a handler of a function that blocks: file access, a database without async, long
/// computations.
///
/// It runs in [`spawn_blocking`] of tokio, within [`Limits::blocking_threads`](crate::Limits::blocking_threads)
/// and [`Limits::blocking_queue`](crate::Limits::blocking_queue) of its service; its arguments are
/// extracted before that. A thread cannot be stopped: when the call is cancelled, its reply is not
/// awaited any more, and the function learns of it through a
/// [`CancellationToken`](crate::CancellationToken) argument. A runtime that is dropped waits for it
/// ([`Runtime::shutdown_timeout`](tokio::runtime::Runtime::shutdown_timeout) waits for a time).
pub fn blocking<F>(function: F) -> Blocking<F> {
    Blocking(Arc::new(function))
}

impl<F> Blocking<F> {
    pub(crate) fn function(&self) -> Arc<F> {
        Arc::clone(&self.0)
    }
}

/// The blocking calls of a service: how many run, and how many wait.
#[derive(Clone)]
pub struct Pool {
    /// A permit for each call that runs or waits.
    admitted: Arc<Semaphore>,
    /// A permit for each call that runs.
    running: Arc<Semaphore>,
}

impl Pool {
    pub(crate) fn new(threads: usize, queue: usize) -> Self {
        let permits = |count: usize| Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS)));
        Self { admitted: permits(threads.saturating_add(queue)), running: permits(threads) }
    }

    /// Runs `job` on a thread. A panic goes on in the task that awaits the outcome.
    pub(crate) fn run(&self, job: impl FnOnce() -> Outcome + Send + 'static) -> CallFuture {
        let Ok(admitted) = Arc::clone(&self.admitted).try_acquire_owned() else {
            return CallFuture::ready(Outcome::error(ErrorObject::new(
                code::BUSY,
                "Server is busy",
            )));
        };
        let running = Arc::clone(&self.running);
        let (span, trace) = (tracing::Span::current(), TraceContext::current());
        CallFuture::later(async move {
            let running = running.acquire_owned().await;
            let job = move || {
                // Released before the outcome is there, so that the caller's next call finds them.
                let _permits = (admitted, running);
                match trace {
                    Some(trace) => trace.scope(|| span.in_scope(job)),
                    None => span.in_scope(job),
                }
            };
            // A call that is cancelled before it runs is not run at all.
            match AbortOnDropHandle::new(spawn_blocking(job))
                .await
                .map_err(JoinError::try_into_panic)
            {
                Ok(outcome) => outcome,
                Err(Ok(panic)) => resume_unwind(panic),
                Err(Err(_)) => Outcome::error(ErrorObject::internal(&"the runtime has shut down")),
            }
        })
    }
}

impl<F> fmt::Debug for Blocking<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Blocking")
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("admitted", &self.admitted).finish_non_exhaustive()
    }
}
