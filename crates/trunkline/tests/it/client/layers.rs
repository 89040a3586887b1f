//! Layers around a client: those of tower, and custom ones.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use serde_json::json;
use tokio::time::Instant;
use tower::layer::layer_fn;
use tower::limit::ConcurrencyLimitLayer;
use tower::util::{MapRequestLayer, MapResultLayer};
use tower::{Service, service_fn};
use trunkline::BoxError;
use trunkline::client::{Client, ClientConfig, Error, Remote, Retry};
use trunkline::{Call, ErrorObject, Outcome, layers};

use super::scripted::{Scripted, broken, numbers};

/// Records the methods of calls.
fn noting(
    log: &Arc<Mutex<Vec<String>>>,
    prefix: &'static str,
) -> MapRequestLayer<impl Fn(Call) -> Call + Clone + use<>> {
    let log = Arc::clone(log);
    MapRequestLayer::new(move |call: Call| {
        log.lock().unwrap().push(format!("{prefix}{}", call.method()));
        call
    })
}

#[tokio::test(start_paused = true)]
async fn layers_see_each_member_of_a_batch_and_each_call_once() {
    let script = Scripted::new(|before, message| match before {
        0 => Some(Err(broken())),
        _ => Some(Ok(numbers(message))),
    });
    let log = Arc::default();
    // The layer added last is the outermost.
    let client = Client::new(script.clone()).layer(noting(&log, "in ")).layer(noting(&log, "out "));
    let take = || std::mem::take(&mut *log.lock().unwrap());
    client.call::<i64>("m1", ()).idempotent().await.unwrap();
    assert_eq!(take(), ["out m1", "in m1"], "once for all attempts: {:?}", script.sent());
    client.notify("n1", ()).await.unwrap_err();
    assert_eq!(take(), ["out n1", "in n1"]);
    let mut batch = client.batch();
    let slots = ["m1", "m2", "m3"].map(|method| batch.add(client.call::<i64>(method, ())));
    batch.notify(client.notify("n1", ()));
    let mut replies = batch.send().await.unwrap();
    assert_eq!(slots.map(|slot| replies.take(slot).unwrap()), [1, 2, 3]);
    let expected = ["m1", "m2", "m3", "n1"].map(|m| [format!("out {m}"), format!("in {m}")]);
    assert_eq!(take(), expected.concat());
    assert_eq!(script.sent().len(), 4, "a batch is one message");
}

#[tokio::test(start_paused = true)]
async fn a_concurrency_limit_splits_a_batch() {
    for (limit, messages) in [(1, 3), (2, 2), (3, 1)] {
        let script = Scripted::numbering();
        let client = Client::new(script.clone()).layer(ConcurrencyLimitLayer::new(limit));
        let mut batch = client.batch().timeout(Duration::from_secs(1));
        let slots = ["m1", "m2", "m3"].map(|method| batch.add(client.call::<i64>(method, ())));
        let mut replies = batch.send().await.unwrap();
        assert_eq!(slots.map(|slot| replies.take(slot).unwrap()), [1, 2, 3]);
        assert_eq!(script.sent().len(), messages, "{limit} at a time");
    }
}

/// Calls that wait in a layer do not delay the message.
#[tokio::test(start_paused = true)]
async fn a_concurrency_limit_of_one_adds_no_delay() {
    let script = Scripted::numbering();
    let client = Client::new(script.clone()).layer(ConcurrencyLimitLayer::new(1));
    let mut batch = client.batch();
    let slots: Vec<_> = (0..50).map(|_| batch.add(client.call::<i64>("m1", ()))).collect();
    let started = Instant::now();
    let mut replies = batch.send().await.unwrap();
    let elapsed = started.elapsed();
    assert_eq!(elapsed, Duration::ZERO);
    for slot in slots {
        assert_eq!(replies.take(slot).unwrap(), 1);
    }
    assert_eq!(script.sent().len(), 50);
}

/// More calls than the cooperative budget of a task allows, without and with a layer in which they wait.
#[tokio::test(start_paused = true)]
async fn a_large_batch_is_one_message() {
    let script = Scripted::numbering();
    let client = Client::new(script.clone());
    let waiting = client.clone().layer(layer_fn(|remote: Remote| {
        service_fn(move |call: Call| {
            let mut remote = remote.clone();
            async move {
                tokio::time::sleep(Duration::from_millis(5)).await;
                remote.call(call).await
            }
        })
    }));
    for client in [client, waiting] {
        let before = script.sent().len();
        let mut batch = client.batch();
        let slots: Vec<_> = (0..1_000).map(|_| batch.add(client.call::<i64>("m1", ()))).collect();
        let mut replies = batch.send().await.unwrap();
        assert!(slots.into_iter().all(|slot| replies.take(slot).unwrap() == 1));
        assert_eq!(script.sent().len() - before, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn layers_of_this_crate_fit_clients() {
    let client = intercepting(Client::new(Scripted::numbering()))
        .layer(layers::ConcurrencyLimitLayer::new(1))
        .layer(layers::TimeoutLayer::new(Duration::from_secs(1)))
        .layer(MapRequestLayer::new(|call: Call| {
            assert!(call.method() != "m7", "no sevens");
            call
        }))
        .layer(layers::CatchPanicLayer::new());
    assert_eq!(client.call::<i64>("m5", ()).await.unwrap(), 5);
    let failed = client.call::<i64>("m2", ()).await.unwrap_err();
    assert!(matches!(failed, Error::Layer(_)), "what fails inside comes out: {failed:?}");
    for (method, code) in [("m3", -32004), ("m7", -32603), ("m5", 0)] {
        let ended = client.call::<i64>(method, ()).await;
        let found = ended.as_ref().err().map_or(0, |error| error.error_object().unwrap().code());
        assert_eq!(found, code, "{method}: {ended:?}");
    }
}

/// Makes each call several times concurrently, and returns the first outcome.
fn hedging(client: Client, times: usize) -> Client {
    client.layer(layer_fn(move |remote: Remote| {
        service_fn(move |call: Call| {
            let attempts = (0..times).map(|_| remote.clone().call(call.duplicate()));
            join_all(attempts).map(|mut ended| ended.remove(0))
        })
    }))
}

/// Repeats each call until it succeeds.
fn stubborn(client: Client) -> Client {
    client.layer(layer_fn(|remote: Remote| {
        service_fn(move |call: Call| {
            let mut remote = remote.clone();
            async move {
                loop {
                    if let Ok(outcome) = remote.call(call.duplicate()).await {
                        return Ok::<_, BoxError>(outcome);
                    }
                }
            }
        })
    }))
}

#[tokio::test(start_paused = true)]
async fn layers_can_repeat_calls() {
    let fails = |times| {
        Scripted::new(move |before, message| match before < times {
            true => Some(Err(broken())),
            false => Some(Ok(numbers(message))),
        })
    };
    type AddLayer = fn(Client) -> Client;
    // The numbers of messages of a single call and of a batch of two.
    let rows: [(&str, Scripted, AddLayer, usize, usize); 2] = [
        ("in sequence", fails(2), stubborn, 3, 1),
        ("concurrently", fails(0), |client| hedging(client, 3), 3, 5),
    ];
    for (name, script, layered, alone, batched) in rows {
        let client = layered(Client::new(script.clone()));
        assert_eq!(client.call::<i64>("m1", ()).await.unwrap(), 1, "{name}");
        assert_eq!(script.sent().len(), alone, "{name}");
        let mut batch = client.batch();
        let slots = ["m1", "m2"].map(|method| batch.add(client.call::<i64>(method, ())));
        let mut replies = batch.send().await.unwrap();
        assert_eq!(slots.map(|slot| replies.take(slot).unwrap()), [1, 2], "{name}");
        assert!(script.sent().len() - alone <= batched, "{name}: {:?}", script.sent());
    }
}

/// A layer that returns a result for `m1`, fails `m2`, and never ends `m3`.
fn intercepting(client: Client) -> Client {
    client.layer(layer_fn(|remote: Remote| {
        service_fn(move |call: Call| {
            let mut remote = remote.clone();
            async move {
                match &*call.method() {
                    "m1" => Ok(Outcome::result(&100)),
                    "m2" => Err(BoxError::from("no m2")),
                    "m3" => std::future::pending().await,
                    _ => remote.call(call).await,
                }
            }
        })
    }))
}

#[tokio::test(start_paused = true)]
async fn layers_can_return_outcomes_themselves() {
    let script = Scripted::numbering();
    let client = intercepting(Client::new(script.clone()));
    assert_eq!(client.call::<i64>("m1", ()).await.unwrap(), 100);
    let error = client.call::<i64>("m2", ()).await.unwrap_err();
    let Error::Layer(source) = &error else { panic!("{error:?}") };
    assert_eq!(
        (error.to_string(), source.to_string()),
        ("client layer failed".to_owned(), "no m2".to_owned())
    );
    assert!(client.call::<i64>("m3", ()).await.unwrap_err().is_timeout());
    assert_eq!(script.sent().len(), 0);

    let mut batch = client.batch();
    let slots = ["m4", "m1", "m2", "m5"].map(|method| batch.add(client.call::<i64>(method, ())));
    let mut replies = batch.send().await.unwrap();
    let [four, one, two, five] = slots.map(|slot| replies.take(slot));
    assert_eq!((four.unwrap(), one.unwrap(), five.unwrap()), (4, 100, 5));
    assert!(matches!(two, Err(Error::Layer(_))));
    assert_eq!(script.sent().len(), 1);

    // A call that never ends does not delay the others.
    let mut batch = client.batch().timeout(Duration::from_secs(1));
    let _ = ["m4", "m3"].map(|method| batch.add(client.call::<i64>(method, ())));
    assert!(batch.send().await.unwrap_err().is_timeout());
    assert_eq!(script.sent().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn layers_can_replace_errors() {
    let script = Scripted::new(|_, _| Some(Err(broken())));
    let settings = ClientConfig { retry: Some(Retry::default()), ..ClientConfig::default() };
    let client = Client::with_config(script, settings).layer(MapResultLayer::new(
        |ended: Result<Outcome, BoxError>| match ended {
            Ok(outcome) => Ok::<_, BoxError>(outcome),
            Err(failure) => {
                let error = ErrorObject::new(9, "no server").with_data(&json!(failure.to_string()));
                Ok(Outcome::error(error))
            }
        },
    ));
    let error = client.call::<i64>("m1", ()).await.unwrap_err();
    let data = "\"connection to the script closed before the reply was complete\"";
    let object = error.error_object().unwrap();
    assert_eq!((object.code(), object.data().unwrap().get()), (9, data));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_batch_releases_its_calls() {
    let value = Arc::new(());
    let held = Arc::clone(&value);
    let hold = MapRequestLayer::new(move |mut call: Call| {
        call.extensions_mut().insert(Arc::clone(&held));
        call
    });
    // `m4` waits for `m3`, which never ends.
    let script = Scripted::numbering();
    let client = intercepting(Client::new(script.clone())).layer(hold);
    let mut batch = client.batch().timeout(Duration::from_millis(5));
    let _ = ["m4", "m3"].map(|method| batch.add(client.call::<i64>(method, ())));
    let batch = batch.send();
    assert_eq!(Arc::strong_count(&value), 2);
    assert!(batch.await.unwrap_err().is_timeout());
    assert_eq!(Arc::strong_count(&value), 2, "only the layer holds it");
}
