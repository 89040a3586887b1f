//! What the tests share: tools that wait when told to, servers in this process, clients that send
//! bytes as they are, and the comparison of replies with what a row expects.

mod client;
mod expected;
mod gate;
mod messages;
mod pipes;
mod server;
mod tools;

use std::time::Duration;

pub(crate) use client::{Client, Reply};
pub(crate) use expected::{assert_fits, assert_lacks, rows};
pub(crate) use gate::Gate;
pub(crate) use messages::{completed, expanded, headers_of, legacy, modern, post};
pub(crate) use pipes::Pipes;
pub(crate) use server::{TestServer, serve, settings};
pub(crate) use tools::router;

/// Longer than anything here takes on a busy machine; a test that waits for it has failed.
const PATIENCE: Duration = Duration::from_secs(10);

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
