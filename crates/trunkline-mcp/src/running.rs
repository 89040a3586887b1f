//! Calls that end when their client goes, and calls that do not.

use std::future::poll_fn;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::task::{JoinError, JoinHandle};

/// A future that may have moved to a task of its own.
pub(crate) enum Running<F: Future> {
    Ended(Option<F::Output>),
    Here(F),
    There(JoinHandle<F::Output>),
}

/// A future that runs to its end, even if nobody waits for it any more: what does not end at once
/// goes on in a task of its own. The limits of calls bound it.
pub(crate) async fn undisturbed<F>(mut future: F) -> Running<F>
where
    F: Future<Output: Send> + Unpin + Send + 'static,
{
    match poll_fn(|cx| Poll::Ready(Pin::new(&mut future).poll(cx))).await {
        Poll::Ready(output) => Running::Ended(Some(output)),
        Poll::Pending => Running::There(tokio::spawn(future)),
    }
}

impl<F: Future<Output: Unpin> + Unpin> Future for Running<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        match &mut *self {
            Self::Ended(output) => output.take().map_or(Poll::Pending, Poll::Ready),
            Self::Here(future) => Pin::new(future).poll(cx),
            Self::There(task) => {
                match ready!(Pin::new(task).poll(cx)).map_err(JoinError::try_into_panic) {
                    Ok(output) => Poll::Ready(output),
                    Err(Ok(panic)) => resume_unwind(panic),
                    // The runtime ends, and this future with it.
                    Err(Err(_)) => Poll::Pending,
                }
            }
        }
    }
}
