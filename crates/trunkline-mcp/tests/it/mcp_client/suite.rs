//! The same calls over every transport.

use std::collections::BTreeMap;
use std::env;
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use futures_util::TryStreamExt;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::net::unix::pipe;
use tokio::task::JoinHandle;
use trunkline::client::Http;
use trunkline::stream::StreamError;
use trunkline::{CancellationToken, JsonSchema, Operation, Params, Server, ServerHandle};
use trunkline_mcp::client::{
    CallOptions, Change, Client, Error, McpClientConfig, ProgressCallback, Transport,
};
use trunkline_mcp::tools::{Tool, ToolResult};
use trunkline_mcp::{CompletionTarget, Received, ResourceData};
use trunkline_mcp::{LogLevel, Mcp, Notifier};

use super::handlers::Recorder;
use super::script::config;
use crate::support::{Gate, assert_fits, in_time, offers, router, settings, until};

pub(super) fn raw(value: Value) -> Box<RawValue> {
    to_raw_value(&value).unwrap()
}

pub(super) async fn tool(client: &Client, name: &str) -> Received<Tool> {
    let tools = client.list_tools().await.unwrap().items;
    tools.into_iter().find(|tool| tool.name == name).unwrap()
}

/// Calls the tool `one` without arguments.
pub(super) async fn call(client: &Client) -> Result<Received<ToolResult>, Error> {
    call_with(client, "one", CallOptions::default()).await
}

pub(super) async fn call_with(
    client: &Client,
    name: &str,
    options: CallOptions,
) -> Result<Received<ToolResult>, Error> {
    client.call_tool_with(&tool(client, name).await, &raw(json!({})), options).await
}

/// A transport, and the era of the client.
#[derive(Debug, Clone, Copy)]
enum Over {
    Http,
    LegacyHttp,
    HttpSse,
    /// The server is a process that the client starts.
    Stdio,
    /// The protocol of stdio, in one process.
    Pipes,
}

/// The results of tools.
fn calls() -> Vec<(&'static str, Value, Value)> {
    let failed =
        |part: &str| json!({ "isError": true, "content": [{ "text": format!("*{part}*") }] });
    vec![
        ("add", json!({ "a": 40, "b": 2 }), json!({ "content": [{ "text": "42" }] })),
        ("sum", json!({ "a": 40, "b": 2 }), json!({ "structuredContent": { "sum": 42 } })),
        ("sum", json!({ "a": "40" }), failed("b")),
        ("picky", json!({ "kind": "blue", "size": 0 }), failed("kind")),
        ("mirrored", json!({ "region": "é", "count": 7 }), json!({ "isError": false })),
        ("fail", json!({}), failed("it broke")),
        ("fail_why", json!({}), failed("the disk is full")),
        ("crash", json!({}), json!({ "isError": true })),
        (
            "blocks",
            json!({}),
            json!({ "content": [
                { "type": "text", "text": "one" },
                { "type": "image", "mimeType": "image/png" },
                { "type": "audio", "mimeType": "audio/wav" },
                { "type": "resource", "resource": { "uri": "test://four", "text": "four" } },
            ] }),
        ),
        // Requests to the client.
        ("greet", json!({}), json!({ "content": [{ "text": "Hello, Ada!" }] })),
        ("ask_twice", json!({}), json!({ "content": [{ "text": "Ada Ada, 1 roots" }] })),
        ("ask_model", json!({}), json!({ "content": [{ "text": "1" }] })),
    ]
}

/// Calls what a server offers. `version` is the negotiated revision.
async fn check(over: Over, client: &Client, version: &str, recorder: &Recorder) {
    let server = client.server();
    assert_eq!(server.protocol_version, version, "{over:?}");
    assert_eq!((&*server.name, &*server.version), ("test-server", "1.2.3"));
    assert_eq!(server.instructions.as_deref(), Some("Call the tools."));
    assert!(server.capabilities.tools && server.capabilities.prompts);
    client.ping().await.unwrap();

    for (name, arguments, expected) in calls() {
        let (tool, arguments) = (tool(client, name).await, raw(arguments));
        let result = in_time(name, client.call_tool(&tool, &arguments)).await;
        let result = result.unwrap_or_else(|error| panic!("{over:?}, {name}: {error}"));
        let found = serde_json::from_str(result.object().get()).unwrap();
        assert_fits(&format!("{over:?}, {name} {arguments}"), &expected, &found);
    }
    // The session has a limit of time, and the stateless era one of rounds.
    let endless = in_time("ask_forever", call_with(client, "ask_forever", CallOptions::default()));
    if let Ok(endless) = endless.await {
        assert!(endless.is_error, "{}", endless.object());
    }

    check_notifications(client, recorder).await;
    check_resources(client).await;
    check_prompts(client).await;
    check_cancellation(client).await;
}

async fn check_notifications(client: &Client, recorder: &Recorder) {
    let steps = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&steps);
    let mut options = CallOptions::default();
    options.progress =
        Some(ProgressCallback::new(move |update| log.lock().unwrap().push(update.progress)));
    let call = call_with(client, "steps", options);
    assert!(!call.await.unwrap().is_error);
    assert_eq!(*steps.lock().unwrap(), [0.0, 50.0, 100.0]);

    client.set_level(LogLevel::Warning).await.unwrap();
    call_with(client, "logs", CallOptions::default()).await.unwrap();
    let levels: Vec<_> = recorder.logs().iter().map(|message| message.level).collect();
    assert_eq!(levels, [LogLevel::Warning, LogLevel::Emergency]);

    in_time("to subscribe", client.subscribe("r://text")).await.unwrap();
    let update = tool(client, "update").await;
    for uri in ["r://json", "r://text"] {
        client.call_tool(&update, &raw(json!({ "uri": uri }))).await.unwrap();
    }
    let text = Change::Resource("r://text".to_owned());
    until("the update", || recorder.changes().contains(&text)).await;
    assert!(!recorder.changes().contains(&Change::Resource("r://json".to_owned())));
    in_time("to unsubscribe", client.unsubscribe("r://text")).await.unwrap();
}

async fn check_resources(client: &Client) {
    let resources = client.list_resources().await.unwrap().items;
    assert!(resources.iter().any(|it| it.uri == "r://text" && it.title.is_some()));
    let pages: Vec<_> = client.resource_pages().try_collect().await.unwrap();
    assert_eq!(pages.iter().map(|page| page.items.len()).sum::<usize>(), resources.len());
    let templates = client.list_resource_templates().await.unwrap().items;
    assert!(templates.iter().any(|it| it.uri_template == "r://pages/{name}"));
    for (uri, text, blob) in [
        ("r://text", Some("some \"text\""), None),
        ("r://binary", None, Some("AP8=")),
        ("r://pages/one", Some("one"), None),
    ] {
        let read = client.read_resource(uri).await.unwrap();
        let [contents] = &*read.contents else { panic!("{uri}: {read:?}") };
        let found = match &contents.data {
            ResourceData::Text(text) => (Some(&**text), None),
            ResourceData::Blob(blob) => (None, Some(&**blob)),
        };
        assert_eq!(found, (text, blob), "{uri}");
    }
    let missing = client.read_resource("r://nothing").await.unwrap_err();
    assert!(missing.error_object().is_some(), "{missing}");
}

async fn check_prompts(client: &Client) {
    let prompts = client.list_prompts().await.unwrap().items;
    let declared = prompts.iter().find(|prompt| prompt.name == "declared").unwrap();
    assert!(declared.arguments[0].required);
    let typed = BTreeMap::from([("count".to_owned(), "41".to_owned())]);
    let typed = client.get_prompt("typed", &typed).await.unwrap();
    assert_eq!(typed.messages[0].content.as_text(), Some("42"));
    let missing = client.get_prompt("declared", &BTreeMap::new()).await.unwrap_err();
    assert_eq!(missing.error_object().unwrap().code(), -32602);
    let target = CompletionTarget::Prompt("declared".to_owned());
    let names = client.complete(&target, ("must", "a"), &BTreeMap::new()).await.unwrap();
    assert!(names.values.contains(&"Anna".to_owned()), "{names:?}");
}

async fn check_cancellation(client: &Client) {
    let entered = visits(client, "entered").await;
    let mut dropped = Box::pin(call_with(client, "wait", CallOptions::default()));
    in_time("the tool", async {
        tokio::select! {
            result = &mut dropped => panic!("{result:?}"),
            () = until_visits(client, "entered", entered + 1) => {}
        }
    })
    .await;
    drop(dropped);
    in_time("the cancellation", until_visits(client, "dropped", 1)).await;
}

/// A counter of the server's gate.
async fn visits(client: &Client, counter: &str) -> u64 {
    let visits = call_with(client, "visits", CallOptions::default()).await.unwrap();
    let visits: Value = serde_json::from_str(visits.object().get()).unwrap();
    visits["structuredContent"][counter].as_u64().unwrap()
}

async fn until_visits(client: &Client, counter: &str, expected: u64) {
    while visits(client, counter).await < expected {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
struct Update {
    uri: String,
}

/// A server that clients can control, also from another process.
fn server() -> Mcp {
    let gate = Gate::new();
    let notifier = Arc::new(OnceLock::<Notifier>::new());
    let (counters, updates) = (gate.clone(), Arc::clone(&notifier));
    let visits = move || json!({ "entered": counters.entered(), "dropped": counters.dropped() });
    let update = move |Params(Update { uri })| updates.get().unwrap().resource_updated(&uri);
    let router = router(&gate)
        .merge(offers())
        .operation(Operation::new("t.visits", visits).tool("visits"))
        .operation(Operation::new("t.update", update).input::<Update>().tool("update"));
    let mcp = Mcp::new(router.build().unwrap(), settings()).unwrap();
    notifier.set(mcp.notifier()).unwrap();
    mcp
}

async fn serve(mcp: &Mcp) -> ServerHandle {
    let service = mcp.rpc().http().merge(mcp.routes()).merge(mcp.sse_routes());
    Server::bind("127.0.0.1:0").serve(service).await.unwrap()
}

async fn check_over(over: Over, version: &str) {
    let recorder = Arc::new(Recorder::default());
    let mut config = config();
    config.handler = recorder.clone();
    let mcp = server();
    let handle = serve(&mcp).await;
    let http =
        |path: &str| Http::connect(&format!("http://{}{path}", handle.local_addr())).unwrap();
    let mut serving = None;
    let connecting = match over {
        Over::Http => Client::connect(http("/mcp"), config).await,
        Over::LegacyHttp => {
            let http = http("/mcp");
            config.eras.assume_legacy(&http);
            Client::connect(http, config).await
        }
        Over::HttpSse => Client::connect(http("/sse"), config).await,
        Over::Stdio => Client::connect(process(), config).await,
        Over::Pipes => {
            let (client, served) = connect_over_pipes(&mcp, config).await;
            serving = Some(served);
            Ok(client)
        }
    };
    let client = connecting.unwrap_or_else(|error| panic!("{over:?}: {error}"));
    check(over, &client, version, &recorder).await;
    in_time("to close", client.close()).await;
    if let Some(serving) = serving {
        in_time("the end of serving", serving).await.unwrap().unwrap();
    }
    assert_eq!(mcp.stop(Duration::from_secs(10)).await, 0, "{over:?}");
    assert!(handle.stop().await.is_complete(), "{over:?}");
}

#[tokio::test]
async fn all_transports() {
    for (over, version) in [
        (Over::Http, "2026-07-28"),
        (Over::LegacyHttp, "2025-11-25"),
        (Over::HttpSse, "2025-11-25"),
        (Over::Stdio, "2026-07-28"),
        (Over::Pipes, "2026-07-28"),
    ] {
        check_over(over, version).await;
    }
}

/// The variable of the process of a server.
const PROCESS: &str = "TRUNKLINE_TEST_SUITE_SERVER";

fn process() -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "mcp_client::suite::the_process_of_a_server", "--nocapture"]);
    command.env(PROCESS, "1");
    command
}

/// Serves stdin and stdout if this is the process of a server.
#[test]
fn the_process_of_a_server() {
    if env::var_os(PROCESS).is_none() {
        return;
    }
    // The runner of tests has begun a line.
    println!();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let closing = CancellationToken::new();
        server().serve_stdio(std::io::stdin(), std::io::stdout(), closing).await.unwrap();
    });
    std::process::exit(0);
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
