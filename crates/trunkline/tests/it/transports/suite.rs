//! The test suite over all transports.
#![expect(clippy::print_stdout, reason = "the output of a failed test is shown")]

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use trunkline::client::{Error, ProtocolError};
use trunkline::{ErrorObject, code};

use super::serving::{ALL, Served};
use crate::support::in_time;

/// Runs a case over each transport.
async fn over_all(case: impl AsyncFn(&Served)) {
    for kind in ALL {
        // Shown when the case fails.
        println!("over {kind:?}");
        let served = Served::start(kind).await;
        in_time(&format!("{kind:?}"), case(&served)).await;
    }
}

/// The expected result or error code of a call.
type Expected = Result<Value, i64>;

#[track_caller]
fn check(method: &str, found: Result<Value, Error>, expected: &Expected) {
    let found = match found {
        Ok(result) => Ok(result),
        Err(Error::Application(error) | Error::Rpc(error)) => Err(error.code()),
        Err(error) => panic!("{method}: {error}"),
    };
    assert_eq!(&found, expected, "{method}");
}

#[tokio::test]
async fn calls() {
    let big = "x".repeat(5 << 20);
    let unicode = "å∫ç 🦀 \u{0} \" \\ \n \u{2028}";
    let rows: [(&str, Value, Expected); 14] = [
        ("subtract", json!([42, 23]), Ok(json!(19))),
        ("subtract", json!({ "subtrahend": 23, "minuend": 42 }), Ok(json!(19))),
        ("subtract", json!([42]), Err(code::INVALID_PARAMS)),
        ("subtract", json!({ "minuend": 1, "b": 2 }), Err(code::INVALID_PARAMS)),
        ("nothing", json!([]), Err(code::METHOD_NOT_FOUND)),
        ("no\nthi\"ng\u{1f980}", json!([]), Err(code::METHOD_NOT_FOUND)),
        ("fail", json!({ "code": 7 }), Err(7)),
        ("panic", json!([]), Err(code::INTERNAL_ERROR)),
        ("echo", json!([unicode]), Ok(json!([unicode]))),
        ("echo", json!({ unicode: null }), Ok(json!({ unicode: null }))),
        ("length", json!([big]), Ok(json!(5 << 20))),
        ("repeat", json!(["ä", 2 << 20]), Ok(json!("ä".repeat(2 << 20)))),
        ("repeat", json!(["ä", 9 << 20]), Err(code::REPLY_TOO_LARGE)),
        ("pretty", json!([]), Ok(json!({ "a": [1] }))),
    ];
    over_all(async |served| {
        for (method, params, expected) in &rows {
            check(method, served.client.call(method, params).await, expected);
        }
    })
    .await;
}

#[tokio::test]
async fn errors_keep_their_data() {
    over_all(async |served| {
        let failed = served.client.call::<()>("fail", json!({ "code": 7 })).await;
        let Err(Error::Application(error)) = failed else { panic!("{failed:?}") };
        let expected = ErrorObject::new(7, "it failed").with_data(&"for a reason");
        assert_eq!(format!("{error:?}"), format!("{expected:?}"));
    })
    .await;
}

#[tokio::test]
async fn notifications() {
    over_all(async |served| {
        served.client.notify("note", [1]).await.unwrap();
        served.client.notify("note", json!({ "a": 1 })).await.unwrap();
        // An unknown method is not an error.
        served.client.notify("nothing", ()).await.unwrap();
        served.until([0, 0, 2]).await;
    })
    .await;
}

#[tokio::test]
async fn batches() {
    over_all(async |served| {
        let client = &served.client;
        let mut batch = client.batch();
        let first = batch.add(client.call::<i64>("subtract", [42, 23]));
        batch.notify(client.notify("note", [1]));
        let unknown = batch.add(client.call::<()>("nothing", ()));
        let failing = batch.add(client.call::<()>("fail", json!({ "code": 7 })));
        let last = batch.add(client.call::<Value>("echo", [1, 2]));
        let mut replies = batch.send().await.unwrap();
        assert_eq!(replies.take(last).unwrap(), json!([1, 2]));
        assert_eq!(replies.take(first).unwrap(), 19);
        assert!(matches!(replies.take(unknown), Err(Error::Application(e)) if e.code() == -32601));
        assert!(matches!(replies.take(failing), Err(Error::Application(e)) if e.code() == 7));

        let mut notes = client.batch();
        notes.notify(client.notify("note", [2]));
        notes.notify(client.notify("note", [3]));
        notes.send().await.unwrap();
        served.until([0, 0, 3]).await;
    })
    .await;
}

#[tokio::test]
async fn a_hundred_calls_at_a_time() {
    over_all(async |served| {
        let call = |number: usize| {
            let params = [json!(number), json!("x".repeat(number * 100))];
            let call = served.client.call::<Value>("echo", params.clone());
            async move { assert_eq!(call.await.unwrap(), json!(params)) }
        };
        join_all((0..100).map(call)).await;
    })
    .await;
}

/// A waiting call does not delay others.
#[tokio::test]
async fn replies_in_the_order_of_completion() {
    over_all(async |served| {
        let waiting = served.client.call::<String>("wait", ());
        let opening = async {
            served.until([1, 0, 0]).await;
            served.client.call::<()>("open", ()).await.unwrap();
        };
        let (done, ()) = tokio::join!(waiting.into_future(), opening);
        assert_eq!(done.unwrap(), "done");
    })
    .await;
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled() {
    over_all(async |served| {
        let working = served.client.call::<()>("work", ()).into_future();
        tokio::select! {
            ended = working => panic!("{ended:?}"),
            () = served.until([1, 0, 0]) => {}
        }
        served.until([1, 1, 0]).await;

        let mut batch = served.client.batch();
        let _slot = batch.add(served.client.call::<()>("work", ()));
        let _slot = batch.add(served.client.call::<()>("work", ()));
        let sending = Box::pin(batch.send());
        tokio::select! {
            ended = sending => panic!("{ended:?}"),
            () = served.until([3, 1, 0]) => {}
        }
        served.until([3, 3, 0]).await;
    })
    .await;
}

#[tokio::test]
async fn a_timeout_cancels_the_call() {
    over_all(async |served| {
        // The connection, or the process, takes its time.
        check("echo", served.client.call("echo", [1]).await, &Ok(json!([1])));
        let limit = Duration::from_millis(500);
        let ended = served.client.call::<()>("work", ()).timeout(limit).await;
        let error = ended.unwrap_err();
        assert!(error.is_timeout(), "{error}");
        served.until([1, 1, 0]).await;
        // The connection still works.
        check("echo", served.client.call("echo", [1]).await, &Ok(json!([1])));
    })
    .await;
}

#[tokio::test]
async fn a_result_of_another_type_is_an_error() {
    over_all(async |served| {
        let found = served.client.call::<Vec<String>>("subtract", [2, 1]).await;
        let is_result = matches!(found, Err(Error::Protocol(ProtocolError::Result { .. })));
        assert!(is_result, "{found:?}");
    })
    .await;
}

/// Params that are neither an object nor an array are not sent.
#[tokio::test]
async fn does_not_send_invalid_params() {
    over_all(async |served| {
        for params in [json!(7), json!("text"), json!(true)] {
            let found = served.client.call::<()>("note", params).await;
            assert!(matches!(found, Err(Error::Params(_))), "{found:?}");
        }
        assert_eq!(served.counts().await[2], 0);
    })
    .await;
}
