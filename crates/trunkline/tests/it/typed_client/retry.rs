use std::panic::Location;

use trunkline::client::Pending;
use trunkline::{ErrorObject, code};

use super::Street;
use super::shop::ShopClient;
use crate::support::in_time;

/// Calls a method that is busy the first time, and compares what comes of it, and how often it ran.
#[track_caller]
fn check(
    call: impl Fn(&ShopClient) -> Pending<usize, ErrorObject>,
    expected: Result<usize, i64>,
    runs: usize,
) -> impl Future<Output = ()> {
    let place = Location::caller();
    async move {
        let street = Street::open().await;
        for (transport, client) in street.clients() {
            let found = in_time("a reply", call(&client).into_future()).await;
            let found = found.map_err(|error| match error {
                trunkline::client::Error::Application(error) => error.code(),
                other => panic!("{other:?}"),
            });
            assert_eq!(found, expected, "over {transport}, expected at {place}");
            assert_eq!(street.seen.take().len(), runs, "over {transport}, expected at {place}");
        }
        street.close().await;
    }
}

#[tokio::test]
async fn what_may_run_twice_is_called_again() {
    check(ShopClient::busy_once, Ok(2), 2).await;
    check(ShopClient::look_once, Ok(2), 2).await;
    check(ShopClient::pay_once, Err(code::BUSY), 1).await;
    check(|shop| shop.pay_once().idempotent(), Ok(2), 2).await;
}
