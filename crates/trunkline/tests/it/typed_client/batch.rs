use trunkline::client::Error;

use super::Shops;
use super::shop::{Receipt, ShopError};
use crate::support::in_time;

#[tokio::test]
async fn slots_have_the_types_of_their_methods() {
    let shops = Shops::open().await;
    for (transport, shop) in shops.clients() {
        let mut batch = shop.client().batch();
        let price = batch.add(shop.price("apple".to_owned(), 2));
        let none = batch.add(shop.price("pear".to_owned(), None));
        batch.notify(shop.ring("bell".to_owned()));
        let receipt = batch.add(shop.buy(vec!["nut".to_owned()]));
        let untyped = batch.add(shop.client().call::<u64>("shop.price", ["apple"]));
        let mut replies = in_time("the batch", batch.send()).await.unwrap();

        let bought = Receipt { items: vec!["nut".to_owned()], total: 3 };
        assert_eq!(replies.take(receipt).unwrap(), bought, "over {transport}");
        assert_eq!(replies.take(price).unwrap(), 6, "over {transport}");
        assert_eq!(replies.take(untyped).unwrap(), 30, "over {transport}");
        let error = replies.take(none).unwrap_err();
        let Error::Application(ShopError::OutOfStock { item }) = error else {
            panic!("over {transport}: {error:?}");
        };
        assert_eq!(item, "pear");
        assert_eq!(shops.seen.take(), ["bell"], "over {transport}");
    }
    shops.close().await;
}
