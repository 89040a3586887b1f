//! Batches: ids, messages, and the result of each member.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use trunkline::BoxError;
use trunkline::client::{
    Client, ClientConfig, Error, ProtocolError, Remote, Retry, TransportError,
};
use trunkline::{Call, Outcome};

use super::scripted::{Scripted, ScriptedReply, broken, numbers};

/// A client that retries without delay.
fn client(
    answer: impl Fn(usize, &Value) -> ScriptedReply + Send + Sync + 'static,
) -> (Client, Scripted) {
    let script = Scripted::new(answer);
    let retry = Some(Retry { backoff: Duration::ZERO, ..Retry::default() });
    let settings = ClientConfig { timeout: Duration::from_secs(10), retry };
    (Client::with_config(script.clone(), settings), script)
}

/// The methods of each message.
fn methods(script: &Scripted) -> Vec<Vec<String>> {
    let method = |call: &Value| call["method"].as_str().unwrap().to_owned();
    let of_message = |message: &Value| match message {
        Value::Array(calls) => calls.iter().map(method).collect(),
        call => vec![method(call)],
    };
    script.sent().iter().map(|sent| of_message(&sent.message)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_one_message_whose_replies_come_in_any_order() {
    let (client, script) = client(|_, message| Some(Ok(numbers(message))));
    let mut batch = client.batch();
    let slots: Vec<_> =
        (0..100).map(|number| batch.add(client.call::<i64>(&format!("m{number}"), ()))).collect();
    batch.notify(client.notify("n", ()));
    assert_eq!((batch.len(), batch.is_empty()), (101, false));
    let mut replies = batch.send().await.unwrap();
    for (number, slot) in slots.into_iter().enumerate().rev() {
        assert_eq!(replies.take(slot).unwrap(), number as i64);
    }
    let [sent] = &script.sent()[..] else { panic!("{:?}", script.sent()) };
    let mut ids = sent.ids.clone();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 100, "the ids are unique, and notifications have none");
}

#[tokio::test(start_paused = true)]
async fn an_empty_batch_sends_nothing() {
    let (client, script) = client(|_, _| panic!("nothing is sent"));
    client.batch().send().await.unwrap();
    let mut batch = client.batch();
    let slot = batch.add(client.call::<i64>("m", 5));
    let ended = batch.send().await.unwrap().take(slot);
    assert!(matches!(ended, Err(Error::Params(_))), "{ended:?}");
    assert_eq!(script.sent().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn invalid_params_fail_only_their_member() {
    let (client, script) = client(|_, message| Some(Ok(numbers(message))));
    let mut batch = client.batch();
    let bad = batch.add(client.call::<i64>("m1", "text"));
    let good = batch.add(client.call::<i64>("m2", ()));
    let mut replies = batch.send().await.unwrap();
    assert_eq!(replies.take(good).unwrap(), 2);
    assert!(matches!(replies.take(bad), Err(Error::Params(_))));
    assert_eq!(methods(&script), [["m2"]]);
}

/// Compares the beginning of the `Debug` output of an error, and its text.
#[track_caller]
fn compare(error: &Error, variant: &str, text: &str) {
    assert!(format!("{error:?}").starts_with(variant), "{error:?}");
    assert_eq!(error.to_string(), text);
}

#[tokio::test(start_paused = true)]
async fn a_slot_of_another_batch_is_an_error() {
    let (client, _) = client(|_, message| Some(Ok(numbers(message))));
    let (mut one, mut other) = (client.batch(), client.batch());
    let mut unsent = client.batch();
    let slots = [&mut one, &mut unsent].map(|batch| batch.add(client.call::<i64>("m1", ())));
    let own = other.add(client.call::<i64>("m2", ()));
    let mut replies = other.send().await.unwrap();
    for slot in slots {
        let error = replies.take(slot).unwrap_err();
        compare(&error, "OtherBatch", "slot belongs to another batch");
    }
    assert_eq!(replies.take(own).unwrap(), 2, "the result remains");
}

#[tokio::test(start_paused = true)]
async fn a_call_of_another_client_is_not_sent() {
    let ((client, script), (other, other_script)) = (
        client(|_, message| Some(Ok(numbers(message)))),
        client(|_, _| panic!("unexpected request")),
    );
    let mut batch = client.batch();
    let [own, foreign, clones, layered] = [
        client.call::<i64>("m1", ()),
        other.call("m2", ()),
        client.clone().call("m3", ()),
        client.clone().layer(tower::layer::util::Identity::new()).call("m4", ()),
    ]
    .map(|call| batch.add(call));
    let mut replies = batch.send().await.unwrap();
    assert_eq!([own, clones, layered].map(|slot| replies.take(slot).unwrap()), [1, 3, 4]);
    let text = "call not sent: it was created by another client than the batch";
    compare(&replies.take(foreign).unwrap_err(), "OtherClient", text);
    assert_eq!(methods(&script), [["m1", "m3", "m4"]]);
    assert_eq!(other_script.sent().len(), 0);
}

/// A notification has no slot for an error.
#[tokio::test(start_paused = true)]
async fn a_notification_that_cannot_be_sent_fails_the_batch() {
    let ((client, script), (other, _)) = (client(|_, _| panic!()), client(|_, _| panic!()));
    let foreign = "call not sent: it was created by another client than the batch";
    let params = "cannot send the params: Invalid params (-32602): params \
                  must be an array or an object";
    for (notification, variant, text) in
        [(other.notify("n", ()), "OtherClient", foreign), (client.notify("n", 5), "Params", params)]
    {
        let mut batch = client.batch();
        let _ = batch.add(client.call::<i64>("m1", ()));
        batch.notify(notification);
        compare(&batch.send().await.unwrap_err(), variant, text);
    }
    assert_eq!(script.sent().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn calls_pass_the_layers_of_the_client_that_made_them() {
    let (client, script) = client(|_, message| Some(Ok(numbers(message))));
    let answering = client.clone().layer(tower::layer::layer_fn(|_: Remote| {
        tower::service_fn(async |_: Call| Ok::<_, BoxError>(Outcome::result(&100)))
    }));
    let mut batch = client.batch();
    let slots = [&client, &answering].map(|client| batch.add(client.call::<i64>("m1", ())));
    let mut replies = batch.send().await.unwrap();
    assert_eq!(slots.map(|slot| replies.take(slot).unwrap()), [1, 100]);
    assert_eq!(methods(&script), [["m1"]]);
}

/// Servers that parse ids as floating point numbers may send them with a fraction.
#[tokio::test]
async fn matches_reformatted_ids_in_large_batches() {
    const CALLS: usize = 20_000;
    let (client, _) = client(|_, message| {
        let mut replies = numbers(message);
        for reply in replies.as_array_mut().unwrap() {
            reply["id"] = Value::from(reply["id"].as_f64().unwrap());
        }
        Some(Ok(replies))
    });
    // Longer than the default, for a loaded machine.
    let mut batch = client.batch().timeout(Duration::from_secs(60));
    let slots: Vec<_> =
        (0..CALLS).map(|number| batch.add(client.call::<i64>(&format!("m{number}"), ()))).collect();
    let mut replies = batch.send().await.unwrap();
    for (number, slot) in slots.into_iter().enumerate() {
        assert_eq!(replies.take(slot).unwrap(), number as i64);
    }
}

#[tokio::test(start_paused = true)]
async fn idempotent_members_are_retried_in_one_message() {
    for fails in [1, 2] {
        let (client, script) = client(move |before, message| match before < fails {
            true => Some(Err(broken())),
            false => Some(Ok(numbers(message))),
        });
        let mut batch = client.batch();
        let one = batch.add(client.call::<i64>("m1", ()).idempotent());
        let two = batch.add(client.call::<i64>("m2", ()));
        let three = batch.add(client.call::<i64>("m3", ()).idempotent());
        let mut replies = batch.send().await.unwrap();
        assert_eq!((replies.take(one).unwrap(), replies.take(three).unwrap()), (1, 3));
        let ended = replies.take(two);
        let is_broken = matches!(ended, Err(Error::Transport(TransportError::Broken { .. })));
        assert!(is_broken, "it may have run: {ended:?}");
        let mut expected = vec![vec!["m1", "m2", "m3"]];
        expected.extend(vec![vec!["m1", "m3"]; fails]);
        assert_eq!(methods(&script), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn retries_members_that_are_refused_as_busy() {
    let (client, script) = client(|before, message| {
        let mut replies = numbers(message);
        if before == 0 {
            let error = serde_json::json!({ "code": -32005, "message": "busy" });
            let id = replies[0]["id"].take();
            replies[0] = serde_json::json!({ "jsonrpc": "2.0", "id": id, "error": error });
        }
        Some(Ok(replies))
    });
    let mut batch = client.batch();
    let one = batch.add(client.call::<i64>("m1", ()));
    let two = batch.add(client.call::<i64>("m2", ()).idempotent());
    let mut replies = batch.send().await.unwrap();
    assert_eq!((replies.take(one).unwrap(), replies.take(two).unwrap()), (1, 2));
    assert_eq!(methods(&script), [vec!["m1", "m2"], vec!["m2"]]);
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_fails_as_a_whole() {
    for (is_idempotent, messages) in [(false, 1), (true, 3)] {
        let (client, script) = client(|_, _| Some(Err(broken())));
        let mut batch = client.batch();
        for method in ["m1", "m2"] {
            let call = client.call::<i64>(method, ());
            let _ = batch.add(if is_idempotent { call.idempotent() } else { call });
        }
        let ended = batch.send().await;
        let is_broken = matches!(ended, Err(Error::Transport(TransportError::Broken { .. })));
        assert!(is_broken, "{ended:?}");
        assert_eq!(script.sent().len(), messages);
    }
    let (client, _) = client(|_, _| Some(Ok(Value::Null)));
    let mut batch = client.batch();
    let _ = batch.add(client.call::<i64>("m1", ()).idempotent());
    let ended = batch.send().await;
    assert!(matches!(ended, Err(Error::Protocol(ProtocolError::Malformed { .. }))), "{ended:?}");
}

#[tokio::test(start_paused = true)]
async fn the_timeout_of_a_batch_includes_all_attempts() {
    let (client, script) = client(|before, _| (before == 0).then(|| Err(broken())));
    let mut batch = client.batch().timeout(Duration::from_secs(1));
    // The timeout of the batch overrides that of the call.
    let call = client.call::<i64>("m1", ()).timeout(Duration::from_millis(1)).idempotent();
    let _ = batch.add(call);
    let started = Instant::now();
    let ended = batch.send().await.map(drop);
    let elapsed = started.elapsed();
    assert!(elapsed >= Duration::from_secs(1) && elapsed < Duration::from_millis(1_010));
    let error = ended.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    assert_eq!(error.to_string(), "the script did not answer within 1000 ms");
    assert_eq!(script.sent().len(), 2);
}
