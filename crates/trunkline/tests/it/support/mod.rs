//! What the tests share: a client that sends bytes as they are, servers in this process, and the
//! comparison of replies with what a row expects.

mod client;
mod expected;
mod gate;
mod requests;
mod serving;

use std::time::Duration;

pub(crate) use client::{Client, Reply};
pub(crate) use expected::{assert_replies, rows};
pub(crate) use gate::{DONE, Gate, WAIT};
pub(crate) use requests::{CALL, RESULT, post, post_with};
pub(crate) use serving::{on_loopback, serve, serve_with, service};

/// Longer than anything here takes on a busy machine; a test that waits for it has failed.
const PATIENCE: Duration = Duration::from_secs(15);

/// `future`'s output, which has to come in time.
pub(crate) async fn in_time<F: Future>(what: &str, future: F) -> F::Output {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(output) => output,
        Err(_) => panic!("waited {PATIENCE:?} in vain: {what}"),
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
