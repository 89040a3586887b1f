//! What is measured, once.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

use anyhow::Result;
use tokio::task::{unconstrained, yield_now};
use trunkline_bench::check_single;
use trunkline_bench::cost::Cost;

/// How many calls a turn has.
pub(crate) const CALLS: u32 = 20_000;
/// How many calls come before those: more than a history keeps.
const WARM_UP: u32 = 2_000;

pub(crate) struct Subject {
    pub(crate) group: &'static str,
    pub(crate) what: &'static str,
    pub(crate) turn: Turn,
}

/// Measures its subject.
pub(crate) type Turn = Box<dyn Fn() -> Pin<Box<dyn Future<Output = Result<Cost>>>>>;

pub(crate) async fn measure(call: impl AsyncFn() -> Result<Vec<u8>>) -> Result<Cost> {
    check_single(&call().await?)?;
    let drop_reply = async || drop(call().await);
    Cost::of(WARM_UP, &drop_reply).await;
    // Twice: the timer of the timeout layer's own task may be over, and then it is set again, as on a
    // server that is asked all the time. Without it each deadline wakes the driver.
    yield_now().await;
    yield_now().await;
    // Unconstrained: one task makes all calls, and none of them shall pay for the others.
    Ok(unconstrained(Cost::of(CALLS, &drop_reply)).await)
}

/// Is pending once, and wakes nobody: [`insist`] asks again.
pub(crate) async fn wait_once() {
    let mut waited = false;
    poll_fn(|_| if std::mem::replace(&mut waited, true) { Poll::Ready(()) } else { Poll::Pending })
        .await;
}

/// Polls until there is an output, so that what a runtime does with a task that waits is not measured.
pub(crate) async fn insist<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|cx| {
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(cx) {
                return Poll::Ready(output);
            }
        }
    })
    .await
}
