//! Calls that are cancelled with their client, and calls that are not.

use std::future::poll_fn;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::task::{JoinError, JoinHandle};

use crate::task_group::TaskGroup;

/// A future that may run in a separate task.
pub(crate) enum Running<F: Future> {
    Done(Option<F::Output>),
    Inline(F),
    Spawned(JoinHandle<Option<F::Output>>),
}

/// Runs a future to its end, even if the caller stops waiting: one that does not complete in the first poll moves to
/// a separate task. The limits of calls apply to it.
pub(crate) async fn run_to_completion<F>(detached: &TaskGroup, mut future: F) -> Running<F>
where
    F: Future<Output: Send> + Unpin + Send + 'static,
{
    match poll_fn(|cx| Poll::Ready(Pin::new(&mut future).poll(cx))).await {
        Poll::Ready(output) => Running::Done(Some(output)),
        Poll::Pending => Running::Spawned(detached.spawn(future)),
    }
}

impl<F: Future<Output: Unpin> + Unpin> Future for Running<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        match &mut *self {
            Self::Done(output) => output.take().map_or(Poll::Pending, Poll::Ready),
            Self::Inline(future) => Pin::new(future).poll(cx),
            Self::Spawned(task) => {
                match ready!(Pin::new(task).poll(cx)).map_err(JoinError::try_into_panic) {
                    Ok(Some(output)) => Poll::Ready(output),
                    Err(Ok(panic)) => resume_unwind(panic),
                    // The server or the runtime is shutting down, and this future ends with it.
                    Ok(None) | Err(Err(_)) => Poll::Pending,
                }
            }
        }
    }
}
