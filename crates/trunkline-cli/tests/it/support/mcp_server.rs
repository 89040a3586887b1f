//! An MCP server in this process, whose tools use what clients may offer.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use trunkline::tool::ToolOperation;
use trunkline::{Json, JsonSchema, Operation, Params, Router};
use trunkline_mcp::{
    Block, Contents, ElicitResult, Log, LogLevel, Mcp, McpConfig, McpOperation, Peer, PeerError,
    Progress, Prompt, PromptMessage, Resource, ResourceTemplate, TaskConfig, TaskSupport,
};

/// A running server. It ends when it is dropped.
pub(crate) struct McpServer {
    pub(crate) url: String,
    /// The events of the tool `wait`.
    pub(crate) events: Receiver<&'static str>,
    /// Lets the tool `advance` continue.
    pub(crate) go_on: Arc<Notify>,
    mcp: Mcp,
    _runtime: Runtime,
}

/// The text that the tools send to show that it is escaped.
const HOSTILE: &str = "\u{1b}[2Jhostile";

impl McpServer {
    pub(crate) fn start() -> Self {
        let (sender, events) = channel();
        let sender = Arc::new(Mutex::new(sender));
        let go_on = Arc::new(Notify::new());
        let continued = Arc::clone(&go_on);
        let waiting = move || {
            let ended = Ended(Arc::clone(&sender));
            async move {
                ended.send("started");
                std::future::pending::<()>().await;
                Block::text("never")
            }
        };
        let continued_task = Arc::clone(&go_on);
        let build = move |client: Peer, progress: Progress| {
            let continued = Arc::clone(&continued_task);
            async move {
                client.start_task();
                progress.report(1.0, None, Some(&format!("compiling {HOSTILE}")));
                continued.notified().await;
                Block::text("built")
            }
        };
        let advance = move |progress: Progress, log: Log| {
            let continued = Arc::clone(&continued);
            async move {
                log.send(LogLevel::Info, "about to begin");
                log.send(LogLevel::Error, &json!({ "text": HOSTILE }));
                progress.report(1.0, Some(4.0), Some(&format!("one {HOSTILE}")));
                continued.notified().await;
                Block::text("advanced")
            }
        };
        let reads = AtomicU32::new(1);
        let counter = move || format!("read {}", reads.fetch_add(1, Ordering::Relaxed));
        let template = ResourceTemplate::new("test://items/{id}", "item").mime_type("text/plain");
        let router = Router::new()
            .operation(tool("wait_in_task", waiting.clone()).blocks().task(TaskSupport::Required))
            .operation(tool("wait", waiting).blocks())
            .operation(tool("build", build).blocks().task(TaskSupport::Required))
            .operation(tool("advance", advance).blocks())
            .operation(tool("form", form).blocks())
            .operation(tool("visit", visit).blocks())
            .operation(tool("roots", roots).blocks())
            .operation(tool("pictures", pictures).blocks())
            .operation(
                Operation::new("counter", counter)
                    .description("Changes.")
                    .resource(Resource::new("test://counter", "counter").mime_type("text/plain")),
            )
            .operation(
                Operation::new("logo", || Contents::binary(PICTURE))
                    .description("Bytes.")
                    .resource(Resource::new("test://a/logo.png", "logo").mime_type("image/png")),
            )
            .operation(
                Operation::new("rows", || Json(json!([{ "a": 1 }, { "a": 2 }])))
                    .description("Rows.")
                    .resource(Resource::new("test://rows", "rows").mime_type("application/json")),
            )
            .operation(
                Operation::new("item", |Params(Item { id }): Params<Item>| format!("item {id}"))
                    .description("One item.")
                    .resource_template(template),
            )
            .operation(
                Operation::new("greet", greet)
                    .description("Greets someone.")
                    .input::<Greeting>()
                    .prompt(Prompt::new("greet")),
            );
        let rpc = router.build().unwrap();
        let tasks = TaskConfig { after: Duration::ZERO, ..TaskConfig::default() };
        let config = McpConfig { tasks, ..McpConfig::new("test-server", "1.0.0") };
        let mcp = Mcp::new(rpc, config).unwrap();
        let runtime = Runtime::new().unwrap();
        let service = mcp.rpc().http().merge(mcp.routes());
        let server = trunkline::Server::bind("127.0.0.1:0").serve(service);
        let server = runtime.block_on(server).unwrap();
        let url = format!("http://{}/mcp", server.local_addr());
        // It lives as long as the runtime.
        std::mem::forget(server);
        Self { url, events, go_on, mcp, _runtime: runtime }
    }

    /// Notifies clients of a change of the resource `test://counter`.
    pub(crate) fn change(&self) {
        self.mcp.resource_updated("test://counter");
    }
}

/// Sends an event when the call has ended.
struct Ended(Arc<Mutex<Sender<&'static str>>>);

impl Ended {
    fn send(&self, event: &'static str) {
        self.0.lock().unwrap().send(event).ok();
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        self.send("ended");
    }
}

fn tool<H, M: 'static>(name: &str, handler: H) -> Operation
where
    H: trunkline::protocol::Handler<M, ()>,
{
    Operation::new(name, handler).description("A tool.").tool(name).read_only()
}

async fn form(client: Peer) -> Result<Block, PeerError> {
    let titled = json!([{ "const": "r", "title": "Red" }, { "const": "g", "title": HOSTILE }]);
    let schema = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "minLength": 2, "description": HOSTILE },
            "age": { "type": "integer", "minimum": 0, "maximum": 150, "default": 30 },
            "colour": { "type": "string", "oneOf": titled },
            "tags": { "type": "array", "items": { "type": "string", "enum": ["x", "y", "z"] } },
            "agrees": { "type": "boolean" },
        },
        "required": ["name", "colour"],
    });
    let message = format!("Who are you? {HOSTILE}");
    let answer: ElicitResult<Value> = client.elicit_form("who", &message, schema).await?;
    Ok(Block::text(match answer {
        ElicitResult::Accept(content) => format!("accepted {content}"),
        ElicitResult::Decline => "was declined".to_owned(),
        ElicitResult::Cancel => "was cancelled".to_owned(),
    }))
}

async fn visit(client: Peer) -> Result<Block, PeerError> {
    let url = "https://example.com/pay?id=7";
    Ok(Block::text(match client.elicit_url("pay", "Please pay.", url).await? {
        ElicitResult::Accept(()) => "agreed",
        ElicitResult::Decline => "was declined",
        ElicitResult::Cancel => "was cancelled",
    }))
}

async fn roots(client: Peer) -> Result<Block, PeerError> {
    let roots = client.roots("roots").await?;
    Ok(Block::text(roots.into_iter().map(|root| root.uri).collect::<Vec<_>>().join(" ")))
}

pub(crate) const PICTURE: &[u8] = b"not really a picture";

fn pictures() -> Json<Vec<Block>> {
    let png = || Block::image(PICTURE, "image/png");
    Json(vec![Block::text("Two:"), png(), Block::audio(PICTURE, "audio/wav")])
}

#[derive(serde::Deserialize)]
struct Item {
    id: String,
}

#[derive(serde::Deserialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
struct Greeting {
    /// The person.
    name: String,
}

fn greet(Params(Greeting { name }): Params<Greeting>) -> Json<Vec<PromptMessage>> {
    Json(vec![
        PromptMessage::user(format!("Greet {name} {HOSTILE}")),
        PromptMessage::assistant(Block::image(PICTURE, "image/png")),
    ])
}
