//! EDN on streams: pipes, sockets, a process.

use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::net::UnixStream;
use trunkline::history::{self, Filter, History};
use trunkline::limits::MemoryBudget;
use trunkline::protocol::Format;
use trunkline::stream::{self, Framing, StreamConfig};
use trunkline::{Limits, Rpc, unix};

use crate::process::example;
use crate::support::{Gate, in_time, until};

fn rpc(gate: &Gate) -> Rpc {
    gate.router()
        .function("add", ["a", "b"], |a: i64, b: i64| a + b)
        .method("echo", |params: trunkline::RawParams| params.0)
        .method("large", || "x".repeat(100_000))
        .limits(Limits { memory: MemoryBudget::new(64 << 10), ..Default::default() })
        .build()
        .unwrap()
}

fn settings(format: Format, framing: Framing) -> StreamConfig {
    StreamConfig { format, framing, message_bytes: 1_000, ..StreamConfig::default() }
}

/// All that a stream says in answer to `input`.
async fn said(settings: StreamConfig, input: impl AsRef<[u8]>) -> String {
    let (mut ours, theirs) = duplex(64 << 10);
    let rpc = rpc(&Gate::new());
    let serving = tokio::spawn(async move { stream::serve(&rpc, theirs, settings).await });
    in_time("to send", ours.write_all(input.as_ref())).await.unwrap();
    ours.shutdown().await.unwrap();
    let mut said = String::new();
    in_time("the end", ours.read_to_string(&mut said)).await.unwrap();
    // How it ends does not matter here: a head that is broken is an error.
    let _ = in_time("the end of serving", serving).await.unwrap();
    said
}

/// Lines in EDN, and what is answered line by line.
async fn check(input: impl AsRef<[u8]>, expected: &[&str]) {
    let input = input.as_ref();
    let said = said(settings(Format::Edn, Framing::Lines), input).await;
    let lines: Vec<&str> = said.lines().collect();
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
    // A line that says nothing is a blank one.
    check(format!("; calls\n,, ;; {CALL}\n , \n{CALL} ; and a comment\n"), &[RESULT]).await;
    // A line break in a string is written as it was sent: as two characters.
    check(
        r#"{:jsonrpc "2.0" :method "echo" :params ["a\nb"] :id 1}"#,
        &[r#"{:jsonrpc "2.0", :result ["a\nb"], :id 1}"#],
    )
    .await;
    check(
        r#"{:jsonrpc "2.0" :method "echo" :params [#a/b 1] :id x/y}"#,
        &[r#"{:jsonrpc "2.0", :error {:code -32603, :message "JSON conversion error", :data {:path "/params/0", :reason "JSON has no equivalent of the tag #a/b"}}, :id x/y}"#],
    )
    .await;
    check("[]", &[r#"{:jsonrpc "2.0", :error {:code -32600, :message "Invalid Request", :data {:reason "a batch must contain at least one request"}}, :id nil}"#]).await;
}

/// What is refused before it is read is in EDN, and the stream goes on.
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
        let said = said(settings(Format::Edn, Framing::Lines), input).await;
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines.len(), 2, "{said}");
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

/// The type of a message decides, and then the setting.
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
        (Format::Edn, "", CALL, framed("application/edn", RESULT)),
        (Format::Edn, "text/plain", CALL, framed("application/edn", RESULT)),
        (Format::Edn, "application/json", json, framed("application/json", result)),
        (Format::Edn, "application/json-rpc", json, framed("application/json", result)),
    ];
    for (format, media_type, call, expected) in rows {
        let input = framed(media_type, call).repeat(2);
        let said = said(settings(format, Framing::Headers), &input).await;
        assert_eq!(said, expected.repeat(2), "{format:?}: {input}");
    }
    // So do refusals: of what is too large, and of a head that is none.
    let large = framed("application/edn", &"x".repeat(2_000));
    for (format, input) in [(Format::Json, large.as_str()), (Format::Edn, "x\r\n\r\n")] {
        let said = said(settings(format, Framing::Headers), input).await;
        assert!(said.contains("Content-Type: application/edn\r\n\r\n{:jsonrpc"), "{said}");
    }
}

/// A call that has not ended is cancelled by its id as EDN, and answered with it.
#[tokio::test]
async fn cancelling() {
    let error = ":error {:code -32800, :message \"Request cancelled\"}";
    for id in [":a/b", "1", "\"x\"", "sym", "#uuid \"f81d4fae-7dec-11d0-a765-00a0c91e6bf6\""] {
        for is_batch in [false, true] {
            let gate = Gate::new();
            let rpc = rpc(&gate);
            let (mut ours, theirs) = duplex(64 << 10);
            let settings = settings(Format::Edn, Framing::Lines);
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
            let mut said = String::new();
            in_time("the end", ours.read_to_string(&mut said)).await.unwrap();
            assert_eq!(said, format!("{reply}\n"), "{call}");
            in_time("the end of serving", serving).await.unwrap().unwrap();
        }
    }
}

/// What finds no place, or whose reply finds no room, is told so in EDN.
#[tokio::test]
async fn bounds() {
    let gate = Gate::new();
    let rpc = rpc(&gate);
    let (mut ours, theirs) = duplex(64 << 10);
    let mut settings = settings(Format::Edn, Framing::Lines);
    (settings.in_flight, settings.place_timeout) = (1, Duration::ZERO);
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

    let settings = self::settings(Format::Edn, Framing::Lines);
    let said = said(settings, r#"{:jsonrpc "2.0" :method "large" :id :large}"#).await;
    assert!(said.starts_with("{:jsonrpc \"2.0\", :error {:code -32006,"), "{said}");
    assert!(said.contains("the call was run") && said.ends_with(":id :large}\n"), "{said}");
}

/// History is told in JSON, whatever the wire has.
#[tokio::test]
async fn what_is_kept() {
    let history = History::new(history::HistoryConfig::default());
    let rpc = rpc(&Gate::new()).with_history(history.clone());
    let (mut ours, theirs) = duplex(64 << 10);
    let settings = settings(Format::Edn, Framing::Lines);
    let serving = tokio::spawn(async move { stream::serve(&rpc, theirs, settings).await });
    ours.write_all(CALL.as_bytes()).await.unwrap();
    ours.shutdown().await.unwrap();
    in_time("the end of serving", serving).await.unwrap().unwrap();
    let page = history.entries(&Filter::default());
    let kept = serde_json::to_value(&*page.entries[0]).unwrap();
    assert_eq!(kept["response"]["text"], r#"{"jsonrpc":"2.0","result":42,"id":1}"#, "{kept}");
}

#[tokio::test]
async fn a_unix_socket() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("edn");
    let stream = settings(Format::Edn, Framing::Lines);
    let settings = unix::UnixConfig { stream, ..Default::default() };
    let server =
        unix::Server::bind(&path).settings(settings).serve(rpc(&Gate::new())).await.unwrap();
    let mut socket = UnixStream::connect(&path).await.unwrap();
    socket.write_all(format!("{CALL}\n[{CALL}]\n").as_bytes()).await.unwrap();
    socket.shutdown().await.unwrap();
    let mut said = String::new();
    in_time("the end", socket.read_to_string(&mut said)).await.unwrap();
    assert_eq!(said, format!("{RESULT}\n[{RESULT}]\n"));
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
