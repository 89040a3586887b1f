//! EDN on streams: pipes, sockets, a process.

use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::net::UnixStream;
use trunkline::edn::FORMAT;
use trunkline::history::{self, Filter, History};
use trunkline::limits::MemoryBudget;
use trunkline::protocol::Format;
use trunkline::stream::{self, Framing, StreamConfig};
use trunkline::{Limits, Rpc, unix};

use crate::process::example;
use crate::support::{Gate, add, in_time, until};

fn rpc(gate: &Gate) -> Rpc {
    gate.router()
        .method("add", add)
        .method("echo", |params: trunkline::RawParams| params.0)
        .method("large", || "x".repeat(100_000))
        .limits(Limits { memory: MemoryBudget::new(64 << 10), ..Default::default() })
        .build()
        .unwrap()
}

fn settings(format: Format, framing: Framing) -> StreamConfig {
    StreamConfig { format, framing, message_bytes: 1_000, ..StreamConfig::default() }
}

/// The whole output of a stream for `input`.
async fn output(settings: StreamConfig, input: impl AsRef<[u8]>) -> String {
    let (mut ours, theirs) = duplex(64 << 10);
    let rpc = rpc(&Gate::new());
    let serving = tokio::spawn(async move { stream::serve(&rpc, theirs, settings).await });
    in_time("to send", ours.write_all(input.as_ref())).await.unwrap();
    ours.shutdown().await.unwrap();
    let mut output = String::new();
    in_time("the end", ours.read_to_string(&mut output)).await.unwrap();
    // The result does not matter: an invalid head is an error.
    let _ = in_time("the end of serving", serving).await.unwrap();
    output
}

/// Lines in EDN, and the lines of the replies.
async fn check(input: impl AsRef<[u8]>, expected: &[&str]) {
    let input = input.as_ref();
    let output = output(settings(FORMAT, Framing::Lines), input).await;
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines, expected, "{}", String::from_utf8_lossy(input));
}

const CALL: &str = r#"{:jsonrpc "2.0" :method "add" :params [40 2] :id 1}"#;
const RESULT: &str = r#"{:jsonrpc "2.0", :result 42, :id 1}"#;

#[tokio::test]
async fn lines() {
    check(format!("{CALL}\n"), &[RESULT]).await;
    check(format!("\n{CALL}\r\n\n{CALL}"), &[RESULT, RESULT]).await;
    check(
        r#"[{:jsonrpc "2.0" :method "add" :params [1 2] :id :a} {:jsonrpc "2.0" :method "ping"}]"#,
        &[r#"[{:jsonrpc "2.0", :result 3, :id :a}]"#],
    )
    .await;
    check(r#"{:jsonrpc "2.0" :method "ping"}"#, &[]).await;
    check(
        r#"{:jsonrpc "2.0" :id :first}"#,
        &[r#"{:jsonrpc "2.0", :error {:code -32600, :message "Invalid Request", :data {:reason "`method` is missing", :member "method"}}, :id :first}"#],
    )
    .await;
    // A line with a comment only is a blank line.
    check(format!("; calls\n,, ;; {CALL}\n , \n{CALL} ; and a comment\n"), &[RESULT]).await;
    // A line break in a string is written as an escape sequence.
    check(
        r#"{:jsonrpc "2.0" :method "echo" :params ["a\nb"] :id 1}"#,
        &[r#"{:jsonrpc "2.0", :result ["a\nb"], :id 1}"#],
    )
    .await;
    check(
        r#"{:jsonrpc "2.0" :method "echo" :params [#a/b 1] :id x/y}"#,
        &[r#"{:jsonrpc "2.0", :error {:code -32603, :message "JSON conversion error", :data {:path "/params/0", :reason "JSON cannot represent the tag #a/b"}}, :id x/y}"#],
    )
    .await;
    check("[]", &[r#"{:jsonrpc "2.0", :error {:code -32600, :message "Invalid Request", :data {:reason "a batch must contain at least one request"}}, :id nil}"#]).await;
}

/// Refusals of invalid messages are in EDN, and the stream continues.
#[tokio::test]
async fn refusals() {
    let code = |line: &str, code: i64, reason: &str| {
        assert!(line.starts_with(&format!("{{:jsonrpc \"2.0\", :error {{:code {code},")), "{line}");
        assert!(line.contains(reason) && line.ends_with(":id nil}"), "{line}");
    };
    let rows: [(&[u8], i64, &str); 4] = [
        (b"{:jsonrpc", -32700, ":line 1"),
        (b"\"\xff\"", -32700, ":offset 1"),
        (br#"{"jsonrpc":"2.0","method":"add","id":1}"#, -32700, ":reason"),
        (&[b'x'; 2_000], -32600, ":limit_bytes 1000"),
    ];
    for (message, expected, reason) in rows {
        let input = [message, b"\n", CALL.as_bytes()].concat();
        let output = output(settings(FORMAT, Framing::Lines), input).await;
        let lines: Vec<&str> = output.lines().collect();
        assert_eq!(lines.len(), 2, "{output}");
        code(lines[0], expected, reason);
        assert_eq!(lines[1], RESULT);
    }
}

fn framed(media_type: &str, text: &str) -> String {
    let line = match media_type {
        "" => String::new(),
        media_type => format!("Content-Type: {media_type}\r\n"),
    };
    format!("Content-Length: {}\r\n{line}\r\n{text}", text.len())
}

/// The format is that of the `Content-Type` of a message, or the configured one.
#[tokio::test]
async fn heads() {
    let (json, result) = (
        r#"{"jsonrpc":"2.0","method":"add","params":[40,2],"id":1}"#,
        r#"{"jsonrpc":"2.0","result":42,"id":1}"#,
    );
    let rows = [
        (Format::Json, "", json, framed("", result)),
        (Format::Json, "application/json", json, framed("", result)),
        (Format::Json, "application/vscode-jsonrpc; charset=utf-8", json, framed("", result)),
        (Format::Json, "application/edn", CALL, framed("application/edn", RESULT)),
        (Format::Json, "Application/EDN; charset=utf-8", CALL, framed("application/edn", RESULT)),
        (FORMAT, "", CALL, framed("application/edn", RESULT)),
        (FORMAT, "text/plain", CALL, framed("application/edn", RESULT)),
        (FORMAT, "application/json", json, framed("application/json", result)),
        (FORMAT, "application/json-rpc", json, framed("application/json", result)),
    ];
    for (format, media_type, call, expected) in rows {
        let input = framed(media_type, call).repeat(2);
        let output = output(settings(format, Framing::Headers), &input).await;
        assert_eq!(output, expected.repeat(2), "{format:?}: {input}");
    }
    // Refusals of large messages and of invalid heads have the same format.
    let large = framed("application/edn", &"x".repeat(2_000));
    for (format, input) in [(Format::Json, large.as_str()), (FORMAT, "x\r\n\r\n")] {
        let output = output(settings(format, Framing::Headers), input).await;
        assert!(output.contains("Content-Type: application/edn\r\n\r\n{:jsonrpc"), "{output}");
    }
}

/// Calls are cancelled by their id in EDN, which is part of the reply.
#[tokio::test]
async fn cancelling() {
    let error = ":error {:code -32800, :message \"Request cancelled\"}";
    for id in [":a/b", "1", "\"x\"", "sym", "#uuid \"f81d4fae-7dec-11d0-a765-00a0c91e6bf6\""] {
        for is_batch in [false, true] {
            let gate = Gate::new();
            let rpc = rpc(&gate);
            let (mut ours, theirs) = duplex(64 << 10);
            let settings = settings(FORMAT, Framing::Lines);
            let serving = tokio::spawn(async move { stream::serve(&rpc, theirs, settings).await });
            let call = format!(r#"{{:jsonrpc "2.0" :method "wait" :id {id}}}"#);
            let reply = format!(r#"{{:jsonrpc "2.0", {error}, :id {id}}}"#);
            let (call, reply) =
                if is_batch { (format!("[{call}]"), format!("[{reply}]")) } else { (call, reply) };
            ours.write_all(format!("{call}\n").as_bytes()).await.unwrap();
            until("the call", || gate.entered() == 1).await;
            let cancel =
                format!("{{:jsonrpc \"2.0\" :method \"$/cancelRequest\" :params {{:id {id}}}}}\n");
            ours.write_all(cancel.as_bytes()).await.unwrap();
            ours.shutdown().await.unwrap();
            let mut output = String::new();
            in_time("the end", ours.read_to_string(&mut output)).await.unwrap();
            assert_eq!(output, format!("{reply}\n"), "{call}");
            in_time("the end of serving", serving).await.unwrap().unwrap();
        }
    }
}

/// Refusals over the limits of calls and of replies are in EDN.
#[tokio::test]
async fn limits() {
    let gate = Gate::new();
    let rpc = rpc(&gate);
    let (mut ours, theirs) = duplex(64 << 10);
    let mut settings = settings(FORMAT, Framing::Lines);
    (settings.in_flight, settings.queue_timeout) = (1, Duration::ZERO);
    let serving = tokio::spawn(async move { stream::serve(&rpc, theirs, settings).await });
    ours.write_all(b"{:jsonrpc \"2.0\" :method \"wait\" :id 1}\n").await.unwrap();
    until("the call", || gate.entered() == 1).await;
    ours.write_all(b"{:jsonrpc \"2.0\" :method \"ping\" :id :late}\n").await.unwrap();
    let mut line = Vec::new();
    in_time("a reply", async {
        while line.last() != Some(&b'\n') {
            line.push(ours.read_u8().await.unwrap());
        }
    })
    .await;
    let line = String::from_utf8(line).unwrap();
    assert!(line.starts_with("{:jsonrpc \"2.0\", :error {:code -32005,"), "{line}");
    assert!(line.ends_with(":id :late}\n"), "{line}");
    gate.open(1);
    drop(ours);
    let _ = in_time("the end of serving", serving).await.unwrap();

    let settings = self::settings(FORMAT, Framing::Lines);
    let output = output(settings, r#"{:jsonrpc "2.0" :method "large" :id :large}"#).await;
    assert!(output.starts_with("{:jsonrpc \"2.0\", :error {:code -32006,"), "{output}");
    assert!(output.contains("the call was run") && output.ends_with(":id :large}\n"), "{output}");
}

/// History contains JSON, whatever the format of messages.
#[tokio::test]
async fn history_is_json() {
    let history = History::new(history::HistoryConfig::default());
    let rpc = rpc(&Gate::new()).with_history(history.clone());
    let (mut ours, theirs) = duplex(64 << 10);
    let settings = settings(FORMAT, Framing::Lines);
    let serving = tokio::spawn(async move { stream::serve(&rpc, theirs, settings).await });
    ours.write_all(CALL.as_bytes()).await.unwrap();
    ours.shutdown().await.unwrap();
    in_time("the end of serving", serving).await.unwrap().unwrap();
    let page = history.entries(&Filter::default());
    let entry = serde_json::to_value(&*page.entries[0]).unwrap();
    assert_eq!(entry["response"]["text"], r#"{"jsonrpc":"2.0","result":42,"id":1}"#, "{entry}");
}

#[tokio::test]
async fn a_unix_socket() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("edn");
    let stream = settings(FORMAT, Framing::Lines);
    let settings = unix::UnixConfig { stream, ..Default::default() };
    let server =
        unix::Server::bind(&path).settings(settings).serve(rpc(&Gate::new())).await.unwrap();
    let mut socket = UnixStream::connect(&path).await.unwrap();
    socket.write_all(format!("{CALL}\n[{CALL}]\n").as_bytes()).await.unwrap();
    socket.shutdown().await.unwrap();
    let mut output = String::new();
    in_time("the end", socket.read_to_string(&mut output)).await.unwrap();
    assert_eq!(output, format!("{RESULT}\n[{RESULT}]\n"));
    server.stop().await;
}

#[tokio::test]
async fn a_process() {
    let call = r#"{:jsonrpc "2.0" :method "subtract" :params [42 23] :id :sum}"#;
    let result = r#"{:jsonrpc "2.0", :result 19, :id :sum}"#;
    let rows: [(&[&str], String, String); 3] = [
        (&["--edn"], format!("{call}\n"), format!("{result}\n")),
        (&["--edn", "--headers"], framed("", call), framed("application/edn", result)),
        (&["--headers"], framed("application/edn", call), framed("application/edn", result)),
    ];
    for (arguments, input, expected) in rows {
        let mut command = Command::new(example("stdio_server"));
        let child = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = child.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut stdin, input.as_bytes()).unwrap();
        drop(stdin);
        let ended = tokio::task::spawn_blocking(move || child.wait_with_output().unwrap());
        let output = in_time("the process to end", ended).await.unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected, "{arguments:?}");
    }
}
