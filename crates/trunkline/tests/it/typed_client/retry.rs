use std::panic::Location;

use trunkline::client::Pending;
use trunkline::{ErrorObject, code};

use super::Shops;
use super::shop::ShopClient;
use crate::support::in_time;

/// Calls a method that is busy the first time. Compares the result and the number of runs.
#[track_caller]
fn check(
    call: impl Fn(&ShopClient) -> Pending<usize, ErrorObject>,
    expected: Result<usize, i64>,
    runs: usize,
) -> impl Future<Output = ()> {
    let place = Location::caller();
    async move {
        let shops = Shops::open().await;
        for (transport, client) in shops.clients() {
            let found = in_time("a reply", call(&client).into_future()).await;
            let found = found.map_err(|error| match error {
                trunkline::client::Error::Application(error) => error.code(),
                other => panic!("{other:?}"),
            });
            assert_eq!(found, expected, "over {transport}, expected at {place}");
            assert_eq!(shops.seen.take().len(), runs, "over {transport}, expected at {place}");
        }
        shops.close().await;
    }
}

#[tokio::test]
async fn retries_idempotent_methods() {
    check(ShopClient::busy_once, Ok(2), 2).await;
    check(ShopClient::look_once, Ok(2), 2).await;
    check(ShopClient::pay_once, Err(code::BUSY), 1).await;
    check(|shop| shop.pay_once().idempotent(), Ok(2), 2).await;
}
