//! The same calls over every transport.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures_util::TryStreamExt;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::net::unix::pipe;
use tokio::task::JoinHandle;
use trunkline::CancellationToken;
use trunkline::client::Http;
use trunkline::stream::StreamError;
use trunkline_mcp::client::{
    CallOptions, Change, Client, CompletionTarget, Error, McpClientConfig, ProgressCallback, Tool,
    ToolResult, Transport,
};
use trunkline_mcp::{LogLevel, Mcp};

use super::handlers::Recorder;
use super::script::config;
use crate::support::{Gate, TestServer, in_time, offers, router, serve_mcp, settings, until};

pub(super) fn raw(value: Value) -> Box<RawValue> {
    to_raw_value(&value).unwrap()
}

pub(super) async fn tool(client: &Client, name: &str) -> Tool {
    let tools = client.list_tools().await.unwrap().items;
    tools.into_iter().find(|tool| tool.name == name).unwrap()
}

/// Calls the tool `one` without arguments.
pub(super) async fn call(client: &Client) -> Result<ToolResult, Error> {
    call_with(client, "one", CallOptions::default()).await
}

pub(super) async fn call_with(
    client: &Client,
    name: &str,
    options: CallOptions,
) -> Result<ToolResult, Error> {
    client.call_tool_with(&tool(client, name).await, &raw(json!({})), options).await
}

/// A configuration with a handler, which is returned.
fn with_recorder() -> (McpClientConfig, Arc<Recorder>) {
    let recorder = Arc::new(Recorder::default());
    let mut config = config();
    config.handler = recorder.clone();
    (config, recorder)
}

/// Checks requests and notifications of the server.
async fn check_handler(client: &Client, recorder: &Recorder, mcp: &Mcp) {
    for (name, expected) in
        [("greet", "Hello, Ada!"), ("ask_twice", "Ada Ada, 1 roots"), ("ask_model", "1")]
    {
        let answered = in_time(name, call_with(client, name, CallOptions::default())).await;
        let answered = answered.unwrap();
        let text = answered.content[0]["text"].as_str().unwrap();
        assert_eq!(text, expected, "{}", answered.object);
    }
    let endless = in_time("ask_forever", call_with(client, "ask_forever", CallOptions::default()));
    if let Ok(endless) = endless.await {
        assert!(endless.is_error, "{}", endless.object);
    }

    in_time("to subscribe", client.subscribe("r://text")).await.unwrap();
    mcp.resource_updated("r://json");
    mcp.resource_updated("r://text");
    let text = Change::Resource("r://text".to_owned());
    until("the update", || recorder.changes().contains(&text)).await;
    assert!(!recorder.changes().contains(&Change::Resource("r://json".to_owned())));
    in_time("to unsubscribe", client.unsubscribe("r://text")).await.unwrap();
}

/// Calls what a server offers. `version` is the negotiated revision.
async fn check(client: &Client, gate: &Gate, version: &str) {
    assert_eq!(client.server().protocol_version, version);
    assert_eq!((&*client.server().name, &*client.server().version), ("test-server", "1.2.3"));
    assert_eq!(client.server().instructions.as_deref(), Some("Call the tools."));
    assert!(client.server().capabilities.tools && client.server().capabilities.prompts);
    client.ping().await.unwrap();

    let sum = client.call_tool(&tool(client, "sum").await, &raw(json!({ "a": 40, "b": 2 }))).await;
    assert_eq!(sum.unwrap().structured.unwrap().get(), r#"{"sum":42}"#);
    let mirrored = raw(json!({ "region": "é", "count": 7 }));
    let echo = client.call_tool(&tool(client, "mirrored").await, &mirrored).await.unwrap();
    assert!(!echo.is_error, "{}", echo.object);
    let failed = call_with(client, "fail", CallOptions::default()).await.unwrap();
    assert!(failed.is_error);
    let missing = client.read_resource("r://nothing").await.unwrap_err();
    assert!(missing.error_object().is_some(), "{missing}");

    let steps = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&steps);
    let mut options = CallOptions::default();
    options.progress =
        Some(ProgressCallback::new(move |update| log.lock().unwrap().push(update.progress)));
    let call = call_with(client, "steps", options);
    assert!(!call.await.unwrap().is_error);
    assert_eq!(*steps.lock().unwrap(), [0.0, 50.0, 100.0]);

    let resources = client.list_resources().await.unwrap().items;
    assert!(resources.iter().any(|it| it.uri == "r://text" && it.title.is_some()));
    let pages: Vec<_> = client.resource_pages().try_collect().await.unwrap();
    assert_eq!(pages.iter().map(|page| page.items.len()).sum::<usize>(), resources.len());
    let templates = client.list_resource_templates().await.unwrap().items;
    assert!(templates.iter().any(|it| it.uri_template == "r://pages/{name}"));
    let text = client.read_resource("r://text").await.unwrap();
    assert_eq!(text.contents[0].text.as_deref(), Some("some \"text\""));
    let binary = client.read_resource("r://binary").await.unwrap();
    assert_eq!(binary.contents[0].blob.as_deref(), Some("AP8="));

    let prompts = client.list_prompts().await.unwrap().items;
    let declared = prompts.iter().find(|prompt| prompt.name == "declared").unwrap();
    assert!(declared.arguments[0].required);
    let typed = BTreeMap::from([("count".to_owned(), "41".to_owned())]);
    let typed = client.get_prompt("typed", &typed).await.unwrap();
    assert_eq!(typed.messages[0].content["text"], "42");
    let target = CompletionTarget::Prompt("declared");
    let names = client.complete(target, ("must", "a"), &BTreeMap::new()).await.unwrap();
    assert!(names.values.contains(&"Anna".to_owned()), "{names:?}");

    let entered = gate.entered();
    let mut dropped = Box::pin(call_with(client, "wait", CallOptions::default()));
    in_time("the tool", async {
        tokio::select! {
            result = &mut dropped => panic!("{result:?}"),
            () = until("to enter", || gate.entered() > entered) => {}
        }
    })
    .await;
    drop(dropped);
    until("the cancellation", || gate.dropped() > 0).await;
}

async fn start() -> (Mcp, TestServer) {
    serve_mcp(settings()).await
}

fn url(server: &TestServer, path: &str) -> Http {
    Http::connect(&format!("http://{}{path}", server.handle.local_addr())).unwrap()
}

#[tokio::test]
async fn over_http() {
    for (path, is_legacy, version) in
        [("/mcp", false, "2026-07-28"), ("/mcp", true, "2025-11-25"), ("/sse", false, "2025-11-25")]
    {
        let (mcp, server) = start().await;
        let (config, recorder) = with_recorder();
        let http = url(&server, path);
        if is_legacy {
            config.eras.assume_legacy(&http);
        }
        let client = in_time("to connect", Client::connect(http, config)).await.unwrap();
        check(&client, &server.gate, version).await;
        check_handler(&client, &recorder, &mcp).await;
        in_time("to close", client.close()).await;
        server.closing.cancel();
    }
}

/// A client of a server over the transport of stdio, and the end of the server.
pub(super) async fn connect_over_pipes(
    mcp: &Mcp,
    config: McpClientConfig,
) -> (Client, JoinHandle<Result<(), StreamError>>) {
    let (input, to_server) = std::io::pipe().unwrap();
    let (from_server, output) = std::io::pipe().unwrap();
    let served = mcp.clone();
    let serving =
        tokio::spawn(
            async move { served.serve_stdio(input, output, CancellationToken::new()).await },
        );
    let transport = Transport::stream(
        pipe::Receiver::from_owned_fd(from_server.into()).unwrap(),
        pipe::Sender::from_owned_fd(to_server.into()).unwrap(),
    );
    let client = in_time("to connect", Client::connect(transport, config)).await.unwrap();
    (client, serving)
}

#[tokio::test]
async fn over_pipes_in_this_process() {
    let gate = Gate::new();
    let rpc = router(&gate).merge(offers()).build().unwrap();
    let mcp = Mcp::new(rpc, settings()).unwrap();
    let (config, recorder) = with_recorder();
    let (client, serving) = connect_over_pipes(&mcp, config).await;
    check(&client, &gate, "2026-07-28").await;
    check_handler(&client, &recorder, &mcp).await;
    in_time("to close", client.close()).await;
    in_time("the end of serving", serving).await.unwrap().unwrap();
}

#[tokio::test]
async fn log_messages() {
    let (_mcp, server) = start().await;
    for path in ["/mcp", "/sse"] {
        let (config, recorder) = with_recorder();
        let client = Client::connect(url(&server, path), config).await.unwrap();
        client.set_level(LogLevel::Warning).await.unwrap();
        call_with(&client, "logs", CallOptions::default()).await.unwrap();
        let levels: Vec<_> = recorder.logs().iter().map(|message| message.level).collect();
        assert_eq!(levels, [LogLevel::Warning, LogLevel::Emergency], "{path}");
        client.close().await;
    }
    server.closing.cancel();
}
