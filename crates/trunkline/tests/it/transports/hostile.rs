//! A client on streams, with servers that send invalid replies.

use std::time::Duration;

use futures_util::FutureExt;
use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf,
    WriteHalf, duplex,
};
use tokio::task::JoinHandle;
use trunkline::client::{Channel, Client, ClientConfig, Error, channel};
use trunkline::stream::Framing;

use super::framed::framed;
use crate::support::in_time;

/// The maximum size of a message that the client reads.
const LIMIT: usize = 10_000;

fn client_of(stream: DuplexStream, framing: Framing) -> Client {
    let mut settings = channel::ChannelConfig::default();
    (settings.framing, settings.message_bytes) = (framing, LIMIT);
    let client = ClientConfig { retry: None, ..Default::default() };
    Client::with_config(Channel::with_config(stream, settings), client)
}

/// Waits for the first call, sends `bytes`, and closes the stream if `ends`.
fn answer(stream: DuplexStream, bytes: Vec<u8>, ends: bool) -> JoinHandle<Vec<u8>> {
    tokio::spawn(async move {
        let (mut input, mut output) = tokio::io::split(stream);
        let mut received = vec![0; 20];
        input.read_exact(&mut received).await.unwrap();
        // The client may have closed the stream.
        let _ = output.write_all(&bytes).await;
        if ends {
            return received;
        }
        let _ = input.read_to_end(&mut received).await;
        received
    })
}

/// Makes a call and compares its result, or checks that the error contains a text.
async fn check(framing: Framing, sent: &[u8], ends: bool, expected: Result<i64, &str>) {
    let (ours, theirs) = duplex(1 << 20);
    let server = answer(theirs, sent.to_vec(), ends);
    let client = client_of(ours, framing);
    let ended = in_time("the call's end", client.call::<i64>("add", [1, 2]).into_future()).await;
    let sent = String::from_utf8_lossy(&sent[..sent.len().min(200)]);
    match (ended, expected) {
        (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{sent:?}"),
        (Err(error), Err(expected)) => {
            let mut text = error.to_string();
            let mut source = std::error::Error::source(&error);
            while let Some(cause) = source {
                text = format!("{text}: {cause}");
                source = cause.source();
            }
            assert!(text.contains(expected), "{sent:?}: {text}");
        }
        (found, expected) => panic!("{sent:?}: found {found:?}, expected {expected:?}"),
    }
    drop(client);
    in_time("the stream's end", server).await.unwrap();
}

const REPLY: &str = r#"{"jsonrpc":"2.0","result":3,"id":1}"#;

#[tokio::test]
async fn replies_as_lines() {
    let long = format!("{}\n", "x".repeat(2 * LIMIT));
    let rows: [(&str, Result<i64, &str>); 16] = [
        (r#"{"jsonrpc":"2.0","result":3,"id":1.0}"#, Ok(3)),
        // Requests of the server are ignored.
        (r#"{"jsonrpc":"2.0","method":"log"}"#, Ok(3)),
        (r#"{"jsonrpc":"2.0","method":"ask","id":1}"#, Ok(3)),
        (r#"{"jsonrpc":"2.0","result":4,"id":2}"#, Err("its id is 2, not 1")),
        (r#"{"jsonrpc":"2.0","result":4,"id":"01"}"#, Err("its id is \"01\", not 1")),
        (r#"{"jsonrpc":"2.0","result":4,"id":"1"}"#, Ok(4)),
        (r#"{"jsonrpc":"2.0","result":4,"error":null,"id":1}"#, Ok(4)),
        (r#"{"jsonrpc":"2.0","result":4,"error":{},"id":1}"#, Err("both a result and an error")),
        (r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"},"id":null}"#, Err("no")),
        (r#"{"jsonrpc":"2.0","result":4}"#, Err("without an `id`")),
        ("<html>", Err("invalid JSON-RPC 2.0 response")),
        ("\u{0}", Err("invalid JSON-RPC 2.0 response")),
        (r#"{"jsonrpc":"2.0","result":4"#, Err("invalid JSON-RPC 2.0 response")),
        ("[]", Err("array in reply")),
        (r#"[{"jsonrpc":"2.0","result":3,"id":1}]"#, Err("array in reply")),
        (&long, Err("exceeds 10000 bytes")),
    ];
    for (sent, expected) in rows {
        check(Framing::Lines, format!("{sent}\n{REPLY}\n").as_bytes(), false, expected).await;
    }
    let half = &REPLY[..20];
    check(Framing::Lines, half.as_bytes(), true, Err("invalid JSON-RPC 2.0 response")).await;
    check(Framing::Lines, b"\xff\n", false, Err("not UTF-8")).await;
    check(Framing::Lines, b"", true, Err("closed before the reply was complete")).await;
}

#[tokio::test]
async fn replies_with_heads() {
    let reply = framed(Framing::Headers, REPLY);
    let then = |sent: &str| [sent.as_bytes(), &reply].concat();
    let rows: [(Vec<u8>, bool, Result<i64, &str>); 6] = [
        (then(""), false, Ok(3)),
        (then("Content-Length: 10000000000\r\n\r\n"), false, Err("exceeds 10000 bytes")),
        (then("hello\r\n\r\n"), false, Err("malformed message header")),
        (then(&format!("{REPLY}\n")), false, Err("malformed message header")),
        (reply[..30].to_vec(), true, Err("unexpected end of file")),
        (Vec::new(), true, Err("closed before the reply was complete")),
    ];
    for (sent, ends, expected) in rows {
        check(Framing::Headers, &sent, ends, expected).await;
    }
}

/// A duplicate reply fails the calls that are waiting.
#[tokio::test]
async fn a_duplicate_reply_is_an_error() {
    let (ours, theirs) = duplex(4096);
    let client = client_of(ours, Framing::Lines);
    let (input, mut output) = tokio::io::split(theirs);
    let mut calls = BufReader::new(input).lines();
    let mut second = Box::pin(client.call::<i64>("b", ()).into_future());
    let first = client.call::<i64>("a", ()).into_future();
    // Both calls are sent before the reply to one of them.
    assert!((&mut second).now_or_never().is_none());
    let answering = async {
        calls.next_line().await.unwrap();
        let line = calls.next_line().await.unwrap().unwrap();
        let id = serde_json::from_str::<Value>(&line).unwrap()["id"].clone();
        let reply = format!("{{\"jsonrpc\":\"2.0\",\"result\":1,\"id\":{id}}}\n");
        output.write_all(reply.repeat(2).as_bytes()).await.unwrap();
    };
    let (first, ()) = in_time("the first", async { tokio::join!(first, answering) }).await;
    assert_eq!(first.unwrap(), 1);
    let error = in_time("the second", second).await.unwrap_err();
    assert!(error.to_string().contains("duplicate reply"), "{error}");
}

/// A server that sends refusals without an id, and its client.
struct Refusing {
    client: Client,
    calls: Lines<BufReader<ReadHalf<DuplexStream>>>,
    output: WriteHalf<DuplexStream>,
}

impl Refusing {
    fn open() -> Self {
        let (ours, theirs) = duplex(64 << 10);
        let (input, output) = tokio::io::split(theirs);
        let client = client_of(ours, Framing::Lines);
        Self { client, calls: BufReader::new(input).lines(), output }
    }

    /// The id of the next message.
    async fn id(&mut self) -> Value {
        let line = in_time("a message", self.calls.next_line()).await.unwrap().unwrap();
        serde_json::from_str::<Value>(&line).unwrap()["id"].clone()
    }

    async fn refuse(&mut self) {
        let error = r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"},"id":null}"#;
        self.output.write_all(format!("{error}\n").as_bytes()).await.unwrap();
    }

    async fn answer(&mut self, id: &Value) {
        let reply = format!("{{\"jsonrpc\":\"2.0\",\"result\":{id},\"id\":{id}}}\n");
        self.output.write_all(reply.as_bytes()).await.unwrap();
    }
}

/// A refusal may belong to a notification, so the call still waits for its own reply.
#[tokio::test]
async fn a_refused_notification_does_not_fail_a_call() {
    let mut server = Refusing::open();
    server.client.notify("a", ()).await.unwrap();
    assert_eq!(server.id().await, Value::Null);
    let mut call = Box::pin(server.client.call::<i64>("b", ()).into_future());
    assert!((&mut call).now_or_never().is_none());
    let id = server.id().await;
    server.refuse().await;
    server.answer(&id).await;
    assert_eq!(Value::from(in_time("the call", call).await.unwrap()), id);
    // Refusals of messages before a completed call have been received, so this one belongs to the new call.
    let mut call = Box::pin(server.client.call::<i64>("b", ()).into_future());
    assert!((&mut call).now_or_never().is_none());
    server.id().await;
    server.refuse().await;
    let error = in_time("the refused call", call).await.unwrap_err();
    assert!(error.to_string().contains("no"), "{error}");
}

/// It is unknown which of several calls was refused, so each waits for its own reply.
#[tokio::test]
async fn a_refusal_does_not_fail_one_of_several_calls() {
    let mut server = Refusing::open();
    let mut calls: Vec<_> =
        (0..3).map(|_| Box::pin(server.client.call::<i64>("a", ()).into_future())).collect();
    assert!(calls.iter_mut().all(|call| call.now_or_never().is_none()));
    let ids = [server.id().await, server.id().await, server.id().await];
    server.refuse().await;
    for id in &ids[..2] {
        server.answer(id).await;
    }
    let mut unanswered = calls.pop().unwrap();
    for (call, id) in calls.into_iter().zip(ids) {
        assert_eq!(Value::from(in_time("a call", call).await.unwrap()), id);
    }
    assert!((&mut unanswered).now_or_never().is_none());
}

/// A late reply to a refused call does not affect other calls.
#[tokio::test]
async fn ignores_a_reply_after_a_refusal() {
    let mut server = Refusing::open();
    let mut call = Box::pin(server.client.call::<i64>("a", ()).into_future());
    assert!((&mut call).now_or_never().is_none());
    let first = server.id().await;
    server.refuse().await;
    in_time("the refused call", call).await.unwrap_err();
    let mut call = Box::pin(server.client.call::<i64>("b", ()).into_future());
    assert!((&mut call).now_or_never().is_none());
    let second = server.id().await;
    server.answer(&first).await;
    server.answer(&second).await;
    assert_eq!(Value::from(in_time("the call", call).await.unwrap()), second);
}

/// Requests over the limit are not sent, and do not affect other calls.
#[tokio::test]
async fn does_not_send_large_requests() {
    let (ours, theirs) = duplex(64 << 10);
    let rpc = super::service::CallCounts::new().router().build().unwrap();
    let settings = trunkline::stream::StreamConfig { message_bytes: 1_000, ..Default::default() };
    let serving =
        tokio::spawn(async move { trunkline::stream::serve(&rpc, theirs, settings).await });
    let settings = channel::ChannelConfig { request_bytes: 1_000, ..Default::default() };
    let client = Client::new(Channel::with_config(ours, settings));
    let mut waiting = Box::pin(client.call::<String>("wait", ()).into_future());
    assert!((&mut waiting).now_or_never().is_none());
    let text = "x".repeat(1_000);
    let called = client.call::<Value>("echo", [&text]).await.unwrap_err();
    let notified = client.notify("note", [&text]).await.unwrap_err();
    for error in [called, notified] {
        let Error::Transport(error) = error else { panic!("{error}") };
        assert!(error.is_unsent() && error.to_string().contains("1000 bytes"), "{error}");
    }
    client.notify("open", ()).await.unwrap();
    assert_eq!(in_time("the other call", waiting).await.unwrap(), "done");
    drop(client);
    in_time("the end", serving).await.unwrap().unwrap();
}

/// A cancelled call may still get a reply.
#[tokio::test]
async fn ignores_late_replies() {
    let (ours, theirs) = duplex(4096);
    let client = client_of(ours, Framing::Lines);
    let (input, mut output) = tokio::io::split(theirs);
    let mut calls = BufReader::new(input).lines();
    let mut dropped = Box::pin(client.call::<i64>("a", ()).into_future());
    assert!((&mut dropped).now_or_never().is_none());
    let line = in_time("the call", calls.next_line()).await.unwrap().unwrap();
    drop(dropped);
    let id = serde_json::from_str::<Value>(&line).unwrap()["id"].clone();
    let line = in_time("the cancellation", calls.next_line()).await.unwrap().unwrap();
    let sent: Value = serde_json::from_str(&line).unwrap();
    let method = (&sent["method"], &sent["params"]["id"]);
    assert_eq!(method, (&Value::from("$/cancelRequest"), &id));

    let next = client.call::<i64>("b", ()).into_future();
    let answering = async {
        let line = calls.next_line().await.unwrap().unwrap();
        let next = serde_json::from_str::<Value>(&line).unwrap()["id"].clone();
        for (id, result) in [(id, 1), (next, 2)] {
            let reply = format!("{{\"jsonrpc\":\"2.0\",\"result\":{result},\"id\":{id}}}\n");
            output.write_all(reply.as_bytes()).await.unwrap();
        }
    };
    let (next, ()) = in_time("the next", async { tokio::join!(next, answering) }).await;
    assert_eq!(next.unwrap(), 2);
}

/// Calls over the limit of concurrent calls wait.
#[tokio::test(start_paused = true)]
async fn limits_concurrent_calls() {
    let (ours, theirs) = duplex(64 << 10);
    let settings = channel::ChannelConfig { in_flight: 2, ..Default::default() };
    let client = Client::new(Channel::with_config(ours, settings));
    // Waiting calls time out first. Otherwise they would take the slots of the others.
    let timeout = |number| Duration::from_secs(if number < 2 { 2 } else { 1 });
    let call = |number| client.call::<i64>("a", ()).timeout(timeout(number));
    let calls = (0..5).map(call);
    let ended = futures_util::future::join_all(calls.map(IntoFuture::into_future)).await;
    assert!(ended.iter().all(|ended| matches!(ended, Err(error) if error.is_timeout())));
    drop(client);
    let mut lines = BufReader::new(theirs).lines();
    let mut calls = 0;
    while let Some(line) = lines.next_line().await.unwrap() {
        calls += usize::from(line.contains("\"a\""));
    }
    assert_eq!(calls, 2);
}

#[tokio::test]
async fn a_closed_channel_reports_transport_errors() {
    let (ours, theirs) = duplex(4096);
    drop(theirs);
    let client = client_of(ours, Framing::Lines);
    for _ in 0..2 {
        let ended = in_time("the end", client.call::<i64>("a", ()).into_future()).await;
        assert!(matches!(ended, Err(Error::Transport(_))), "{ended:?}");
    }
}
