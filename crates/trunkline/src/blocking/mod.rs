//! Handlers that block: on the runtime's threads for blocking work, up to a limit.

#[cfg(test)]
mod tests;

use std::fmt;
use std::panic::resume_unwind;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::{JoinError, spawn_blocking};
use tokio_util::task::AbortOnDropHandle;
use trunkline_core::call::{Call, CallFuture};
use trunkline_core::error::{ErrorObject, code};
use trunkline_core::extract::FromCall;
use trunkline_core::operation::{Handler, IntoOutcome, arguments};
use trunkline_core::outcome::Outcome;

use trunkline_core::trace_context::TraceContext;

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

/// The blocking calls of a service: how many run, and how many wait.
#[derive(Clone)]
pub(crate) struct Pool {
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

/// Marks handlers that run on threads for blocking work.
#[derive(Debug)]
pub enum Threaded {}

macro_rules! handlers {
    ($($type:ident $value:ident),*) => {
        impl<F, R, S, $($type,)*> Handler<(Threaded, R, $($type,)*), S> for Blocking<F>
        where
            F: Fn($($type),*) -> R + Send + Sync + 'static,
            R: IntoOutcome,
            $($type: FromCall<S> + Send + 'static,)*
        {
            fn call(&self, mut call: Call, state: &S) -> CallFuture {
                let ($($value,)*) = match arguments(&mut call, state) {
                    Ok(arguments) => arguments,
                    Err(error) => return CallFuture::ready(Outcome::error(error)),
                };
                let guard = call.take_guard();
                let function = Arc::clone(&self.0);
                let job = move || function($($value),*).into_outcome();
                match call.operation().and_then(|operation| operation.extensions().get::<Pool>()) {
                    Some(pool) => pool.run(job).guarded(guard),
                    None => {
                        let missing = "the service was built without a limit of blocking calls";
                        CallFuture::ready(Outcome::error(ErrorObject::internal(&missing)))
                    }
                }
            }

            fn declared(&self) -> Vec<&'static str> {
                <($($type,)*) as FromCall<S>>::declared()
            }

            fn is_variadic(&self) -> bool {
                <($($type,)*) as FromCall<S>>::VARIADIC
            }

            fn is_immediate(&self) -> bool {
                false
            }
        }
    };
}

handlers!();
handlers!(A a);
handlers!(A a, B b);
handlers!(A a, B b, C c);
handlers!(A a, B b, C c, D d);
handlers!(A a, B b, C c, D d, E e);
handlers!(A a, B b, C c, D d, E e, G g);
handlers!(A a, B b, C c, D d, E e, G g, H h);
handlers!(A a, B b, C c, D d, E e, G g, H h, I i);

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
