//! Shared parts of the tests: tools that wait at a gate, servers in this process, clients that send given bytes, and
//! comparisons of replies with expected ones.

mod client;
mod expected;
mod gate;
mod messages;
mod offers;
mod pipes;
mod server;
mod tools;

use std::time::Duration;

pub(crate) use client::{Client, Reply};
pub(crate) use expected::{assert_fits, assert_lacks, rows};
pub(crate) use gate::Gate;
pub(crate) use messages::{completed, expanded, headers_of, legacy, modern, post};
pub(crate) use offers::offers;
pub(crate) use pipes::Pipes;
pub(crate) use server::{TestServer, serve, serve_mcp, serve_router, settings};
pub(crate) use tools::{FLOOD, router};

/// Longer than any wait in a passing test on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The output of a future, which must complete in time.
pub(crate) async fn in_time<F: Future>(what: &str, future: F) -> F::Output {
    match tokio::time::timeout(TIMEOUT, future).await {
        Ok(output) => output,
        Err(_) => panic!("timeout after {TIMEOUT:?}: {what}"),
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
