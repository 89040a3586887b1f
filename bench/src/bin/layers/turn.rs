//! One measurement.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

use anyhow::Result;
use tokio::task::{unconstrained, yield_now};
use trunkline_bench::check_single;
use trunkline_bench::cost::Cost;

/// Number of calls per turn.
const CALLS: u32 = 20_000;
/// Number of warm-up calls, more than a history keeps.
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
    // Twice, since the timer of the timeout layer may have expired. Under load it is always set; without it, each
    // deadline wakes the driver.
    yield_now().await;
    yield_now().await;
    // Unconstrained, since one task makes all calls and would run out of its budget.
    Ok(unconstrained(Cost::of(CALLS, &drop_reply)).await)
}

/// Pending once, without a wake-up: [`insist`] polls again.
pub(crate) async fn wait_once() {
    let mut waited = false;
    poll_fn(|_| if std::mem::replace(&mut waited, true) { Poll::Ready(()) } else { Poll::Pending })
        .await;
}

/// Polls until the future is ready, so that scheduling by the runtime is not measured.
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
