//! A server of this project as upstream, over Streamable HTTP and as a process, of both eras.

use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use trunkline::{Operation, Params, RawParams, Router};
use trunkline_gateway::{CommandTarget, HttpTarget, Target, UpstreamConfig};
use trunkline_mcp::{
    Completion, CompletionParams, CreateMessageRequest, ElicitResult, Log, LogLevel, Mcp,
    McpConfig, McpOperation, Peer, PeerError, Progress, Prompt, PromptArgument, Resource,
    ResourceTemplate, SubscribedResource,
};

/// The era of an upstream or of a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Modern,
    Legacy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Http,
    Stdio,
}

/// All kinds of upstreams.
pub(crate) const UPSTREAMS: [(Transport, Era); 4] = [
    (Transport::Http, Era::Modern),
    (Transport::Http, Era::Legacy),
    (Transport::Stdio, Era::Modern),
    (Transport::Stdio, Era::Legacy),
];

const MODERN: &str = "2026-07-28";
/// Set for the process of an upstream: its era.
const PROCESS: &str = "TRUNKLINE_TEST_UPSTREAM";

/// A running upstream. Its process ends with its connection.
pub(crate) struct Upstream {
    pub(crate) config: UpstreamConfig,
    _serving: Option<Serving>,
}

/// A server over HTTP, until it is dropped.
pub(crate) struct Serving {
    url: String,
    task: JoinHandle<()>,
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Upstream {
    pub(crate) async fn start(transport: Transport, era: Era) -> Self {
        let (target, serving) = match transport {
            Transport::Http => {
                let serving = serve(era).await;
                (Target::Http(HttpTarget::new(serving.url.parse().unwrap())), Some(serving))
            }
            Transport::Stdio => (Target::Command(process(era)), None),
        };
        let mut config = UpstreamConfig::new(target);
        config.refresh_interval = Duration::from_millis(200);
        // A third of it is the time for the first request, which a process of the legacy era ignores.
        let is_ignored = (transport, era) == (Transport::Stdio, Era::Legacy);
        config.connect_timeout = Duration::from_secs(if is_ignored { 6 } else { 60 });
        config.call_timeout = Duration::from_secs(10);
        Self { config, _serving: serving }
    }
}

fn process(era: Era) -> CommandTarget {
    let test = env::current_exe().unwrap().into_os_string();
    let name = "upstream::the_process_of_an_upstream";
    let arguments = ["--exact", name, "--nocapture"].map(Into::into);
    let mut target = CommandTarget::new([test].into_iter().chain(arguments)).unwrap();
    target.environment = vec![(PROCESS.into(), format!("{era:?}").into())];
    target
}

/// Serves stdin and stdout if this is the process of an upstream.
#[test]
fn the_process_of_an_upstream() {
    let Ok(era) = env::var(PROCESS) else { return };
    // The runner of tests has begun a line.
    println!();
    let input: Box<dyn Read + Send> = match era.as_str() {
        "Legacy" => {
            Box::new(WithoutDiscovery { lines: BufReader::new(std::io::stdin()), rest: Vec::new() })
        }
        _ => Box::new(std::io::stdin()),
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let closing = CancellationToken::new();
        mcp().serve_stdio(input, std::io::stdout(), closing).await.unwrap();
    });
    std::io::stdout().flush().unwrap();
    std::process::exit(0);
}

/// Lines without those of requests that servers of the legacy era do not know.
struct WithoutDiscovery<R> {
    lines: R,
    rest: Vec<u8>,
}

impl<R: BufRead> Read for WithoutDiscovery<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.rest.is_empty() {
            let mut line = Vec::new();
            if self.lines.read_until(b'\n', &mut line)? == 0 {
                return Ok(0);
            }
            if !String::from_utf8_lossy(&line).contains("server/discover") {
                self.rest = line;
            }
        }
        let length = self.rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&self.rest[..length]);
        self.rest.drain(..length);
        Ok(length)
    }
}

/// Serves HTTP. A server of the legacy era refuses requests of the other.
async fn serve(era: Era) -> Serving {
    let mcp = mcp();
    let service = mcp.rpc().http().merge(mcp.routes());
    let app = axum::Router::new().fallback_service(service);
    let app = match era {
        Era::Modern => app,
        Era::Legacy => app.layer(from_fn(refuse_modern)),
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    Serving { url, task }
}

async fn refuse_modern(request: Request, next: Next) -> Response {
    match request.headers().get("mcp-protocol-version") {
        Some(version) if version == MODERN => StatusCode::BAD_REQUEST.into_response(),
        _ => next.run(request).await,
    }
}

/// How often the tool `ask` has begun in this process.
static BEGUN: AtomicU64 = AtomicU64::new(0);

fn mcp() -> Mcp {
    let tool = |operation: Operation, name: &'static str| {
        operation.description("A tool.").input_schema(json!({ "type": "object" })).tool(name)
    };
    let router = Router::new()
        .operation(tool(Operation::new("work", work), "work"))
        .operation(tool(Operation::new("ask", ask), "ask"))
        .operation(tool(Operation::new("name", ask_name), "name"))
        .operation(tool(Operation::new("later", ask_later), "later"))
        .operation(tool(Operation::new("begun", begun), "begun"));
    let own: Arc<OnceLock<Mcp>> = Arc::default();
    let touched = Arc::clone(&own);
    let touch = move || {
        touched.get().unwrap().resource_updated("test://note");
        touched.get().unwrap().resource_updated("test://items/7");
        "touched"
    };
    let subscribed: Arc<Mutex<Option<SubscribedResource>>> = Arc::default();
    let current = Arc::clone(&subscribed);
    let note = Operation::new("note", || "A note.").resource(Resource::new("test://note", "note"));
    let note = note.on_subscribe(move |resource| {
        *current.lock().unwrap() = Some(resource);
        Box::pin(async { Ok(()) })
    });
    let is_subscribed = move || {
        let resource = subscribed.lock().unwrap();
        resource.as_ref().is_some_and(SubscribedResource::is_subscribed).to_string()
    };
    let items = Operation::new("items", |RawParams(_): RawParams| "An item.")
        .resource_template(ResourceTemplate::new("test://items/{id}", "item"));
    let arguments = ["language", "style"].map(PromptArgument::new);
    let review = arguments.into_iter().fold(Prompt::new("re.view"), Prompt::argument);
    let complete = |Params(params): Params<CompletionParams>| {
        let context = params.context.get("language").cloned().unwrap_or_default();
        vec![format!("{}={}{context}", params.argument, params.value)]
    };
    let completions = [
        Completion::prompt("re.view", "language"),
        Completion::prompt("re.view", "style"),
        Completion::template("test://items/{id}", "id"),
    ];
    let router = router
        .operation(tool(Operation::new("touch", touch), "touch"))
        .operation(tool(Operation::new("subscribed", is_subscribed), "subscribed"))
        .operation(tool(Operation::new("end", end), "end"))
        .operation(note)
        .operation(items)
        .operation(Operation::new("review", || "Review.").prompt(review))
        .operation(Operation::new("complete", complete).completes(completions));
    let mcp = Mcp::new(router.build().unwrap(), McpConfig::new("upstream", "1")).unwrap();
    own.set(mcp.clone()).unwrap();
    mcp
}

/// Reports its progress, and logs.
fn work(progress: Progress, log: Log) -> &'static str {
    log.send(LogLevel::Info, &json!({ "state": "begun" }));
    log.send(LogLevel::Debug, "detail");
    for step in 1..=3 {
        progress.report(f64::from(step), Some(3.0), Some("step"));
    }
    "done"
}

/// Sends all kinds of requests to the client. The result has the answers.
async fn ask(peer: Peer) -> Result<String, PeerError> {
    BEGUN.fetch_add(1, Ordering::Relaxed);
    let name = ask_name(peer.clone()).await?;
    let request = CreateMessageRequest::new("Greet.", 10);
    let sampled = peer.sample("greeting", &request).await?.text();
    let page = peer.elicit_url("page", "Log in.", "https://login.example/").await?;
    let roots = peer.roots("roots").await?;
    let uris: Vec<_> = roots.into_iter().map(|root| root.uri).collect();
    Ok(format!("{name}; {sampled}; {}; {}", page == ElicitResult::Accept(()), uris.join(" ")))
}

/// Asks when other calls have begun.
async fn ask_later(peer: Peer) -> Result<String, PeerError> {
    sleep(Duration::from_millis(500)).await;
    ask_name(peer).await
}

fn end() -> String {
    std::process::exit(1)
}

fn begun() -> String {
    BEGUN.load(Ordering::Relaxed).to_string()
}

async fn ask_name(peer: Peer) -> Result<String, PeerError> {
    let schema = json!({
        "type": "object",
        "properties": { "name": { "type": "string" } },
        "required": ["name"],
    });
    let answer: ElicitResult<Map<String, Value>> =
        peer.elicit_form("name", "Your name?", schema).await?;
    let content = answer.accepted().unwrap_or_default();
    Ok(content.get("name").and_then(Value::as_str).unwrap_or("nobody").to_owned())
}
