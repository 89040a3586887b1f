//! Tools that are added and removed while clients are connected.

use std::io::{self, PipeWriter, Write};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use trunkline::protocol::Incoming;
use trunkline::{DynamicOperations, Operation, Router, Rpc, Server, code};
use trunkline_mcp::Mcp;
use trunkline_mcp::tools::ToolError;

use crate::support::{
    Client, Gate, Pipes, assert_fits, completed, headers_of, in_time, legacy, modern, post,
    settings,
};

/// Tools of these names, each of which answers its name.
fn tools(names: &[&'static str]) -> Router {
    let tool = |name: &&'static str| {
        let name = *name;
        Operation::new(name, move || name).tool(name)
    };
    names.iter().map(tool).fold(Router::new(), Router::operation)
}

/// The static tool `fixed` and a set of dynamic tools.
fn service() -> (Rpc, DynamicOperations) {
    let changing = DynamicOperations::new();
    (tools(&["fixed"]).dynamic("tool", &changing).build().unwrap(), changing)
}

fn server() -> (Mcp, DynamicOperations) {
    let (rpc, changing) = service();
    (Mcp::new(rpc, settings()).unwrap(), changing)
}

fn call(tool: &str) -> Value {
    legacy("tools/call", json!({ "name": tool }))
}

fn initialize() -> Value {
    legacy("initialize", json!({ "protocolVersion": "2025-11-25" }))
}

fn initialized() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })
}

fn changed() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" })
}

/// The names in a reply to `tools/list`.
fn listed(reply: &Value) -> Vec<&str> {
    let tools = reply["result"]["tools"].as_array().unwrap_or_else(|| panic!("{reply}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

async fn ask(pipes: &mut Pipes, message: &Value) -> Value {
    pipes.send([message]);
    pipes.next().await.expect("a reply")
}

/// Asks for the list, in both eras, and calls each of its tools.
async fn check(pipes: &mut Pipes, expected: &[&str]) {
    for list in [legacy("tools/list", json!({})), modern("tools/list", json!({}))] {
        assert_eq!(listed(&ask(pipes, &list).await), expected);
    }
    for name in expected {
        let result = completed(1, name);
        assert_fits(name, &result, &ask(pipes, &call(name)).await);
    }
}

#[tokio::test]
async fn a_client_with_a_channel_is_notified_and_lists_the_new_tools() {
    let (mcp, changing) = server();
    changing.replace(tools(&["a"])).unwrap();
    let mut pipes = Pipes::of(mcp.clone(), Gate::new());
    let greeting = ask(&mut pipes, &initialize()).await;
    assert_eq!(greeting["result"]["capabilities"]["tools"], json!({ "listChanged": true }));
    // Before `notifications/initialized`, the client is not notified.
    changing.replace(tools(&["b"])).unwrap();
    pipes.send([&initialized()]);
    check(&mut pipes, &["fixed", "b"]).await;

    changing.replace(tools(&["d", "c"])).unwrap();
    assert_eq!(pipes.next().await, Some(changed()));
    check(&mut pipes, &["fixed", "d", "c"]).await;
    assert_eq!(mcp.tools(), ["fixed", "d", "c"]);
    let gone = ask(&mut pipes, &call("b")).await;
    assert_fits("a tool that is gone", &json!({ "error": { "code": -32602 } }), &gone);

    changing.replace(Router::new()).unwrap();
    assert_eq!(pipes.next().await, Some(changed()));
    check(&mut pipes, &["fixed"]).await;
    let (rest, ended) = pipes.finish().await;
    assert!(rest.is_empty() && ended.is_ok(), "{rest:?} {ended:?}");
}

#[tokio::test]
async fn a_client_that_is_not_initialized_is_not_notified() {
    let (mcp, changing) = server();
    for message in [initialized(), initialize(), modern("tools/list", json!({}))] {
        let mut pipes = Pipes::of(mcp.clone(), Gate::new());
        pipes.send([&message]);
        // The reply shows that the message was read.
        ask(&mut pipes, &legacy("ping", json!({}))).await;
        changing.replace(tools(&["a"])).unwrap();
        let (rest, _) = pipes.finish().await;
        assert!(!rest.contains(&changed()), "{message}");
    }
}

/// An output that blocks while the lock is held.
struct Held(Arc<Mutex<()>>, PipeWriter);

impl Write for Held {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _turn = self.0.lock().unwrap();
        self.1.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.1.flush()
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_is_notified_once_of_many_changes() {
    let (mcp, changing) = server();
    let lock = Arc::new(Mutex::new(()));
    let output = Arc::clone(&lock);
    let mut pipes = Pipes::with_output(mcp, Gate::new(), |pipe| Held(output, pipe));
    ask(&mut pipes, &initialize()).await;
    // A repeated notification does not subscribe twice.
    pipes.send([&initialized(), &initialized()]);
    ask(&mut pipes, &legacy("ping", json!({}))).await;
    let not_reading = lock.lock().unwrap();
    for round in 0..1_000 {
        changing.replace(tools(if round % 2 == 0 { &["a"] } else { &["b"] })).unwrap();
    }
    drop(not_reading);
    let (told, ended) = pipes.finish().await;
    // One may have been sent before the others were queued.
    assert!([&[changed()][..], &[changed(), changed()]].contains(&&*told), "{told:?}");
    assert!(ended.is_ok(), "{ended:?}");
}

#[tokio::test]
async fn clients_of_http_sse_are_notified_and_others_are_not() {
    let (mcp, changing) = server();
    let service = mcp.rpc().http().merge(mcp.routes()).merge(mcp.sse_routes());
    let server = Server::bind("127.0.0.1:0").serve(service).await.unwrap();
    let connect = || Client::connect(server.local_addr());

    let mut events = connect().await;
    events.send("GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n").await;
    assert_eq!(events.head().await.status, 200);
    let first = events.event().await.unwrap();
    let endpoint = first.strip_prefix("event: endpoint\ndata: ").unwrap();
    for message in [initialize(), initialized(), legacy("ping", json!({}))] {
        let reply = connect().await.ask(post(endpoint, "", message.to_string())).await;
        assert_eq!(reply.status, 202);
    }
    let greeting = events.message().await.unwrap();
    assert_eq!(greeting["result"]["capabilities"]["tools"]["listChanged"], json!(true));
    assert_fits("a ping", &json!({ "result": {} }), &events.message().await.unwrap());
    changing.replace(tools(&["a"])).unwrap();
    assert_eq!(in_time("a notification", events.message()).await, Some(changed()));

    // Plain JSON-RPC has no channel.
    for (path, expected) in [("/", false), ("/mcp", true)] {
        let greeting = connect().await.ask(post(path, "", initialize().to_string())).await;
        let greeting: Value = serde_json::from_slice(&greeting.body).unwrap();
        assert_eq!(greeting["result"]["capabilities"]["tools"]["listChanged"], json!(expected));
    }
    let list = modern("tools/list", json!({}));
    let reply = connect().await.ask(post("/mcp", &headers_of(&list), list.to_string())).await;
    let reply: Value = serde_json::from_slice(&reply.body).unwrap();
    assert_eq!(listed(&reply), ["fixed", "a"]);
    assert_eq!(reply["result"]["ttlMs"], json!(300_000));
    drop(events);
    server.stop().await;
}

/// A tool that MCP clients cannot use.
fn unusable(name: &str, schema: Value) -> Operation {
    Operation::new(name, || 1).tool(name).input_schema(schema)
}

#[test]
fn an_invalid_dynamic_tool_is_left_out() {
    let header = json!({
        "type": "object",
        "properties": { "a": { "type": "string", "x-mcp-header": "no header" } },
    });
    let rows = [
        ("list", json!({ "type": "array" })),
        ("broken", json!({ "type": "object", "properties": 7 })),
        ("header", header),
    ];
    let (rpc, changing) = service();
    let bad = |router: Router, (name, schema): &(&str, Value)| {
        router.operation(unusable(name, schema.clone()))
    };
    let all = rows.iter().fold(tools(&["a"]), bad).merge(tools(&["b"]));
    changing.replace(all).unwrap();
    let mcp = Mcp::new(rpc.clone(), settings()).unwrap();
    assert_eq!(mcp.tools(), ["fixed", "a", "b"]);
    for row in &rows {
        changing.replace(bad(tools(&["c"]), row)).unwrap();
        assert_eq!(mcp.tools(), ["fixed", "c"], "{}", row.0);
        // It is an operation all the same, and `ToolError::of` detects it beforehand.
        assert!(rpc.operations().iter().any(|one| one.name().ends_with(row.0)));
        let error = ToolError::of(row.0, &row.1.clone().into()).expect("a reason").to_string();
        // For a static tool it is an error.
        let fixed = Mcp::new(bad(Router::new(), row).build().unwrap(), settings()).unwrap_err();
        assert_eq!(fixed.to_string(), error);
    }
    assert!(ToolError::of("good", &json!({ "type": "object" }).into()).is_none());
}

#[tokio::test]
async fn tools_are_replaced_while_they_are_called() {
    let (mcp, changing) = server();
    changing.replace(tools(&["stays", "even"])).unwrap();
    let rpc = mcp.rpc();
    let ask = async |tool: &str| {
        let body = call(tool).to_string().into();
        let Incoming::Call(call) = rpc.read(body, trunkline::Extensions::new()) else {
            panic!("a call is a call")
        };
        rpc.answer(call).await.code()
    };
    let changes = std::thread::spawn(move || {
        for next in 1..=300 {
            let other = if next % 2 == 0 { "even" } else { "odd" };
            changing.replace(tools(&["stays", other])).unwrap();
        }
    });
    while !changes.is_finished() {
        assert_eq!([ask("fixed").await, ask("stays").await], [None; 2]);
        let either = [ask("even").await, ask("odd").await];
        let is_known = |code: &Option<i64>| [None, Some(code::TOOL_NOT_FOUND)].contains(code);
        assert!(either.iter().all(is_known), "{either:?}");
    }
    changes.join().unwrap();
    assert_eq!(mcp.tools(), ["fixed", "stays", "even"]);
}
