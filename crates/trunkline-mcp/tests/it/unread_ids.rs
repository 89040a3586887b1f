//! Requests that are refused before they are parsed: the error has their id, so that no client waits for its timeout.

use serde_json::{Value, json};
use trunkline_mcp::McpConfig;

use crate::support::{Pipes, TestServer, assert_fits, legacy, post, serve, settings};

/// A request with this argument, with its id first, as Python and Go programs write it, or last, as the SDK for
/// TypeScript does.
fn requests(argument: &[u8]) -> [Vec<u8>; 2] {
    let call = br#""method":"tools/call","params":{"name":"echo","arguments":{"id":1,"a":"#;
    [
        [br#"{"jsonrpc":"2.0","id":77,"#, &call[..], argument, b"}}}"].concat(),
        [b"{", &call[..], argument, br#"}},"jsonrpc":"2.0","id":77}"#].concat(),
    ]
}

/// Sends a message over each transport. Each replies with an error with this code and id, or with a result.
async fn check(server: &TestServer, name: &str, message: &[u8], id: Value, code: Option<i64>) {
    let shown = format!("{name}: {}", String::from_utf8_lossy(&message[..message.len().min(200)]));
    let check_reply = |transport: &str, reply: &Value, id: &Value| {
        let row = format!("{transport}: {shown}");
        assert_eq!(reply.get("id").unwrap_or(&Value::Null), id, "{row}\n{reply}");
        assert_eq!(reply["error"]["code"].as_i64(), code, "{row}\n{reply}");
        assert!(transport == "/" || reply.get("id") != Some(&Value::Null), "{row}\n{reply}");
    };

    let mut pipes = Pipes::open(settings());
    pipes.write([message, b"\n"].concat());
    check_reply("stdio", &pipes.next().await.unwrap(), &id);

    const BOTH: &str = "Accept: application/json, text/event-stream\r\n";
    let reply = server.client().await.ask(post("/mcp", BOTH, message)).await;
    assert_eq!(reply.status, if code.is_some() { 400 } else { 200 }, "{shown}");
    check_reply("/mcp", &reply.json(), &id);

    let mut events = server.client().await;
    events.send("GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n").await;
    assert_eq!(events.head().await.status, 200);
    let first = events.event().await.unwrap();
    let endpoint = first.strip_prefix("event: endpoint\ndata: ").unwrap();
    assert_eq!(server.client().await.ask(post(endpoint, "", message)).await.status, 202);
    check_reply("HTTP+SSE", &events.message().await.unwrap(), &id);

    // JSON-RPC 2.0, section 5: the id of a body that is not JSON is null.
    if code == Some(-32700) {
        let reply = server.client().await.ask(post("/", "", message)).await;
        check_reply("/", &reply.json(), &Value::Null);
    }
}

#[tokio::test]
async fn defects_of_values_do_not_hide_the_id() {
    let server = serve(settings(), Default::default()).await;
    let deep = "[".repeat(200) + &"]".repeat(200);
    let rows: [(&str, &[u8]); 10] = [
        ("a lone surrogate, as JSON.stringify writes it", br#""\ud83d""#),
        ("a lone low surrogate", br#""\ude00a""#),
        ("a byte that is not UTF-8", b"\"a\x97b\""),
        ("a name that is not UTF-8", b"{\"\xe9\":1}"),
        ("nesting", deep.as_bytes()),
        ("a control character", b"\"a\x01b\tc\""),
        ("an unknown escape", br#""C:\Users\x""#),
        ("NaN, as Python writes it", b"[NaN, -Infinity]"),
        ("a trailing comma", b"[1,]"),
        ("brackets and quotes in a string", br#""}}},\"id\":9,\ud83d""#),
    ];
    for (name, argument) in rows {
        for message in requests(argument) {
            check(&server, name, &message, json!(77), Some(-32700)).await;
        }
    }
}

#[tokio::test]
async fn ambiguous_ids_are_omitted() {
    let server = serve(settings(), Default::default()).await;
    let bad = r#""params":{"a":"\ud83d"}"#;
    let rows: [(&str, String, Value); 9] = [
        ("text", format!(r#"{{"id":"a\u00e9","method":"m",{bad}}}"#), json!("a\u{e9}")),
        ("a negative id", format!(r#"{{"id":-7,"method":"m",{bad}}}"#), json!(-7)),
        ("no id", format!(r#"{{"method":"m",{bad}}}"#), Value::Null),
        ("null", format!(r#"{{"id":null,"method":"m",{bad}}}"#), Value::Null),
        ("a fraction", format!(r#"{{"id":1.5,"method":"m",{bad}}}"#), Value::Null),
        ("two ids", format!(r#"{{"id":7,"method":"m",{bad},"id":7}}"#), Value::Null),
        ("a batch", format!(r#"[{{"id":7,"method":"m",{bad}}}]"#), Value::Null),
        (
            "two messages",
            format!(r#"{{"id":7,"method":"m"}}{{"id":8,"method":"m",{bad}}}"#),
            Value::Null,
        ),
        (
            "quotes in a string",
            r#"{"id":7,"method":"m","params":{"a":"say "hi""}}"#.to_owned(),
            Value::Null,
        ),
    ];
    for (name, message, id) in rows {
        check(&server, name, message.as_bytes(), id, Some(-32700)).await;
    }
}

#[tokio::test]
async fn byte_order_marks_and_line_breaks_before_a_message_are_ignored() {
    let server = serve(settings(), Default::default()).await;
    let ping = json!({ "jsonrpc": "2.0", "id": 5, "method": "ping" });
    for before in ["\u{feff}", "\r\n", "\u{feff}\r\n", "\u{feff} "] {
        check(
            &server,
            &format!("{before:?}"),
            format!("{before}{ping}").as_bytes(),
            json!(5),
            None,
        )
        .await;
    }
    // Plain JSON-RPC has no byte-order marks.
    let reply = server.client().await.ask(post("/", "", format!("\u{feff}{ping}"))).await;
    assert_fits("plain", &json!({ "id": null, "error": { "code": -32700 } }), &reply.json());
}

#[tokio::test]
async fn a_line_over_the_limit_has_its_id() {
    let long = "x".repeat(200_000);
    for message in requests(format!("\"{long}\"").as_bytes()) {
        let mut pipes = Pipes::open(McpConfig { line_bytes: 64 << 10, ..settings() });
        pipes.write([&message[..], b"\n"].concat());
        let expected = json!({ "id": 77, "error": { "code": -32600 } });
        assert_fits("the whole line", &expected, &pipes.next().await.unwrap());
        // The input ends within the line.
        pipes.write(&message[..150_000]);
        let (rest, _) = pipes.finish().await;
        let is_first = message.starts_with(b"{\"jsonrpc\"");
        let id = if is_first { json!(77) } else { Value::Null };
        assert_eq!(rest[0].get("id").unwrap_or(&Value::Null), &id);
        assert_eq!(rest[0]["error"]["code"], -32600);
    }
}

/// A client that has received such an error could mistake it for the response to its own request with the same id.
#[tokio::test]
async fn a_response_that_cannot_be_parsed_ends_the_wait_for_it() {
    let long = "x".repeat(200_000);
    for content in [r#""\ud83d""#, "NaN", &format!("\"{long}\"")] {
        let mut pipes = Pipes::open(McpConfig { line_bytes: 64 << 10, ..settings() });
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "elicitation": {} },
            "clientInfo": { "name": "t", "version": "1" },
        });
        pipes.send([&legacy("initialize", params)]);
        pipes.next().await.unwrap();
        pipes.send([&legacy("tools/call", json!({ "name": "greet" }))]);
        let request = pipes.next().await.unwrap();
        assert_eq!(request["method"], "elicitation/create");
        let id = &request["id"];
        let result = format!(r#"{{"action":"accept","content":{{"name":{content}}}}}"#);
        pipes.write(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n"));
        let reply = pipes.next().await.unwrap();
        assert_fits(content, &json!({ "id": 1, "result": { "isError": true } }), &reply);
        let (rest, _) = pipes.finish().await;
        assert_eq!(rest, Vec::<Value>::new());
    }
}
