//! Blocking handlers, which run on the runtime's threads for blocking work, up to a limit.

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

/// A handler that runs on a thread for blocking work. Made by [`blocking`].
pub struct Blocking<F>(Arc<F>);

/// Makes a handler of a blocking function, such as file access, a blocking database driver or a long
/// computation.
///
/// The arguments are extracted first. The function then runs in tokio's [`spawn_blocking`], within
/// [`Limits::blocking_threads`](crate::Limits::blocking_threads) and
/// [`Limits::blocking_queue`](crate::Limits::blocking_queue) of the service.
///
/// A running function cannot be interrupted. When its call is cancelled, a
/// [`CancellationToken`](crate::CancellationToken) argument is cancelled and the result is discarded. Dropping the
/// runtime waits for the function; [`Runtime::shutdown_timeout`](tokio::runtime::Runtime::shutdown_timeout) limits
/// the wait.
pub fn blocking<F>(function: F) -> Blocking<F> {
    Blocking(Arc::new(function))
}

/// The limits of the blocking calls of a service.
#[derive(Clone)]
pub(crate) struct Pool {
    /// Permits for calls that run or wait.
    admitted: Arc<Semaphore>,
    /// Permits for calls that run.
    running: Arc<Semaphore>,
}

impl Pool {
    pub(crate) fn new(threads: usize, queue: usize) -> Self {
        let permits = |count: usize| Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS)));
        Self { admitted: permits(threads.saturating_add(queue)), running: permits(threads) }
    }

    /// Runs `job` on a thread. A panic resumes in the task that awaits the outcome.
    pub(crate) fn run(&self, job: impl FnOnce() -> Outcome + Send + 'static) -> CallFuture {
        let Ok(admitted) = Arc::clone(&self.admitted).try_acquire_owned() else {
            return CallFuture::ready(Outcome::error(ErrorObject::new(
                code::BUSY,
                "Server is busy",
            )));
        };
        let running = Arc::clone(&self.running);
        let (span, trace) = (tracing::Span::current(), TraceContext::current());
        CallFuture::from_future(async move {
            let running = running.acquire_owned().await;
            let job = move || {
                // Released before the caller gets the outcome, so that its next call finds a permit.
                let _permits = (admitted, running);
                match trace {
                    Some(trace) => trace.scope(|| span.in_scope(job)),
                    None => span.in_scope(job),
                }
            };
            // A call that is cancelled before it begins does not run.
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
        impl<F, M, R, S, $($type,)*> Handler<(Threaded, M, R, $($type,)*), S> for Blocking<F>
        where
            F: Fn($($type),*) -> R + Send + Sync + 'static,
            R: IntoOutcome<M>,
            $($type: FromCall<S> + Send + 'static,)*
        {
            fn call(&self, mut call: Call, state: &S) -> CallFuture {
                let ($($value,)*) = match arguments(&mut call, state) {
                    Ok(arguments) => arguments,
                    Err(error) => return CallFuture::ready(Outcome::error(error)),
                };
                let guard = call.take_cancel_guard();
                let function = Arc::clone(&self.0);
                let job = move || function($($value),*).into_outcome();
                match call.operation().and_then(|operation| operation.extensions().get::<Pool>()) {
                    Some(pool) => pool.run(job).guarded(guard),
                    None => {
                        let missing = "the service was built without limits of blocking calls";
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
