//! The client for tests with servers of others: sends the requests of a file, and compares the results.
//!
//! ```console
//! $ cargo run -p trunkline-mcp --example interop_client -- steps.json http://127.0.0.1:3000/mcp
//! $ cargo run -p trunkline-mcp --example interop_client -- steps.json node server.js
//! ```

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a test program")]

use std::collections::BTreeMap;
use std::error::Error;
use std::process::{Command, ExitCode};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::Parser;
use futures_util::future::{BoxFuture, ready};
use serde::Deserialize;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use trunkline::ErrorObject;
use trunkline::client::Http;
use trunkline_mcp::client::{
    CallOptions, Change, Client, ClientHandler, Error as ClientError, HandlerError,
    HandlerFeatures, LogMessage, McpClientConfig, ProgressCallback, Transport,
};
use trunkline_mcp::{
    CompletionTarget, CreateMessageRequest, CreateMessageResult, ElicitRequest, ElicitResult, Root,
};

/// The deadline of a notification.
const SOON: Duration = Duration::from_secs(10);

#[derive(Parser)]
struct Line {
    /// The prefix of tools and prompts. Steps that a gateway does not support are skipped.
    #[arg(long)]
    prefix: Option<String>,
    /// The protocol version that is expected.
    #[arg(long)]
    version: Option<String>,
    /// The file with the steps.
    steps: String,
    /// The URL of the server, or its command with arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    server: Vec<String>,
}

/// A request, and what is expected of its result.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    /// A method, or that of a notification, which is awaited.
    method: String,
    #[serde(default)]
    params: Params,
    /// Values in the result, by JSON pointer. A string is contained in that of the result.
    #[serde(default)]
    result: BTreeMap<String, Value>,
    /// Names or URIs in a list.
    #[serde(default)]
    contains: Vec<String>,
    /// The progress of the request.
    #[serde(default)]
    progress: Vec<f64>,
    /// The code of the error.
    error: Option<i64>,
    /// Whether a gateway does not support it.
    #[serde(default)]
    direct: bool,
    /// The first revision with the feature.
    #[serde(default)]
    since: String,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Params {
    name: String,
    uri: String,
    arguments: Map<String, Value>,
    /// The argument to complete, and its value.
    argument: [String; 2],
}

/// Answers the requests of the server, and passes on notifications.
struct Handler(UnboundedSender<String>);

impl ClientHandler for Handler {
    fn features(&self) -> HandlerFeatures {
        let mut features = HandlerFeatures::default();
        (features.forms, features.sampling, features.roots) = (true, true, true);
        features.list_changes = true;
        features
    }

    fn elicit(
        &self,
        elicitation: ElicitRequest,
    ) -> BoxFuture<'_, Result<ElicitResult, HandlerError>> {
        let ElicitRequest::Form { requested_schema: schema, .. } = elicitation else {
            return Box::pin(ready(Ok(ElicitResult::Decline)));
        };
        let schema: Value = serde_json::from_str(schema.get()).unwrap_or_default();
        let properties = schema["properties"].as_object();
        // The client adds the defaults.
        let given = ["name", "color"]
            .into_iter()
            .filter(|name| properties.is_some_and(|properties| properties.contains_key(*name)));
        let content = given.map(|name| (name.to_owned(), json!("Ada"))).collect();
        Box::pin(ready(Ok(ElicitResult::Accept(content))))
    }

    fn sample(
        &self,
        _sampling: CreateMessageRequest,
    ) -> BoxFuture<'_, Result<CreateMessageResult, HandlerError>> {
        Box::pin(ready(Ok(CreateMessageResult::new("test", "Paris"))))
    }

    fn roots(&self) -> BoxFuture<'_, Result<Vec<Root>, HandlerError>> {
        let root = Root { uri: "file:///srv/one".to_owned(), name: Some("one".to_owned()) };
        Box::pin(ready(Ok(vec![root])))
    }

    fn log(&self, message: LogMessage) {
        self.notify(format!("notifications/message {}", message.data));
    }

    fn changed(&self, change: Change) {
        self.notify(match change {
            Change::Tools => "notifications/tools/list_changed".to_owned(),
            Change::Prompts => "notifications/prompts/list_changed".to_owned(),
            Change::Resources => "notifications/resources/list_changed".to_owned(),
            Change::Resource(uri) => format!("notifications/resources/updated {uri}"),
            _ => return,
        });
    }
}

impl Handler {
    fn notify(&self, notification: String) {
        // The receiver is dropped at the end.
        let _ = self.0.send(notification);
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Line::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("FAILED: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(line: Line) -> Result<(), Box<dyn Error>> {
    let steps: Vec<Step> = serde_json::from_str(&std::fs::read_to_string(&line.steps)?)?;
    let (sender, notifications) = unbounded_channel();
    let mut config = McpClientConfig::new("interop-client", env!("CARGO_PKG_VERSION"));
    config.handler = Arc::new(Handler(sender));
    let client = Client::connect(transport(&line.server)?, config).await?;
    let server = client.server();
    println!("{} with {} {}", server.protocol_version, server.name, server.version);
    if line.version.is_some_and(|version| version != server.protocol_version) {
        return Err(format!("unexpected version {}", server.protocol_version).into());
    }
    let mut session = Session { client, prefix: line.prefix, notifications, seen: Vec::new() };
    session.wait_for_tools().await?;
    for step in steps {
        if step.direct && session.prefix.is_some() || step.since > server.protocol_version {
            continue;
        }
        let shown = format!("{} {}{}", step.method, step.params.name, step.params.uri);
        session.check(step).await.map_err(|error| format!("{shown}: {error}"))?;
        println!("  ok: {shown}");
    }
    session.client.close().await;
    println!("  ok: closed");
    Ok(())
}

fn transport(server: &[String]) -> Result<Transport, Box<dyn Error>> {
    let (first, rest) = server.split_first().ok_or("no server")?;
    if first.starts_with("http://") {
        return Ok(Http::connect(first)?.into());
    }
    let mut command = Command::new(first);
    command.args(rest);
    Ok(command.into())
}

struct Session {
    client: Client,
    prefix: Option<String>,
    notifications: UnboundedReceiver<String>,
    /// Notifications that no step has awaited.
    seen: Vec<String>,
}

impl Session {
    /// Waits until the gateway lists the tools of the upstream, which it adds when that has connected.
    async fn wait_for_tools(&mut self) -> Result<(), Box<dyn Error>> {
        let Some(prefix) = self.prefix.clone() else { return Ok(()) };
        loop {
            let tools = self.client.list_tools().await?.items;
            if tools.iter().any(|tool| tool.name.starts_with(&prefix)) {
                return Ok(());
            }
            self.wait("notifications/tools/list_changed").await?;
        }
    }

    async fn check(&mut self, step: Step) -> Result<(), Box<dyn Error>> {
        if step.method.starts_with("notifications/") {
            return self.wait(&format!("{} {}", step.method, step.params.uri)).await;
        }
        let reports = Arc::new(Mutex::new(Vec::new()));
        let result = self.request(&step, &reports).await;
        let result = match (result, step.error) {
            (Err(Failure::Client(error)), Some(code))
                if error.error_object().map(ErrorObject::code) == Some(code) =>
            {
                return Ok(());
            }
            (Ok(result), Some(code)) => {
                return Err(format!("expected error {code}, got {result}").into());
            }
            (result, _) => result?,
        };
        for (pointer, expected) in &step.result {
            let found = result.pointer(pointer).unwrap_or(&Value::Null);
            let is_equal = match (found, expected) {
                (Value::String(found), Value::String(part)) => found.contains(part),
                _ => found == expected,
            };
            if !is_equal {
                return Err(format!("`{pointer}`: expected {expected}, got {result}").into());
            }
        }
        for name in &step.contains {
            let names: Vec<&str> =
                result.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            if !names.contains(&&*self.prefixed(&step.method, name)) {
                return Err(format!("expected {name}, got {names:?}").into());
            }
        }
        let reports = reports.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // A gateway does not pass on progress.
        if self.prefix.is_none() && reports != step.progress {
            return Err(format!("expected progress {:?}, got {reports:?}", step.progress).into());
        }
        Ok(())
    }

    /// The result, or the names of a list.
    async fn request(&self, step: &Step, reports: &Arc<Mutex<Vec<f64>>>) -> Result<Value, Failure> {
        let Step { method, params, .. } = step;
        let client = &self.client;
        let name = self.prefixed(method, &params.name);
        let result = match &**method {
            "ping" => {
                client.ping().await?;
                Value::Null
            }
            "logging/setLevel" => {
                client.set_level(trunkline_mcp::LogLevel::Debug).await?;
                Value::Null
            }
            "tools/list" => {
                json!(names(client.list_tools().await?.items, |tool| tool.into_value().name))
            }
            "resources/list" => {
                json!(names(client.list_resources().await?.items, |one| one.into_value().uri))
            }
            "resources/templates/list" => {
                let listed = client.list_resource_templates().await?.items;
                json!(names(listed, |template| template.into_value().uri_template))
            }
            "prompts/list" => {
                json!(names(client.list_prompts().await?.items, |one| one.into_value().name))
            }
            "tools/call" => {
                let listed = client.list_tools().await?.items;
                let tool = listed.iter().find(|tool| tool.name == name);
                let tool = tool.ok_or_else(|| format!("no tool {name}"))?;
                let mut options = CallOptions::default();
                let sink = Arc::clone(reports);
                options.progress = Some(ProgressCallback::new(move |update| {
                    sink.lock().unwrap_or_else(PoisonError::into_inner).push(update.progress);
                }));
                let arguments = to_raw_value(&params.arguments)?;
                let result = client.call_tool_with(tool, &arguments, options).await?;
                serde_json::from_str(result.object().get())?
            }
            "resources/read" => {
                serde_json::from_str(client.read_resource(&params.uri).await?.object().get())?
            }
            "prompts/get" => {
                let result = client.get_prompt(&name, &texts(&params.arguments)).await?;
                serde_json::from_str(result.object().get())?
            }
            "completion/complete" => {
                let target = if params.uri.is_empty() {
                    CompletionTarget::Prompt(name)
                } else {
                    CompletionTarget::Resource(params.uri.clone())
                };
                let [argument, value] = &params.argument;
                let context = texts(&params.arguments);
                json!(client.complete(&target, (argument, value), &context).await?.values)
            }
            "resources/subscribe" => {
                client.subscribe(&params.uri).await?;
                Value::Null
            }
            "resources/unsubscribe" => {
                client.unsubscribe(&params.uri).await?;
                Value::Null
            }
            _ => return Err(format!("unknown method {method}").into()),
        };
        Ok(result)
    }

    /// The name at the server. URIs have no prefix.
    fn prefixed(&self, method: &str, name: &str) -> String {
        match &self.prefix {
            Some(prefix) if !method.starts_with("resources/") => format!("{prefix}{name}"),
            _ => name.to_owned(),
        }
    }

    /// Waits for a notification that starts with this text.
    async fn wait(&mut self, start: &str) -> Result<(), Box<dyn Error>> {
        let start = start.trim_end();
        let deadline = tokio::time::Instant::now() + SOON;
        loop {
            if let Some(index) = self.seen.iter().position(|seen| seen.starts_with(start)) {
                self.seen.remove(index);
                return Ok(());
            }
            let next = tokio::time::timeout_at(deadline, self.notifications.recv()).await;
            match next {
                Ok(Some(notification)) => self.seen.push(notification),
                _ => return Err(format!("no such notification, but {:?}", self.seen).into()),
            }
        }
    }
}

fn names<T>(items: Vec<T>, name: impl FnMut(T) -> String) -> Vec<String> {
    items.into_iter().map(name).collect()
}

fn texts(arguments: &Map<String, Value>) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    arguments.iter().map(|(name, value)| (name.clone(), text(value))).collect()
}

#[derive(Debug)]
enum Failure {
    Client(ClientError),
    Other(Box<dyn Error>),
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

impl From<String> for Failure {
    fn from(error: String) -> Self {
        Self::Other(error.into())
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Other(error.into())
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Client(error) => error.fmt(f),
            Self::Other(error) => error.fmt(f),
        }
    }
}

impl Error for Failure {}
