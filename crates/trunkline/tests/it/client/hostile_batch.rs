//! Invalid replies to a batch.

use std::time::Duration;

use trunkline::client::Error;

use super::peer::{Answer, Peer};
use crate::support::in_time;

/// The outcome of the batch as a whole, or of both calls: the result, or the beginning of the `Debug` output of the
/// error, and its text.
type Expected<'e> = Result<[Ended<'e>; 2], (&'e str, &'e str)>;
type Ended<'e> = Result<i64, (&'e str, &'e str)>;

/// Sends calls with the ids 1 and 2, and a notification between them.
async fn check(name: &str, answer: Answer, expected: Expected<'_>) {
    let peer = Peer::always(answer).await;
    let client = peer.client(Duration::from_secs(5), 1 << 20);
    let mut batch = client.batch();
    let first = batch.add(client.call::<i64>("a", ()));
    batch.notify(client.notify("n", ()));
    let second = batch.add(client.call::<i64>("b", ()));
    let replies = in_time(name, batch.send()).await;
    let describe = |error: Error| (format!("{error:?}"), error.to_string());
    let same = |(debug, text): &(String, String), expected: (&str, &str)| {
        assert!(debug.starts_with(expected.0), "{name}: {debug}");
        assert_eq!(text, expected.1, "{name}");
    };
    match (replies, expected) {
        (Ok(mut replies), Ok(expected)) => {
            let found =
                [replies.take(first), replies.take(second)].map(|ended| ended.map_err(describe));
            for (found, expected) in found.iter().zip(expected) {
                match (found, expected) {
                    (Ok(found), Ok(expected)) => assert_eq!(*found, expected, "{name}"),
                    (Err(found), Err(expected)) => same(found, expected),
                    (found, expected) => panic!("{name}: {found:?}, not {expected:?}"),
                }
            }
        }
        (Err(error), Err(expected)) => same(&describe(error), expected),
        (found, expected) => panic!("{name}: {found:?}, not {expected:?}"),
    }
    assert_eq!(peer.requests().len(), 1, "{name}");
}

#[tokio::test]
async fn replies_to_a_batch() {
    let result =
        |id: &str, value: i64| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{value}}}"#);
    let error =
        |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":7,"message":"no"}}}}"#);
    let (one, two) = (result("1", 10), result("2", 20));
    let no = Err(("Application(", "no (7)"));
    let missing_one = Err(("Protocol(Missing", "no reply to the call with id 1"));
    let missing_two = Err(("Protocol(Missing", "no reply to the call with id 2"));
    let duplicate = Err(("Protocol(Duplicate", "duplicate reply to the call with id 1"));
    let reason = "not an array, in reply to a batch";
    let single = format!("invalid JSON-RPC 2.0 response: {reason}: {one:?}");
    let rows: &[(&str, String, Expected<'_>)] = &[
        ("in order", format!("[{one},{two}]"), Ok([Ok(10), Ok(20)])),
        ("in another order", format!("[{two},{one}]"), Ok([Ok(10), Ok(20)])),
        (
            "ids that are equal as numbers",
            format!("[{},{}]", result("2.0", 20), result("1e0", 10)),
            Ok([Ok(10), Ok(20)]),
        ),
        ("one of them fails", format!("[{},{two}]", error("1")), Ok([no, Ok(20)])),
        ("one is missing", format!("[{one}]"), Ok([Ok(10), missing_two])),
        ("all are missing", "[]".to_owned(), Ok([missing_one, missing_two])),
        ("one was not read", format!("[{two},{}]", error("null")), Ok([no, Ok(20)])),
        ("duplicate", format!("[{one},{two},{one}]"), duplicate),
        ("duplicate with a fraction", format!("[{one},{two},{}]", result("1.0", 1)), duplicate),
        (
            "another id",
            format!("[{one},{}]", result("3", 1)),
            Err(("Protocol(WrongId", "reply does not belong to this call: its id is 3, not 1, 2")),
        ),
        (
            "another id of another type",
            format!("[{one},{}]", result("\"02\"", 1)),
            Err((
                "Protocol(WrongId",
                "reply does not belong to this call: its id is \"02\", not 1, 2",
            )),
        ),
        ("an id of another type", format!("[{one},{}]", result("\"2\"", 7)), Ok([Ok(10), Ok(7)])),
        ("a result for one", one.clone(), Err(("Protocol(Malformed", &single))),
        ("an error for all", error("null"), Ok([no, no])),
        (
            "a result of another type",
            format!("[{one},{}]", two.replace("20", "\"\"")),
            Ok([
                Ok(10),
                Err((
                    "Protocol(Result",
                    "unexpected result: invalid type: string \"\", expected i64 at line 1 column 2",
                )),
            ]),
        ),
        (
            "a batch in a batch",
            "[[]]".to_owned(),
            Err((
                "Protocol(Malformed",
                "invalid JSON-RPC 2.0 response: response is not an object: \"[[]]\"",
            )),
        ),
    ];
    for (name, body, expected) in rows {
        check(name, Answer::json(body), *expected).await;
    }
    let empty = Err(("Protocol(Empty", "HTTP 204 No Content, with no reply to the call"));
    check("204", Answer::http("204 No Content", ""), empty).await;
    let refused =
        Err(("Protocol(Refused", "HTTP 413 Payload Too Large, without a JSON-RPC reply: \"x\""));
    check("413", Answer::http("413 Payload Too Large", "x"), refused).await;
    check(
        "413 with an error",
        Answer::refusal("413 Payload Too Large", &error("null")),
        Ok([no, no]),
    )
    .await;
}

/// Replies to a batch that contains notifications only.
#[tokio::test]
async fn replies_to_notifications() {
    for (name, answer, expected) in [
        ("204", Answer::http("204 No Content", ""), None),
        ("an array", Answer::json("[]"), Some("Protocol(Malformed")),
        (
            "a result",
            Answer::json(r#"{"jsonrpc":"2.0","id":1,"result":1}"#),
            Some("Protocol(Unexpected"),
        ),
    ] {
        let peer = Peer::always(answer).await;
        let client = peer.client(Duration::from_secs(5), 1 << 20);
        let mut batch = client.batch();
        batch.notify(client.notify("n", ()));
        let ended = in_time(name, batch.send()).await;
        let found = ended.err().map(|error| format!("{error:?}"));
        assert_eq!(found.is_some(), expected.is_some(), "{name}: {found:?}");
        let starts = |found: &String| expected.is_some_and(|expected| found.starts_with(expected));
        assert!(found.as_ref().is_none_or(starts), "{name}: {found:?}");
    }
}
