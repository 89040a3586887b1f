use std::fmt::Debug;
use std::panic::Location;

use tower::layer::layer_fn;
use tower::service_fn;
use trunkline::BoxError;
use trunkline::client::{Client, Error, Pending};
use trunkline::{Call, ErrorObject, Outcome, Router, RpcError, code, rpc};

use super::Shops;
use super::shop::{Receipt, ShopClient, ShopError};
use crate::support::in_time;

/// Makes a call over each transport and compares its result, or its error as mapped by `map_error`.
#[track_caller]
fn check<R, E, T>(
    shops: &Shops,
    call: impl Fn(&ShopClient) -> Pending<R, E>,
    map_error: impl Fn(Error<E>) -> T,
    expected: Result<R, T>,
) -> impl Future<Output = ()>
where
    R: serde::de::DeserializeOwned + PartialEq + Debug + 'static,
    E: RpcError + 'static,
    T: PartialEq + Debug,
{
    let place = Location::caller();
    async move {
        for (transport, client) in shops.clients() {
            let found = in_time("a reply", call(&client).into_future()).await.map_err(&map_error);
            assert_eq!(found, expected, "over {transport}, expected at {place}");
        }
    }
}

/// The declared error of the method.
fn own<E: Debug>(error: Error<E>) -> E {
    match error {
        Error::Application(error) => error,
        other => panic!("not a declared error: {other:?}"),
    }
}

/// The code of an error that the method does not declare.
fn foreign<E: Debug>(error: Error<E>) -> i64 {
    match error {
        Error::Rpc(error) => error.code(),
        other => panic!("not an error of the server: {other:?}"),
    }
}

fn strings(items: &[&str]) -> Vec<String> {
    items.iter().map(|item| (*item).to_owned()).collect()
}

#[tokio::test]
async fn results_and_errors_have_the_types_of_the_trait() {
    let shops = Shops::open().await;
    check(&shops, |shop| shop.price("apple".to_owned(), 2), own, Ok(6)).await;
    let error = ShopError::OutOfStock { item: "pear".to_owned() };
    check(&shops, |shop| shop.price("pear".to_owned(), 2), own, Err(error)).await;
    check(&shops, ShopClient::refuse, |e| own(e).code(), Err(7)).await;
    shops.close().await;
}

#[tokio::test]
async fn supports_result_aliases() {
    let shops = Shops::open().await;
    let receipt = Receipt { items: strings(&["apple", "nut"]), total: 6 };
    check(&shops, |shop| shop.buy(strings(&["apple", "nut"])), own, Ok(receipt)).await;
    check(&shops, |shop| shop.buy(vec![]), own, Err(ShopError::Closed)).await;
    shops.close().await;
}

#[tokio::test]
async fn omitted_params_have_the_default_of_the_server() {
    let shops = Shops::open().await;
    check(&shops, |shop| shop.price("apple".to_owned(), None), own, Ok(30)).await;
    check(&shops, |shop| shop.price("apple".to_owned(), Some(1)), own, Ok(3)).await;
    shops.close().await;
}

#[tokio::test]
async fn clients_use_wire_names_and_no_extractors() {
    let shops = Shops::open().await;
    let caller = |kind: Option<&str>| {
        let kind = kind.map(str::to_owned);
        move |shop: &ShopClient| shop.caller(kind.clone(), 5)
    };
    check(&shops, caller(Some("a")), foreign, Ok("true Some(\"a\") 5".to_owned())).await;
    check(&shops, caller(None), foreign, Ok("true None 5".to_owned())).await;
    check(&shops, |shop| shop.clone("ab".to_owned()), foreign, Ok("abab".to_owned())).await;
    shops.close().await;
}

#[tokio::test]
async fn clients_return_owned_text_for_borrowed_text() {
    let shops = Shops::open().await;
    check(&shops, ShopClient::currencies, foreign, Ok(strings(&["EUR"]))).await;
    shops.close().await;
}

#[tokio::test]
async fn sends_notifications() {
    let shops = Shops::open().await;
    for (transport, shop) in shops.clients() {
        let sent = in_time("to notify", shop.ring(transport.to_owned()).into_future()).await;
        assert!(sent.is_ok(), "over {transport}: {sent:?}");
        assert_eq!(shops.seen.take(), [transport]);
    }
    shops.close().await;
}

#[tokio::test]
async fn distinguishes_undeclared_errors() {
    let other = Router::new().method("shop.currencies", || 5).build().unwrap();
    let shop = ShopClient::new(other);
    assert_eq!(foreign(shop.buy(vec![]).await.unwrap_err()), code::METHOD_NOT_FOUND);
    let error = shop.currencies().await.unwrap_err();
    assert!(matches!(error, Error::Protocol(_)), "{error:?}");
}

#[tokio::test]
async fn accepts_a_configured_client() {
    let shops = Shops::open().await;
    let echo = layer_fn(|_server| {
        service_fn(|call: Call| async move {
            let params = call.params().map(String::from_utf8_lossy).unwrap_or_default();
            let message = format!("{} {params}", call.method());
            Ok::<_, BoxError>(Outcome::error(ErrorObject::new(99, message)))
        })
    });
    let shop = ShopClient::new(Client::new(shops.rpc.clone()).layer(echo));
    let message = async |call: Pending<u64, ShopError>| match call.await.unwrap_err() {
        Error::Rpc(error) => error.message().to_owned(),
        other => panic!("{other:?}"),
    };
    let by_name = r#"shop.price {"item":"a","count":1}"#;
    assert_eq!(message(shop.price("a".to_owned(), 1)).await, by_name);
    assert_eq!(message(shop.price("a".to_owned(), None)).await, r#"shop.price {"item":"a"}"#);
    assert!(format!("{shop:?}").starts_with("ShopClient { client: Client {"), "{shop:?}");
    let cloned = Clone::clone(&shop);
    assert_eq!(cloned.client().settings().timeout, shop.client().settings().timeout);
    shops.close().await;
}

/// A generic trait, which cannot have a client.
#[rpc(namespace = "plain", server)]
trait ServerOnly<T: serde::Serialize + Send> {
    fn plain(&self) -> Vec<T>;
}

struct Numbers;

impl ServerOnly<u8> for Numbers {
    fn plain(&self) -> Vec<u8> {
        vec![1]
    }
}

/// The name of a client, which is free since the macro generates none.
struct ServerOnlyClient;

#[tokio::test]
async fn a_trait_may_have_no_client() {
    let ServerOnlyClient = ServerOnlyClient;
    let rpc = ServerOnly::into_router(Numbers).build().unwrap();
    let found: Vec<u8> = rpc.call("plain.plain", &()).await.unwrap();
    assert_eq!(found, [1]);
}
