use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Sleep, sleep};

use super::pulse::Pulse;

use crate::error::{ErrorObject, code};
use crate::outcome::Outcome;

/// The future of a call with a deadline.
pub struct TimeoutFuture<F> {
    inner: Option<F>,
    limit: Option<(Duration, Pulse)>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl<F> TimeoutFuture<F> {
    pub(super) fn new(inner: F, limit: Option<(Duration, Pulse)>) -> Self {
        Self { inner: Some(inner), limit, sleep: None }
    }
}

impl<F, E> Future for TimeoutFuture<F>
where
    F: Future<Output = Result<Outcome, E>> + Unpin,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let Some(inner) = &mut this.inner
            && let Poll::Ready(outcome) = Pin::new(inner).poll(cx)
        {
            return Poll::Ready(outcome);
        }
        let Some((after, pulse)) = &this.limit else {
            return Poll::Pending;
        };
        let after = *after;
        let sleep = this.sleep.get_or_insert_with(|| {
            pulse.want();
            Box::pin(sleep(after))
        });
        if sleep.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        // What the call still holds goes now, not when the reply has been written.
        this.inner = None;
        Poll::Ready(Ok(timed_out(after)))
    }
}

fn timed_out(after: Duration) -> Outcome {
    let error = ErrorObject::new(code::TIMEOUT, "Call timed out");
    Outcome::error(error.with_data(&serde_json::json!({ "timeout_ms": after.as_millis() as u64 })))
}

impl<F> fmt::Debug for TimeoutFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimeoutFuture").field("limit", &self.limit).finish_non_exhaustive()
    }
}
