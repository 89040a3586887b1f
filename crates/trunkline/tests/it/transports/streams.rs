//! A server on a byte stream.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf, duplex, split};
use tokio::task::JoinHandle;
use trunkline::history::{self, Filter, History};
use trunkline::limits::MemoryBudget;
use trunkline::stream::{self, Framing, StreamConfig, StreamError};
use trunkline::{Limits, Rpc};

use super::framed::{framed, messages};
use super::service::CallCounts;
use crate::support::in_time;

/// The client side of a served stream.
struct Raw {
    framing: Framing,
    output: WriteHalf<DuplexStream>,
    input: ReadHalf<DuplexStream>,
    serving: JoinHandle<Result<(), StreamError>>,
}

impl Raw {
    /// Opens a stream with a buffer of `buffer` bytes.
    fn open(settings: StreamConfig, buffer: usize) -> Self {
        Self::of(CallCounts::new().router().build().unwrap(), settings, buffer)
    }

    fn of(rpc: Rpc, settings: StreamConfig, buffer: usize) -> Self {
        let (ours, theirs) = duplex(buffer);
        let framing = settings.framing;
        let serving = tokio::spawn(async move { stream::serve(&rpc, theirs, settings).await });
        let (input, output) = split(ours);
        Self { framing, output, input, serving }
    }

    async fn send(&mut self, bytes: &[u8]) {
        in_time("to send", self.output.write_all(bytes)).await.unwrap();
    }

    async fn call(&mut self, message: &Value) {
        let bytes = framed(self.framing, &message.to_string());
        self.send(&bytes).await;
    }

    /// Reads the next reply, which is a line.
    async fn reply(&mut self) -> Value {
        let mut line = Vec::new();
        in_time("a reply", async {
            while line.last() != Some(&b'\n') {
                line.push(self.input.read_u8().await.unwrap());
            }
        })
        .await;
        serde_json::from_slice(&line).unwrap()
    }

    /// Ends the stream. Returns the remaining messages and the result of serving.
    async fn finish(mut self) -> (Vec<Value>, Result<(), StreamError>) {
        self.output.shutdown().await.unwrap();
        let mut rest = Vec::new();
        in_time("the end", self.input.read_to_end(&mut rest)).await.unwrap();
        let ended = in_time("the end of serving", self.serving).await.unwrap();
        (messages(self.framing, &rest), ended)
    }
}

/// Sends bytes, ends the stream, and compares the codes and ids of the replies. The code of a result is 0, and an
/// array is a batch.
async fn check(framing: Framing, input: &[u8], expected: Value) {
    let mut settings = StreamConfig::default();
    (settings.framing, settings.message_bytes) = (framing, 1_000);
    let mut raw = Raw::open(settings, 64 << 10);
    raw.send(input).await;
    let (replies, ended) = raw.finish().await;
    let found: Vec<Value> = replies.iter().map(shape).collect();
    assert_eq!(Value::from(found), expected, "{}", String::from_utf8_lossy(input));
    assert!(matches!(ended, Ok(()) | Err(StreamError::Framing { .. })), "{ended:?}");
}

fn shape(reply: &Value) -> Value {
    match reply {
        Value::Array(replies) => replies.iter().map(shape).collect(),
        reply => json!([reply["error"]["code"].as_i64().unwrap_or(0), reply["id"]]),
    }
}

const CALL: &str = r#"{"jsonrpc":"2.0","method":"echo","params":[1],"id":1}"#;

#[tokio::test]
async fn messages_as_lines() {
    let rows: [(String, Value); 12] = [
        (format!("{CALL}\n"), json!([[0, 1]])),
        (CALL.to_owned(), json!([[0, 1]])),
        (format!("\n\r\n  {CALL}\r\n\n"), json!([[0, 1]])),
        (format!("{CALL}\nhello\n{CALL}\n"), json!([[0, 1], [-32700, null], [0, 1]])),
        ("[]\n7\n{}\n".to_owned(), json!([[-32600, null], [-32600, null], [-32600, null]])),
        (r#"{"jsonrpc":"1.0","method":"a","id":"b"}"#.to_owned(), json!([[-32600, "b"]])),
        (format!("[{CALL},1,{CALL}]\n"), json!([[[0, 1], [-32600, null], [0, 1]]])),
        // Responses are ignored.
        (r#"{"jsonrpc":"2.0","result":1,"id":1}"#.to_owned(), json!([])),
        (r#"{"jsonrpc":"2.0","method":"note"}"#.to_owned(), json!([])),
        // Cancellations of unknown ids are ignored.
        (cancel(&json!(1)).to_string(), json!([])),
        (r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":[]}"#.to_owned(), json!([])),
        (format!("{}\n{CALL}\n", "x".repeat(5_000)), json!([[-32600, null], [0, 1]])),
    ];
    for (input, expected) in rows {
        check(Framing::Lines, input.as_bytes(), expected).await;
    }
    check(Framing::Lines, b"\xff\xfe\n", json!([[-32700, null]])).await;
}

#[tokio::test]
async fn messages_with_heads() {
    let call = String::from_utf8(framed(Framing::Headers, CALL)).unwrap();
    let long = format!("Content-Length: 5000\r\n\r\n{}", "x".repeat(5_000));
    let rows: [(String, Value); 6] = [
        (format!("{call}{call}"), json!([[0, 1], [0, 1]])),
        (format!("Content-Length: 5\r\n\r\nhello{call}"), json!([[-32700, null], [0, 1]])),
        (format!("{long}{call}"), json!([[-32600, null], [0, 1]])),
        // The beginning of the next message is unknown.
        (format!("{call}hello\r\n\r\n{call}"), json!([[0, 1], [-32700, null]])),
        (format!("Content-Length: x\r\n\r\n{call}"), json!([[-32700, null]])),
        (format!("{CALL}\r\n\r\n"), json!([[-32700, null]])),
    ];
    for (input, expected) in rows {
        check(Framing::Headers, input.as_bytes(), expected).await;
    }
}

fn request(method: &str, id: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "id": id })
}

fn cancel(id: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": id } })
}

#[tokio::test]
async fn cancels_calls_by_id() {
    let mut raw = Raw::open(StreamConfig::default(), 64 << 10);
    for id in [json!(1), json!("a/b"), json!(2), json!(2)] {
        raw.call(&request("work", &id)).await;
    }
    raw.send(br#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"a\/b"}}"#).await;
    raw.send(b"\n").await;
    assert_eq!(shape(&raw.reply().await), json!([-32800, "a/b"]));
    raw.send(br#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1.0}}"#).await;
    raw.send(b"\n").await;
    assert_eq!(shape(&raw.reply().await), json!([-32800, 1]));
    // A duplicate id cancels both calls.
    raw.call(&cancel(&json!(2))).await;
    assert_eq!(shape(&raw.reply().await), json!([-32800, 2]));
    assert_eq!(shape(&raw.reply().await), json!([-32800, 2]));

    // A batch ends when all its calls are cancelled.
    raw.call(&json!([request("work", &json!(3)), request("work", &json!(4))])).await;
    raw.call(&cancel(&json!(3))).await;
    raw.call(&request("echo", &json!(5))).await;
    assert_eq!(shape(&raw.reply().await)[1], 5);
    raw.call(&cancel(&json!(4))).await;
    assert_eq!(shape(&raw.reply().await), json!([[-32800, 3], [-32800, 4]]));
    let (rest, ended) = raw.finish().await;
    assert!(rest.is_empty() && ended.is_ok(), "{rest:?}, {ended:?}");
}

/// A call that waits for a slot does not delay cancellations, and can be cancelled.
#[tokio::test]
async fn cancellations_overtake_waiting_calls() {
    let settings = StreamConfig { in_flight: 1, ..Default::default() };
    let mut raw = Raw::open(settings, 64 << 10);
    for message in [
        request("work", &json!(1)),
        request("work", &json!(2)),
        cancel(&json!(2)),
        cancel(&json!(1)),
        request("echo", &json!(3)),
    ] {
        raw.call(&message).await;
    }
    let mut cancelled = [shape(&raw.reply().await), shape(&raw.reply().await)];
    cancelled.sort_by_key(Value::to_string);
    assert_eq!(cancelled, [json!([-32800, 1]), json!([-32800, 2])]);
    assert_eq!(shape(&raw.reply().await), json!([0, 3]));
}

/// Hanging calls delay others for a limited time, and never delay cancellations.
#[tokio::test(start_paused = true)]
async fn refuses_calls_without_a_slot_after_a_timeout() {
    let settings =
        StreamConfig { in_flight: 1, queue_timeout: Duration::from_secs(1), ..Default::default() };
    let mut raw = Raw::open(settings, 64 << 10);
    for id in 1..=5 {
        raw.call(&request("work", &json!(id))).await;
    }
    raw.call(&cancel(&json!(1))).await;
    for id in 2..=5 {
        assert_eq!(shape(&raw.reply().await), json!([-32005, id]));
    }
    assert_eq!(shape(&raw.reply().await), json!([-32800, 1]));
    raw.call(&request("echo", &json!(6))).await;
    assert_eq!(shape(&raw.reply().await), json!([0, 6]));
    let (rest, ended) = raw.finish().await;
    assert!(rest.is_empty() && ended.is_ok(), "{rest:?}, {ended:?}");
}

/// A call ends when its reply is written.
#[tokio::test(start_paused = true)]
async fn reports_calls_with_unread_replies_as_unfinished() {
    let settings = StreamConfig { drain_timeout: Duration::from_millis(50), ..Default::default() };
    let closing = settings.closing.clone();
    let mut raw = Raw::open(settings, 256);
    let repeat = json!({ "jsonrpc": "2.0", "method": "repeat", "params": ["x", 9000], "id": 1 });
    raw.call(&repeat).await;
    raw.call(&repeat).await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    closing.cancel();
    let ended = in_time("the end of serving", raw.serving).await.unwrap();
    assert!(matches!(ended, Err(StreamError::Unfinished { calls: 2 })), "{ended:?}");
}

/// The history contains the errors that were sent.
#[tokio::test]
async fn records_cancelled_and_refused_calls() {
    let history = History::new(history::HistoryConfig::default());
    let rpc = CallCounts::new().router().build().unwrap().with_history(history.clone());
    let settings = StreamConfig { message_bytes: 200, in_flight: 1, ..Default::default() };
    let mut raw = Raw::of(rpc, settings, 64 << 10);
    raw.call(&request("work", &json!(1))).await;
    raw.call(&request("work", &json!(2))).await;
    raw.call(&cancel(&json!(2))).await;
    raw.call(&cancel(&json!(1))).await;
    raw.send("x".repeat(500).as_bytes()).await;
    raw.send(b"\n").await;
    let (replies, _) = raw.finish().await;
    let code = |reply: &Value| reply["error"]["code"].as_i64();
    let mut codes: Vec<_> = replies.iter().map(code).collect();
    codes.sort_unstable();
    assert_eq!(codes, [Some(-32800), Some(-32800), Some(-32600)]);
    let mut found: Vec<String> = history
        .entries(&Filter::default())
        .entries
        .iter()
        .map(|entry| {
            let response = entry.response.as_ref().map(|text| text.redacted().text.clone());
            let response: Option<Value> = response.map(|text| serde_json::from_str(&text).unwrap());
            let sent = response.map_or(json!(null), |response| response["error"]["code"].clone());
            let method = entry.method.as_deref().unwrap_or("none");
            format!("{method} {:?} {:?} {sent}", entry.status, entry.code)
        })
        .collect();
    found.sort();
    let expected = [
        "$/cancelRequest Result None null",
        "$/cancelRequest Result None null",
        "none Error Some(-32600) -32600",
        "work Error Some(-32800) -32800",
        "work Error Some(-32800) -32800",
    ];
    assert_eq!(found, expected);
}

/// If the client does not read replies, at most the limit of concurrent calls runs.
#[tokio::test(start_paused = true)]
async fn stops_reading_while_replies_are_unread() {
    let settings = StreamConfig { in_flight: 2, ..Default::default() };
    let mut raw = Raw::open(settings, 256);
    // Larger than the buffers of the stream and of waiting replies.
    let repeat = json!({ "jsonrpc": "2.0", "method": "repeat", "params": ["x", 1000], "id": 1 });
    let line = framed(Framing::Lines, &repeat.to_string());
    let mut sent = 0;
    let stuck = async {
        loop {
            raw.output.write_all(&line).await.unwrap();
            sent += 1;
        }
    };
    // The paused clock advances when both sides wait for each other.
    let ended = tokio::time::timeout(Duration::from_secs(1), stuck).await;
    assert!(ended.is_err() && sent < 64, "{sent} calls were accepted");
    let reading = async {
        let mut replies = 0;
        while replies < sent {
            raw.reply().await;
            replies += 1;
        }
    };
    in_time("the replies", reading).await;
}

/// Unread replies do not prevent the end of serving.
#[tokio::test(start_paused = true)]
async fn closes_a_stream_after_the_write_timeout() {
    let settings = StreamConfig { write_timeout: Duration::from_millis(50), ..Default::default() };
    let mut raw = Raw::open(settings, 256);
    let repeat = json!({ "jsonrpc": "2.0", "method": "repeat", "params": ["x", 9000], "id": 1 });
    raw.call(&repeat).await;
    let ended = in_time("the end of serving", raw.serving).await.unwrap();
    let Err(StreamError::Write(error)) = ended else { panic!("{ended:?}") };
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
}

#[tokio::test(start_paused = true)]
async fn closes_a_stream_after_the_idle_timeout() {
    let settings =
        StreamConfig { idle_timeout: Some(Duration::from_millis(20)), ..Default::default() };
    let mut raw = Raw::open(settings, 256);
    raw.send(b"{\"json").await;
    assert!(in_time("the end of serving", raw.serving).await.unwrap().is_ok());
}

/// The message timeout applies to incomplete messages, also if the client sends slowly.
#[tokio::test(start_paused = true)]
async fn closes_a_stream_after_the_message_timeout() {
    let settings = StreamConfig { message_timeout: Duration::from_secs(5), ..Default::default() };
    let mut raw = Raw::open(settings, 256);
    raw.call(&request("work", &json!(1))).await;
    // The timeout does not apply between messages.
    tokio::time::sleep(Duration::from_secs(20)).await;
    raw.call(&request("echo", &json!(2))).await;
    assert_eq!(shape(&raw.reply().await), json!([0, 2]));
    raw.call(&cancel(&json!(1))).await;
    assert_eq!(shape(&raw.reply().await), json!([-32800, 1]));
    for _ in 0..10 {
        let _ = raw.output.write_all(b" {").await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let ended = in_time("the end of serving", raw.serving).await.unwrap();
    let Err(StreamError::Read(error)) = ended else { panic!("{ended:?}") };
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
}

/// A client that waits for a reply is not idle.
#[tokio::test(start_paused = true)]
async fn the_idle_timeout_does_not_apply_to_running_calls() {
    let settings =
        StreamConfig { idle_timeout: Some(Duration::from_secs(1)), ..Default::default() };
    let mut raw = Raw::open(settings, 256);
    raw.call(&request("work", &json!(1))).await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    raw.call(&cancel(&json!(1))).await;
    assert_eq!(shape(&raw.reply().await), json!([-32800, 1]));
    assert!(in_time("the end of serving", raw.serving).await.unwrap().is_ok());
}

/// Calls complete after the client has closed its side of the stream.
#[tokio::test]
async fn completes_calls_after_the_end_of_input() {
    let mut raw = Raw::open(StreamConfig::default(), 64 << 10);
    raw.call(&request("wait", &json!(1))).await;
    raw.call(&request("wait", &json!(2))).await;
    raw.call(&json!({ "jsonrpc": "2.0", "method": "open" })).await;
    raw.call(&json!({ "jsonrpc": "2.0", "method": "open" })).await;
    let (mut replies, ended) = raw.finish().await;
    replies.sort_by_key(|reply| reply["id"].as_i64());
    assert_eq!(replies.iter().map(shape).collect::<Value>(), json!([[0, 1], [0, 2]]));
    assert!(ended.is_ok(), "{ended:?}");
}

/// Waiting replies share the memory budget.
#[tokio::test]
async fn drops_replies_over_the_memory_budget() {
    let memory = MemoryBudget::new(64 << 10);
    let limits = Limits { memory: memory.clone(), ..Default::default() };
    let rpc = CallCounts::new().router().limits(limits).build().unwrap();
    let mut raw = Raw::of(rpc, StreamConfig::default(), 64 << 10);
    let repeat = |times: usize| json!({ "jsonrpc": "2.0", "method": "repeat", "params": ["x", times], "id": times });
    raw.call(&repeat(100_000)).await;
    assert_eq!(shape(&raw.reply().await), json!([-32006, 100_000]));
    raw.call(&repeat(50_000)).await;
    assert_eq!(shape(&raw.reply().await), json!([0, 50_000]));
    raw.call(&json!([repeat(100_001), repeat(100_002)])).await;
    // The second does not run, since its reply would not fit.
    assert_eq!(shape(&raw.reply().await), json!([[-32006, 100_001], [-32005, 100_002]]));
    // Messages share the budget: one that does not fit is skipped and refused.
    raw.call(&json!({ "jsonrpc": "2.0", "method": "x".repeat(100_000), "id": 1 })).await;
    assert_eq!(shape(&raw.reply().await), json!([-32005, null]));
    raw.call(&repeat(10)).await;
    assert_eq!(shape(&raw.reply().await), json!([0, 10]));
    raw.finish().await.1.unwrap();
    assert_eq!(memory.used(), 0);
}
