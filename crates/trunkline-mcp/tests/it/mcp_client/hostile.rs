//! Servers that violate the protocol: every call ends with an error, in time and with bounded memory.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trunkline_mcp::client::Error;

use super::script::{
    Answer, Asked, Script, event, events, http, json_text, legacy, modern, result, result_of,
    stream,
};
use super::suite::{call, raw, tool};
use crate::support::in_time;

const LIMIT: usize = 4 << 10;

/// Calls a tool of a server that gives this reply. The error contains `expected`.
async fn check(
    name: &str,
    answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static,
    expected: &str,
) {
    let script = Script::start(move |asked| match asked.method() {
        "tools/call" => answer(asked),
        _ => modern(asked),
    });
    let script = script.await;
    let client = script.connect(|config| {
        config.timeout = Duration::from_secs(3);
        config.message_bytes = LIMIT;
    });
    let client = client.await.unwrap();
    let begin = Instant::now();
    let called = call(&client);
    let called = in_time(name, called).await;
    let error = called.err().unwrap_or_else(|| panic!("{name}: no error"));
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    assert!(text.contains(expected), "{name}: {text}");
    assert!(begin.elapsed() < Duration::from_secs(30), "{name}");
    assert!(text.len() < 1_000, "{name}: {text}");
    // The client remains usable.
    client.list_tools().await.unwrap();
}

fn endless(piece: &'static str) -> impl Fn(&Asked) -> Answer + Send + Sync {
    move |_| {
        let (sender, answer) = stream();
        tokio::spawn(async move {
            while sender.send(piece.to_owned()).is_ok() {
                tokio::task::yield_now().await;
            }
        });
        answer
    }
}

/// Deviations from JSON-RPC 2.0 whose meaning is certain. `ID` is the id of the request.
#[tokio::test]
async fn tolerated_replies() {
    for body in [
        r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[]},"error":null}"#,
        r#"{"jsonrpc":"2.0","error":null,"result":{"content":[]},"id":ID}"#,
        r#"{"jsonrpc":"2.0","id":"ID","result":{"content":[]}}"#,
        r#"{"jsonrpc":"2.0","id":ID.0,"result":{"content":[]}}"#,
        "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":[]}}",
    ] {
        let script = Script::start(move |asked| match asked.method() {
            "tools/call" => {
                let body = body.replace("ID", &asked.body["id"].to_string());
                http("200 OK\nContent-Type: application/json", &body)
            }
            _ => legacy(asked, ""),
        });
        let script = script.await;
        let called = call(&script.client().await).await;
        assert!(called.is_ok(), "{body}: {called:?}");
    }
}

#[tokio::test]
async fn replies_to_calls() {
    let text = |text: &'static str| move |_: &Asked| json_text("200 OK", &Value::from(text));
    check("a text", text("x"), "not an object").await;
    let json =
        |body: &'static str| move |_: &Asked| http("200 OK\nContent-Type: application/json", body);
    check("garbage", json("{\"jsonrpc\": \"2.0\", \"id"), "invalid JSON-RPC 2.0 response").await;
    check("not UTF-8", json("\u{fffd}"), "invalid JSON-RPC 2.0 response").await;
    check("deep", |_| deep(), "").await;
    check("nothing", json(""), "no reply").await;
    let page = |_: &Asked| http("200 OK\nContent-Type: text/html", "<html>");
    check("a page", page, "media type \"text/html\"").await;
    let wrong = |_: &Asked| json_text("200 OK", &json!({"jsonrpc": "2.0", "id": 9, "result": {}}));
    check("another id", wrong, "does not belong to this call").await;
    let both = |asked: &Asked| {
        let mut both = result_of(asked, &json!({}));
        both["error"] = json!({ "code": 1, "message": "m" });
        json_text("200 OK", &both)
    };
    check("a result and an error", both, "both a result and an error").await;
    let large = format!("{{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":\"{}\"}}", "x".repeat(LIMIT));
    let large = move |_: &Asked| http("200 OK\nContent-Type: application/json", &large);
    check("a large reply", large, "exceeds 4096 bytes").await;
    let redirect = |_: &Asked| http("307 Temporary Redirect\nLocation: http://evil/", "");
    check("a redirect", redirect, "redirect to \"http://evil/\" was not followed").await;
    let long = "x".repeat(LIMIT / 2);
    for members in [
        json!({ "content": 7 }),
        json!([]),
        json!({ "content": [], "isError": "no" }),
        json!({ "resultType": long }),
    ] {
        check("members", move |asked| result(asked, &members), "does not conform to MCP").await;
    }
    let silent = |_: &Asked| {
        let (sender, answer) = stream();
        std::mem::forget(sender);
        answer
    };
    check("silence", silent, "did not answer within").await;
}

fn deep() -> Answer {
    let text = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}1{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    http("200 OK\nContent-Type: application/json", &text)
}

#[tokio::test]
async fn streams_of_calls() {
    check("an early end", |_| events(&[]), "no reply to the call").await;
    check("garbage", |_| events(&["data: {]\n\n".to_owned()]), "invalid JSON-RPC").await;
    let wrong = json!({ "jsonrpc": "2.0", "id": 99, "result": {} });
    check("another id", move |_| events(&[event(&wrong)]), "does not belong").await;
    let large = format!("data: {}\n\n", "x".repeat(LIMIT + 1));
    check("a large event", move |_| events(std::slice::from_ref(&large)), "exceeds 4096 bytes")
        .await;
    check("a long line", endless("xxxxxxxxxxxxxxxx"), "exceeds 4096 bytes").await;
    let notification = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n";
    check("an endless stream", endless(notification), "did not answer within").await;
    check("endless comments", endless(": \n\n"), "did not answer within").await;
    let null = "data: {\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}\n\n".to_owned();
    check("a null id", move |_| events(std::slice::from_ref(&null)), "no reply to the call").await;
}

/// Lists the tools of a server that gives this result for each page.
async fn check_list(
    page: impl Fn(&Asked) -> Value + Send + Sync + 'static,
    expected: Result<(usize, usize), &str>,
) {
    let script = Script::start(move |asked| match asked.method() {
        "tools/list" => result(asked, &page(asked)),
        _ => modern(asked),
    });
    let script = script.await;
    let client = script.connect(|config| {
        config.max_pages = 5;
        config.max_items = 10;
        config.list_bytes = 4 * LIMIT;
    });
    let listed = client.await.unwrap().list_tools().await;
    match (listed, expected) {
        (Ok(list), Ok(expected)) => {
            assert_eq!((list.items.len(), list.rejected.len()), expected, "{:?}", list.rejected);
        }
        (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
        (listed, expected) => panic!("{listed:?}, expected {expected:?}"),
    }
}

fn tool_object() -> Value {
    json!({ "name": "t", "inputSchema": {} })
}

#[tokio::test]
async fn lists() {
    check_list(|_| json!({ "tools": [] }), Ok((0, 0))).await;
    // A cursor that was not sent before.
    let next = |asked: &Asked| {
        let cursor = asked.body["params"]["cursor"].as_str().unwrap_or_default();
        format!("{cursor}a")
    };
    let endless = move |asked: &Asked| json!({ "tools": [], "nextCursor": next(asked) });
    check_list(endless, Err("more than 5 pages")).await;
    check_list(|_| json!({ "tools": vec![tool_object(); 11] }), Err("more than 10 items")).await;
    check_list(|_| json!({ "tools": vec![0; 11] }), Err("more than 10 items")).await;
    let large = move |asked: &Asked| json!({ "tools": [], "nextCursor": next(asked), "text": "x".repeat(LIMIT) });
    check_list(large, Err("more than 16384 bytes")).await;
    check_list(
        |_| {
            let header = json!({ "properties": { "a": { "type": "string", "x-mcp-header": "" } } });
            json!({ "tools": [
                { "name": "good", "inputSchema": { "$ref": "http://127.0.0.1:1/schema" } },
                { "name": "no schema" }, 7, { "inputSchema": {} },
                { "name": "header", "inputSchema": header },
            ]})
        },
        Ok((1, 4)),
    )
    .await;
    check_list(|_| json!({ "items": [] }), Err("`tools` is missing")).await;
    check_list(|_| json!([]), Err("does not conform")).await;
    check_list(|_| json!({ "tools": [], "nextCursor": 7 }), Err("does not conform")).await;
}

#[tokio::test]
async fn a_tool_whose_headers_have_changed_is_looked_up() {
    let has_refused = AtomicBool::new(false);
    let script = Script::start(move |asked| match asked.method() {
        "tools/list" => {
            let schema =
                json!({ "properties": { "a": { "type": "string", "x-mcp-header": "A" } } });
            result(
                asked,
                &json!({ "tools": [{ "name": "one", "inputSchema": schema }], "ttlMs": 60_000 }),
            )
        }
        "tools/call" if !has_refused.swap(true, Ordering::SeqCst) => {
            super::script::error("400 Bad Request", asked, -32020, &Value::Null)
        }
        _ => modern(asked),
    });
    let script = script.await;
    let client = script.client().await;
    let one = tool(&client, "one").await;
    client.call_tool(&one, &raw(json!({ "a": "x" }))).await.unwrap();
    assert_eq!(script.asked_for("tools/list").len(), 2);
    assert_eq!(script.asked_for("tools/call")[1].header("mcp-param-a"), Some("x"));
}

#[tokio::test]
async fn connections_that_are_not_http() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            use tokio::io::AsyncWriteExt;
            drop(stream.write_all(b"SSH-2.0-OpenSSH\r\n").await);
        }
    });
    let http = trunkline::client::Http::connect(&format!("http://{address}/mcp")).unwrap();
    let connecting = trunkline_mcp::client::Client::connect(http, super::script::config());
    let error = in_time("to connect", connecting).await.unwrap_err();
    assert!(matches!(error, Error::Request(_)), "{error}");
}
