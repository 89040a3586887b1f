//! What a server makes of the bytes of a stream.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf, duplex, split};
use tokio::task::JoinHandle;
use trunkline::history::{self, Filter, History};
use trunkline::limits::MemoryBudget;
use trunkline::stream::{self, Framing, StreamConfig, StreamError};
use trunkline::{Limits, Rpc};

use super::framed::{framed, messages};
use super::service::Told;
use crate::support::in_time;

/// The client's end of a stream that is served.
struct Raw {
    framing: Framing,
    output: WriteHalf<DuplexStream>,
    input: ReadHalf<DuplexStream>,
    serving: JoinHandle<Result<(), StreamError>>,
}

impl Raw {
    /// `room` is how many bytes are on their way at most.
    fn open(settings: StreamConfig, room: usize) -> Self {
        Self::of(Told::new().router().build().unwrap(), settings, room)
    }

    fn of(rpc: Rpc, settings: StreamConfig, room: usize) -> Self {
        let (ours, theirs) = duplex(room);
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

    /// The next reply, which is a line.
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

    /// Ends the stream, and returns what was still written and how serving ended.
    async fn finish(mut self) -> (Vec<Value>, Result<(), StreamError>) {
        self.output.shutdown().await.unwrap();
        let mut rest = Vec::new();
        in_time("the end", self.input.read_to_end(&mut rest)).await.unwrap();
        let ended = in_time("the end of serving", self.serving).await.unwrap();
        (messages(self.framing, &rest), ended)
    }
}

/// Sends bytes, ends the stream, and compares the codes and ids of the replies (the code 0 is that
/// of a result), each array standing for a batch.
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
async fn whatever_comes_as_lines() {
    let rows: [(String, Value); 12] = [
        (format!("{CALL}\n"), json!([[0, 1]])),
        (CALL.to_owned(), json!([[0, 1]])),
        (format!("\n\r\n  {CALL}\r\n\n"), json!([[0, 1]])),
        (format!("{CALL}\nhello\n{CALL}\n"), json!([[0, 1], [-32700, null], [0, 1]])),
        ("[]\n7\n{}\n".to_owned(), json!([[-32600, null], [-32600, null], [-32600, null]])),
        (r#"{"jsonrpc":"1.0","method":"a","id":"b"}"#.to_owned(), json!([[-32600, "b"]])),
        (format!("[{CALL},1,{CALL}]\n"), json!([[[0, 1], [-32600, null], [0, 1]]])),
        // Responses are to nothing that was asked.
        (r#"{"jsonrpc":"2.0","result":1,"id":1}"#.to_owned(), json!([])),
        (r#"{"jsonrpc":"2.0","method":"note"}"#.to_owned(), json!([])),
        // What is not running is not cancelled.
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
async fn whatever_comes_with_heads() {
    let call = String::from_utf8(framed(Framing::Headers, CALL)).unwrap();
    let long = format!("Content-Length: 5000\r\n\r\n{}", "x".repeat(5_000));
    let rows: [(String, Value); 6] = [
        (format!("{call}{call}"), json!([[0, 1], [0, 1]])),
        (format!("Content-Length: 5\r\n\r\nhello{call}"), json!([[-32700, null], [0, 1]])),
        (format!("{long}{call}"), json!([[-32600, null], [0, 1]])),
        // Where the next message begins cannot be told.
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
async fn calls_are_cancelled_by_their_ids() {
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
    // An id that was used twice is that of both.
    raw.call(&cancel(&json!(2))).await;
    assert_eq!(shape(&raw.reply().await), json!([-32800, 2]));
    assert_eq!(shape(&raw.reply().await), json!([-32800, 2]));

    // A batch ends when all of it is cancelled.
    raw.call(&json!([request("work", &json!(3)), request("work", &json!(4))])).await;
    raw.call(&cancel(&json!(3))).await;
    raw.call(&request("echo", &json!(5))).await;
    assert_eq!(shape(&raw.reply().await)[1], 5);
    raw.call(&cancel(&json!(4))).await;
    assert_eq!(shape(&raw.reply().await), json!([[-32800, 3], [-32800, 4]]));
    let (rest, ended) = raw.finish().await;
    assert!(rest.is_empty() && ended.is_ok(), "{rest:?}, {ended:?}");
}

/// A call that waits for a place keeps no cancel from being read, and can be cancelled itself.
#[tokio::test]
async fn cancels_pass_a_call_that_waits() {
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

/// Calls that hang keep others waiting for a while only, and never cancels.
#[tokio::test(start_paused = true)]
async fn calls_that_find_no_place_in_time_are_refused() {
    let settings =
        StreamConfig { in_flight: 1, place_timeout: Duration::from_secs(1), ..Default::default() };
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

/// A call has not ended before its reply is written.
#[tokio::test(start_paused = true)]
async fn replies_that_are_not_read_are_lost() {
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

/// The record says what the client was told.
#[tokio::test]
async fn what_is_cancelled_or_refused_is_recorded() {
    let history = History::new(history::HistoryConfig::default());
    let rpc = Told::new().router().build().unwrap().with_history(history.clone());
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
            let told = response.map_or(json!(null), |response| response["error"]["code"].clone());
            let method = entry.method.as_deref().unwrap_or("none");
            format!("{method} {:?} {:?} {told}", entry.status, entry.code)
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

/// A client that reads no replies has no more of them computed than it may have calls running.
#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_not_read() {
    let settings = StreamConfig { in_flight: 2, ..Default::default() };
    let mut raw = Raw::open(settings, 256);
    // More than the streams and the replies that wait have room for.
    let repeat = json!({ "jsonrpc": "2.0", "method": "repeat", "params": ["x", 1000], "id": 1 });
    let line = framed(Framing::Lines, &repeat.to_string());
    let mut sent = 0;
    let stuck = async {
        loop {
            raw.output.write_all(&line).await.unwrap();
            sent += 1;
        }
    };
    // Time passes when nothing else can: when both wait for the other.
    let ended = tokio::time::timeout(Duration::from_secs(1), stuck).await;
    assert!(ended.is_err() && sent < 64, "{sent} calls were taken");
    let reading = async {
        let mut replies = 0;
        while replies < sent {
            raw.reply().await;
            replies += 1;
        }
    };
    in_time("the replies", reading).await;
}

/// Nor does it keep the server from ending.
#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_is_given_up() {
    let settings = StreamConfig { write_timeout: Duration::from_millis(50), ..Default::default() };
    let mut raw = Raw::open(settings, 256);
    let repeat = json!({ "jsonrpc": "2.0", "method": "repeat", "params": ["x", 9000], "id": 1 });
    raw.call(&repeat).await;
    let ended = in_time("the end of serving", raw.serving).await.unwrap();
    let Err(StreamError::Write(error)) = ended else { panic!("{ended:?}") };
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_says_nothing_is_given_up() {
    let settings =
        StreamConfig { idle_timeout: Some(Duration::from_millis(20)), ..Default::default() };
    let mut raw = Raw::open(settings, 256);
    raw.send(b"{\"json").await;
    assert!(in_time("the end of serving", raw.serving).await.unwrap().is_ok());
}

/// A message that has begun has to end, however slowly its client goes on with it.
#[tokio::test(start_paused = true)]
async fn a_message_that_does_not_end_is_given_up() {
    let settings = StreamConfig { message_timeout: Duration::from_secs(5), ..Default::default() };
    let mut raw = Raw::open(settings, 256);
    raw.call(&request("work", &json!(1))).await;
    // Between messages, there is all the time.
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

/// Who waits for a reply is not idle.
#[tokio::test(start_paused = true)]
async fn a_client_that_waits_is_not_given_up() {
    let settings =
        StreamConfig { idle_timeout: Some(Duration::from_secs(1)), ..Default::default() };
    let mut raw = Raw::open(settings, 256);
    raw.call(&request("work", &json!(1))).await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    raw.call(&cancel(&json!(1))).await;
    assert_eq!(shape(&raw.reply().await), json!([-32800, 1]));
    assert!(in_time("the end of serving", raw.serving).await.unwrap().is_ok());
}

/// What was asked for is answered when the client has ended its half of the stream.
#[tokio::test]
async fn the_end_of_the_stream_is_not_that_of_its_calls() {
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

/// Replies that wait have a bound together.
#[tokio::test]
async fn a_reply_without_room_is_dropped() {
    let memory = MemoryBudget::new(64 << 10);
    let limits = Limits { memory: memory.clone(), ..Default::default() };
    let rpc = Told::new().router().limits(limits).build().unwrap();
    let mut raw = Raw::of(rpc, StreamConfig::default(), 64 << 10);
    let repeat = |times: usize| json!({ "jsonrpc": "2.0", "method": "repeat", "params": ["x", times], "id": times });
    raw.call(&repeat(100_000)).await;
    assert_eq!(shape(&raw.reply().await), json!([-32006, 100_000]));
    raw.call(&repeat(50_000)).await;
    assert_eq!(shape(&raw.reply().await), json!([0, 50_000]));
    raw.call(&json!([repeat(100_001), repeat(100_002)])).await;
    // The second does not run: its reply would not fit, either.
    assert_eq!(shape(&raw.reply().await), json!([[-32006, 100_001], [-32005, 100_002]]));
    // Messages share the budget: one that does not fit is skipped and refused.
    raw.call(&json!({ "jsonrpc": "2.0", "method": "x".repeat(100_000), "id": 1 })).await;
    assert_eq!(shape(&raw.reply().await), json!([-32005, null]));
    raw.call(&repeat(10)).await;
    assert_eq!(shape(&raw.reply().await), json!([0, 10]));
    raw.finish().await.1.unwrap();
    assert_eq!(memory.used(), 0);
}
