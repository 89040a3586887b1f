//! Shared test support: a client that sends raw bytes, servers in this process, and comparison of replies.

mod client;
mod expected;
mod gate;
mod methods;
mod requests;
mod serving;

use std::time::Duration;

pub(crate) use client::{Client, Reply};
pub(crate) use expected::{assert_replies, rows};
pub(crate) use gate::{DONE, Gate, WAIT};
pub(crate) use methods::{add, login};
pub(crate) use requests::{CALL, RESULT, post, post_with};
pub(crate) use serving::{on_loopback, serve, serve_with, service};

/// The timeout of each wait. It is longer than any operation takes on a busy machine, and shorter than the default
/// timeouts of streams.
const PATIENCE: Duration = Duration::from_secs(25);

/// Awaits `future`. Panics after a timeout.
pub(crate) async fn in_time<F: Future>(what: &str, future: F) -> F::Output {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(output) => output,
        Err(_) => panic!("no result after {PATIENCE:?}: {what}"),
    }
}

/// Waits until `condition` holds.
pub(crate) async fn until(what: &str, condition: impl Fn() -> bool) {
    in_time(what, async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}
