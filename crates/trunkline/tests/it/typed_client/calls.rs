use std::fmt::Debug;
use std::panic::Location;

use tower::layer::layer_fn;
use tower::service_fn;
use trunkline::BoxError;
use trunkline::client::{Client, Error, Pending};
use trunkline::{Call, ErrorObject, Outcome, Router, RpcError, code, rpc};

use super::Street;
use super::shop::{Receipt, ShopClient, ShopError};
use crate::support::in_time;

/// Makes a call over each transport and compares what it ends in: its result, or what `told` tells of
/// its error.
#[track_caller]
fn check<R, E, T>(
    street: &Street,
    call: impl Fn(&ShopClient) -> Pending<R, E>,
    told: impl Fn(Error<E>) -> T,
    expected: Result<R, T>,
) -> impl Future<Output = ()>
where
    R: serde::de::DeserializeOwned + PartialEq + Debug + 'static,
    E: RpcError + 'static,
    T: PartialEq + Debug,
{
    let place = Location::caller();
    async move {
        for (transport, client) in street.clients() {
            let found = in_time("a reply", call(&client).into_future()).await.map_err(&told);
            assert_eq!(found, expected, "over {transport}, expected at {place}");
        }
    }
}

/// The method's own error.
fn own<E: Debug>(error: Error<E>) -> E {
    match error {
        Error::Application(error) => error,
        other => panic!("no error of the method's own: {other:?}"),
    }
}

/// The code of an error that is none of the method's.
fn foreign<E: Debug>(error: Error<E>) -> i64 {
    match error {
        Error::Rpc(error) => error.code(),
        other => panic!("no error of the server's: {other:?}"),
    }
}

fn strings(items: &[&str]) -> Vec<String> {
    items.iter().map(|item| (*item).to_owned()).collect()
}

#[tokio::test]
async fn results_and_errors_have_the_types_of_the_trait() {
    let street = Street::open().await;
    check(&street, |shop| shop.price("apple".to_owned(), 2), own, Ok(6)).await;
    let error = ShopError::OutOfStock { item: "pear".to_owned() };
    check(&street, |shop| shop.price("pear".to_owned(), 2), own, Err(error)).await;
    check(&street, ShopClient::refuse, |e| own(e).code(), Err(7)).await;
    street.close().await;
}

#[tokio::test]
async fn an_alias_keeps_its_error() {
    let street = Street::open().await;
    let receipt = Receipt { items: strings(&["apple", "nut"]), total: 6 };
    check(&street, |shop| shop.buy(strings(&["apple", "nut"])), own, Ok(receipt)).await;
    check(&street, |shop| shop.buy(vec![]), own, Err(ShopError::Closed)).await;
    street.close().await;
}

#[tokio::test]
async fn a_default_is_the_servers() {
    let street = Street::open().await;
    check(&street, |shop| shop.price("apple".to_owned(), None), own, Ok(30)).await;
    check(&street, |shop| shop.price("apple".to_owned(), Some(1)), own, Ok(3)).await;
    street.close().await;
}

#[tokio::test]
async fn names_and_extractors_stay_on_their_side() {
    let street = Street::open().await;
    let caller = |kind: Option<&str>| {
        let kind = kind.map(str::to_owned);
        move |shop: &ShopClient| shop.caller(kind.clone(), 5)
    };
    check(&street, caller(Some("a")), foreign, Ok("true Some(\"a\") 5".to_owned())).await;
    check(&street, caller(None), foreign, Ok("true None 5".to_owned())).await;
    check(&street, |shop| shop.clone("ab".to_owned()), foreign, Ok("abab".to_owned())).await;
    street.close().await;
}

#[tokio::test]
async fn borrowed_text_arrives_as_text_of_its_own() {
    let street = Street::open().await;
    check(&street, ShopClient::currencies, foreign, Ok(strings(&["EUR"]))).await;
    street.close().await;
}

#[tokio::test]
async fn a_notification_arrives_and_is_not_answered() {
    let street = Street::open().await;
    for (transport, shop) in street.clients() {
        let sent = in_time("to notify", shop.ring(transport.to_owned()).into_future()).await;
        assert!(sent.is_ok(), "over {transport}: {sent:?}");
        assert_eq!(street.seen.take(), [transport]);
    }
    street.close().await;
}

#[tokio::test]
async fn what_the_server_does_not_know_is_no_error_of_the_methods() {
    let other = Router::new().method("shop.currencies", || 5).build().unwrap();
    let shop = ShopClient::new(other);
    assert_eq!(foreign(shop.buy(vec![]).await.unwrap_err()), code::METHOD_NOT_FOUND);
    let error = shop.currencies().await.unwrap_err();
    assert!(matches!(error, Error::Protocol(_)), "{error:?}");
}

#[tokio::test]
async fn a_client_that_is_set_up_already_is_kept() {
    let street = Street::open().await;
    let tells = layer_fn(|_server| {
        service_fn(|call: Call| async move {
            let params = call.params().map(String::from_utf8_lossy).unwrap_or_default();
            let told = format!("{} {params}", call.method());
            Ok::<_, BoxError>(Outcome::error(ErrorObject::new(99, told)))
        })
    });
    let shop = ShopClient::new(Client::new(street.rpc.clone()).layer(tells));
    let told = async |call: Pending<u64, ShopError>| match call.await.unwrap_err() {
        Error::Rpc(error) => error.message().to_owned(),
        other => panic!("{other:?}"),
    };
    let by_name = r#"shop.price {"item":"a","count":1}"#;
    assert_eq!(told(shop.price("a".to_owned(), 1)).await, by_name);
    assert_eq!(told(shop.price("a".to_owned(), None)).await, r#"shop.price {"item":"a"}"#);
    assert!(format!("{shop:?}").starts_with("ShopClient(Client {"), "{shop:?}");
    let again = Clone::clone(&shop);
    assert_eq!(again.client().settings().timeout, shop.client().settings().timeout);
    street.close().await;
}

/// Has a parameter, so that it can have no client.
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

/// A client of the same name, by hand: the macro makes none.
struct ServerOnlyClient;

#[tokio::test]
async fn a_trait_may_have_no_client() {
    let ServerOnlyClient = ServerOnlyClient;
    let rpc = ServerOnly::into_router(Numbers).build().unwrap();
    let found: Vec<u8> = rpc.call("plain.plain", &()).await.unwrap();
    assert_eq!(found, [1]);
}
