//! Invalid replies to a call.

use std::time::{Duration, Instant};

use serde_json::Value;
use trunkline::client::{Client, Error};

use super::peer::{Answer, Peer};
use crate::support::in_time;

/// The timeout of calls that are expected to reach it.
const TIMEOUT: Duration = Duration::from_millis(300);

/// The timeout of other calls.
const PATIENCE: Duration = Duration::from_secs(20);

const MAX_REPLY: usize = 1 << 20;

const RESULT: &str = r#"{"jsonrpc":"2.0","id":1,"result":1}"#;
const ERROR: &str = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}"#;

/// The beginning of the `Debug` output of an error, and its text. `PEER` represents the URL.
type Expected<'e> = (&'e str, &'e str);

#[track_caller]
fn compare(name: &str, peer: &Peer, found: &Error, (variant, text): Expected<'_>) {
    assert!(format!("{found:?}").starts_with(variant), "{name}: {found:?}");
    assert_eq!(found.to_string().replace(&peer.url, "PEER"), text, "{name}");
}

/// Calls once, with the id 1.
async fn check(name: &str, answer: Answer, expected: Expected<'_>) {
    let peer = Peer::always(answer).await;
    let waits = expected.0.starts_with("Transport(Timeout");
    let client = peer.client(if waits { TIMEOUT } else { PATIENCE }, MAX_REPLY);
    let started = Instant::now();
    let ended = in_time(name, client.call::<i64>("m", ()).into_future()).await;
    assert!(started.elapsed() < PATIENCE, "{name}: {:?}", started.elapsed());
    compare(name, &peer, &ended.unwrap_err(), expected);
    assert_eq!(peer.requests().len(), 1, "{name}: no retry");
}

async fn check_json(name: &str, body: impl AsRef<[u8]>, expected: Expected<'_>) {
    check(name, Answer::json(body), expected).await;
}

/// Deviations from JSON-RPC 2.0 whose meaning is certain.
#[tokio::test]
async fn tolerates_some_responses() {
    let more = |member: &str| RESULT.replace('}', &format!(",{member}}}"));
    for body in [
        more(r#""error":null"#),
        RESULT.replace("\"id\":1", "\"id\":\"1\""),
        RESULT.replace("\"id\":1", "\"id\":1.0"),
        format!("\u{feff}{RESULT}"),
    ] {
        let peer = Peer::always(Answer::json(&body)).await;
        let client = peer.client(PATIENCE, MAX_REPLY);
        let ended = in_time(&body, client.call::<i64>("m", ()).into_future()).await;
        assert!(ended.is_ok(), "{body}: {ended:?}");
    }
}

#[tokio::test]
async fn rejects_invalid_responses() {
    let wrong = |name, id: &'static str| {
        let text = format!("reply does not belong to this call: its id is {id}, not 1");
        (name, RESULT.replace("\"id\":1", &format!("\"id\":{id}")), text)
    };
    for (name, body, text) in [
        wrong("another id", "2"),
        wrong("another id as text", "\"2\""),
        wrong("nearly the id as text", "\"01\""),
        wrong("an unknown id", "-1"),
        wrong("nearly the id", "1.5"),
    ] {
        check_json(name, body, ("Protocol(WrongId", &text)).await;
    }
    let malformed = |name, body: &str, reason: &str| {
        let text = format!("invalid JSON-RPC 2.0 response: {reason}: {body:?}");
        (name, body.to_owned(), text)
    };
    let more = |member: &str| RESULT.replace('}', &format!(",{member}}}"));
    for (name, body, text) in [
        malformed("an array", &format!("[{RESULT}]"), "array in reply to a single call"),
        malformed("an empty array", "[]", "array in reply to a single call"),
        malformed(
            "two replies",
            &format!("{RESULT}{RESULT}"),
            "text after the end of the value at byte 35",
        ),
        malformed("both", &more(r#""error":7"#), "both a result and an error"),
        malformed("neither", r#"{"jsonrpc":"2.0","id":1}"#, "neither a result nor an error"),
        malformed("two results", &more(r#""result":2"#), "duplicate `result`"),
        malformed("two ids", &more(r#""\u0069d":1"#), "duplicate `id`"),
        malformed(
            "a result without an id",
            &RESULT.replace("1,", "null,"),
            "result without an `id`",
        ),
        malformed("another version", &RESULT.replace("2.0", "1.0"), "`jsonrpc` is not \"2.0\""),
        malformed(
            "a request",
            r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#,
            "neither a result nor an error",
        ),
        malformed("text", "done", "expected a JSON value at byte 0"),
        malformed("half", &RESULT[..20], "unexpected end of input at byte 20"),
    ] {
        check_json(name, body, ("Protocol(Malformed", &text)).await;
    }
    let text = "invalid JSON-RPC 2.0 response: not UTF-8: \"\u{fffd}\u{fffd}\"";
    check_json("not UTF-8", b"\xff\xfe", ("Protocol(Malformed", text)).await;
    let bomb = RESULT.replace(":1}", &format!(":{}}}", "[".repeat(MAX_REPLY / 2)));
    let text = format!(
        "invalid JSON-RPC 2.0 response: nested deeper than the limit at byte {}: {:?}",
        33 + 1023,
        bomb[..200].to_owned() + "…"
    );
    check_json("a nesting bomb", bomb, ("Protocol(Malformed", &text)).await;
    let text = "unexpected result: invalid type: string \"1\", expected i64 at line 1 column 3";
    check_json(
        "a result of another type",
        RESULT.replace(":1}", ":\"1\"}"),
        ("Protocol(Result", text),
    )
    .await;
}

#[tokio::test]
async fn rejects_invalid_http() {
    let html = "Content-Type: text/html; charset=utf-8";
    let refused = "HTTP 502 Bad Gateway, without a JSON-RPC reply: \"<html>\"";
    let (empty, no_content) = (
        "HTTP 200 OK, with no reply to the call",
        "HTTP 204 No Content, with no reply to the call",
    );
    for (name, answer, expected) in [
        (
            "HTML",
            Answer::http(&format!("200 OK\n{html}"), "<html>"),
            (
                "Protocol(MediaType",
                "reply has media type \"text/html\" instead of JSON: \"<html>\"",
            ),
        ),
        (
            "HTML of a gateway",
            Answer::http(&format!("502 Bad Gateway\n{html}"), "<html>"),
            ("Protocol(Refused", refused),
        ),
        (
            "no type",
            Answer::http("200 OK", RESULT),
            (
                "Protocol(MediaType",
                "reply has media type \"\" instead of JSON: \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":1,\\\"result\\\":1}\"",
            ),
        ),
        (
            "a result of 500",
            Answer::refusal("500 Oops", "1"),
            ("Protocol(Refused", "HTTP 500 Internal Server Error, without a JSON-RPC reply: \"1\""),
        ),
        ("nothing", Answer::json(""), ("Protocol(Empty", empty)),
        ("204", Answer::http("204 No Content", ""), ("Protocol(Empty", no_content)),
        (
            "garbage",
            Answer::bytes("SSH-2.0-OpenSSH_9.6\r\n"),
            ("Transport(NotHttp", "reply from PEER is not HTTP"),
        ),
        (
            "an endless head",
            Answer::flood("HTTP/1.1 200 OK\r\nX: ", vec![b'a'; 1 << 16]),
            ("Transport(NotHttp", "reply from PEER is not HTTP"),
        ),
        (
            "nothing at all",
            Answer::bytes(""),
            ("Transport(Broken", "connection to PEER closed before the reply was complete"),
        ),
        (
            "half a head",
            Answer::bytes("HTTP/1.1 200 OK\r\nCont"),
            ("Transport(Broken", "connection to PEER closed before the reply was complete"),
        ),
        (
            "half a body",
            Answer::bytes(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
            ),
            ("Transport(Broken", "connection to PEER closed before the reply was complete"),
        ),
        (
            "half a chunk",
            Answer::bytes(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{",
            ),
            ("Transport(Broken", "connection to PEER closed before the reply was complete"),
        ),
        (
            "an invalid chunk",
            Answer::bytes(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nxx\r\n{",
            ),
            ("Transport(Broken", "connection to PEER closed before the reply was complete"),
        ),
    ] {
        check(name, answer, expected).await;
    }
}

#[tokio::test]
async fn endless_replies_are_limited() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
    let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n");
    let mut chunk = b"10000\r\n".to_vec();
    chunk.resize(7 + 0x10000, b' ');
    chunk.extend_from_slice(b"\r\n");
    let late = ("Transport(Timeout", "PEER did not answer within 300 ms");
    let large = ("Transport(TooLarge", "reply from PEER exceeds 1048576 bytes");
    for (name, answer, expected) in [
        ("10 GB", Answer::drip(format!("{head}Content-Length: 10000000000\r\n\r\n"), " "), large),
        (
            "more than can be counted",
            Answer::drip(format!("{head}Content-Length: 18446744073709551615\r\n\r\n"), " "),
            ("Transport(NotHttp", "reply from PEER is not HTTP"),
        ),
        ("chunks without an end", Answer::flood(chunked.clone(), chunk), large),
        ("a body without an end", Answer::flood(format!("{head}\r\n"), vec![b' '; 1 << 16]), large),
        ("a slow body", Answer::drip(format!("{head}Content-Length: 1000000\r\n\r\n"), " "), late),
        ("slow chunks", Answer::drip(chunked, "1\r\n \r\n"), late),
        ("a slow head", Answer::drip("HTTP/1.1 200 OK\r\nX: ", "a"), late),
        ("informational heads", Answer::drip("", "HTTP/1.1 103 Early Hints\r\n\r\n"), late),
        ("a slow page", Answer::drip("HTTP/1.1 502 Bad Gateway\r\n\r\n", "a"), late),
    ] {
        check(name, answer, expected).await;
    }
}

#[tokio::test]
async fn returns_error_objects_whatever_the_status() {
    for status in [
        "200 OK",
        "400 Bad Request",
        "401 Unauthorized",
        "403 Forbidden",
        "429 Too Many Requests",
        "503 Service Unavailable",
    ] {
        for body in [ERROR.to_owned(), ERROR.replace("1,", "null,"), ERROR.replace("\"id\":1,", "")]
        {
            check(status, Answer::refusal(status, &body), ("Application(", "no (-32000)")).await;
        }
        let text = "reply does not belong to this call: its id is 7, not 1";
        let other = ERROR.replace("1,", "7,");
        check(status, Answer::refusal(status, &other), ("Protocol(WrongId", text)).await;
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let other = Peer::always(Answer::json(RESULT)).await;
    for status in [
        "301 Moved Permanently",
        "302 Found",
        "303 See Other",
        "307 Temporary Redirect",
        "308 Permanent Redirect",
    ] {
        let head = format!("{status}\nContent-Type: application/json\nLocation: {}/x", other.url);
        let text = format!("HTTP {status}: redirect to \"{}/x\" was not followed", other.url);
        check(status, Answer::http(&head, RESULT), ("Protocol(Redirect", &text)).await;
    }
    assert_eq!(other.requests().len(), 0, "the token was not sent elsewhere");
}

#[tokio::test]
async fn notifications() {
    async fn check(name: &str, answer: Answer, expected: Option<Expected<'_>>) {
        let peer = Peer::always(answer).await;
        let client: Client = peer.client(TIMEOUT, MAX_REPLY);
        let ended = in_time(name, client.notify("m", ()).into_future()).await;
        match (ended, expected) {
            (Ok(()), None) => {}
            (Err(error), Some(expected)) => compare(name, &peer, &error, expected),
            (ended, _) => panic!("{name}: {ended:?}"),
        }
        let [request] = &peer.requests()[..] else { panic!("{name}") };
        let body: Value = serde_json::from_str(request.lines().last().unwrap()).unwrap();
        assert_eq!(body, serde_json::json!({ "jsonrpc": "2.0", "method": "m" }), "{name}");
    }
    let array = "invalid JSON-RPC 2.0 response: array in reply to a notification: \"[]\"";
    for (name, answer, expected) in [
        ("204", Answer::http("204 No Content", ""), None),
        ("202", Answer::http("202 Accepted", ""), None),
        ("200", Answer::json(""), None),
        (
            "a result",
            Answer::json(RESULT),
            Some(("Protocol(Unexpected", "unexpected reply to a notification, with id 1")),
        ),
        (
            "an error to a call",
            Answer::json(ERROR),
            Some(("Protocol(Unexpected", "unexpected reply to a notification, with id 1")),
        ),
        (
            "an error",
            Answer::json(ERROR.replace("1,", "null,")),
            Some(("Application(", "no (-32000)")),
        ),
        ("an array", Answer::json("[]"), Some(("Protocol(Malformed", array))),
        (
            "a page",
            Answer::http("200 OK\nContent-Type: text/html", "<html>"),
            Some((
                "Protocol(MediaType",
                "reply has media type \"text/html\" instead of JSON: \"<html>\"",
            )),
        ),
        (
            "502",
            Answer::http("502 Bad Gateway", "x"),
            Some(("Protocol(Refused", "HTTP 502 Bad Gateway, without a JSON-RPC reply: \"x\"")),
        ),
    ] {
        check(name, answer, expected).await;
    }
}
