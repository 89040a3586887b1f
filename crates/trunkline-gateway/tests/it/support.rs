//! Scripted MCP servers over HTTP, and services with a gateway to them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use trunkline::client::{Client, Http};
use trunkline::server::ServerHandle;
use trunkline::{Router, Server};
use trunkline_gateway::{
    Gateway, GatewayConfig, HttpTarget, Target, UpstreamConfig, UpstreamState, UpstreamStatus,
    management,
};
use trunkline_mcp::{Mcp, McpConfig};

/// The maximum time to wait for a condition.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A server whose tools and behaviour can be changed while it runs.
pub(crate) struct Scripted {
    pub(crate) address: SocketAddr,
    script: Arc<Mutex<Script>>,
    task: JoinHandle<()>,
}

#[derive(Clone, Default)]
pub(crate) struct Script {
    pub(crate) tools: Vec<Value>,
    pub(crate) result: Value,
    /// Results of other methods. A server that has none of a feature does not declare it.
    pub(crate) others: BTreeMap<&'static str, Value>,
    pub(crate) mode: Mode,
    /// The headers of the last request.
    headers: HeaderMap,
}

#[derive(Clone, Default, PartialEq)]
pub(crate) enum Mode {
    #[default]
    Normal,
    /// No request is answered.
    Hang,
    /// Calls are not answered.
    HangCalls,
    /// Replies are not JSON.
    Garbage,
    /// All requests are redirected.
    Redirect(String),
    /// Calls fail with this error.
    Error(Value),
    /// The server loses each session at once.
    NoSessions,
}

/// A tool with an empty input schema.
pub(crate) fn tool(name: &str, description: &str) -> Value {
    json!({ "name": name, "description": description, "inputSchema": { "type": "object" } })
}

pub(crate) fn tools(names: &[&str]) -> Vec<Value> {
    names.iter().map(|name| tool(name, "A tool.")).collect()
}

impl Scripted {
    pub(crate) async fn start(tools: Vec<Value>) -> Self {
        Self::start_at("127.0.0.1:0", tools).await
    }

    pub(crate) async fn start_at(address: &str, tools: Vec<Value>) -> Self {
        let result = json!({ "content": [{ "type": "text", "text": "done" }] });
        let script = Arc::new(Mutex::new(Script { tools, result, ..Script::default() }));
        let app = axum::Router::new().route("/mcp", post(answer)).with_state(Arc::clone(&script));
        let listener = tokio::net::TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { address, script, task }
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Script)) {
        change(&mut self.script.lock().unwrap());
    }

    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let script = self.script.lock().unwrap();
        script.headers.get(name).map(|value| value.to_str().unwrap().to_owned())
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// A configuration for tests: short intervals.
    pub(crate) fn config(&self) -> UpstreamConfig {
        let mut config =
            UpstreamConfig::new(Target::Http(HttpTarget::new(self.url().parse().unwrap())));
        config.refresh_interval = Duration::from_millis(50);
        config.connect_timeout = Duration::from_secs(2);
        config.call_timeout = Duration::from_secs(2);
        config.min_backoff = Duration::from_millis(20);
        config.max_backoff = Duration::from_millis(100);
        config
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(
    State(script): State<Arc<Mutex<Script>>>,
    headers: HeaderMap,
    body: String,
) -> Response {
    let request: Value = serde_json::from_str(&body).unwrap();
    let script = {
        let mut script = script.lock().unwrap();
        script.headers = headers;
        script.clone()
    };
    let is_call = request["method"] == "tools/call";
    match script.mode {
        Mode::Hang => std::future::pending().await,
        Mode::HangCalls if is_call => std::future::pending().await,
        Mode::Garbage => return "garbage".into_response(),
        Mode::Redirect(to) => {
            return (StatusCode::PERMANENT_REDIRECT, [("Location", to)]).into_response();
        }
        _ => {}
    }
    let Some(id) = request.get("id") else { return StatusCode::ACCEPTED.into_response() };
    let error = |error: Value| reply(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
    let has = |feature: &str| script.others.keys().any(|method| method.starts_with(feature));
    let mut capabilities = json!({ "tools": {} });
    let features =
        [("resources", "resources"), ("prompts", "prompts"), ("completion", "completions")];
    for (feature, capability) in features {
        if has(feature) {
            capabilities[capability] = json!({});
        }
    }
    let is_first =
        ["initialize", "server/discover"].iter().any(|first| request["method"] == *first);
    if script.mode == Mode::NoSessions && !is_first {
        return error(json!({ "code": -32600, "message": "Session not found" }));
    }
    let result = match request["method"].as_str().unwrap() {
        other if let Some(result) = script.others.get(other) => {
            let mut result = result.clone();
            if other == "prompts/get" {
                result["_meta"]["params"] = request["params"].clone();
            }
            result
        }
        "initialize" => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "serverInfo": { "name": "scripted", "version": "1" },
        }),
        "tools/list" => json!({ "tools": script.tools }),
        "tools/call" => match script.mode {
            Mode::Error(object) => return error(object),
            _ => script.result,
        },
        "ping" => json!({}),
        _ => return error(json!({ "code": -32601, "message": "Method not found" })),
    };
    reply(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

fn reply(message: &Value) -> Response {
    ([("Content-Type", "application/json")], message.to_string()).into_response()
}

/// A service with a gateway. Dropped, its connections end with the runtime.
pub(crate) struct Service {
    pub(crate) gateway: Gateway,
    pub(crate) mcp: Mcp,
    client: Client,
    pub(crate) url: String,
    _server: ServerHandle,
}

impl Service {
    /// A service that has tried to connect to all upstreams.
    pub(crate) async fn start(upstreams: Vec<(&str, UpstreamConfig)>) -> Self {
        Self::start_with(upstreams, GatewayConfig::default()).await
    }

    pub(crate) async fn start_with(
        upstreams: Vec<(&str, UpstreamConfig)>,
        config: GatewayConfig,
    ) -> Self {
        Self::start_with_router(Router::new(), upstreams, config).await
    }

    /// A service with other operations, too.
    pub(crate) async fn start_with_router(
        router: Router,
        upstreams: Vec<(&str, UpstreamConfig)>,
        config: GatewayConfig,
    ) -> Self {
        let upstreams = upstreams.into_iter().map(|(name, config)| (name.parse().unwrap(), config));
        let gateway = Gateway::new(upstreams, config).unwrap();
        let router = gateway.add_to(router).merge(management(&gateway));
        let mut settings = McpConfig::new("gateway", "1");
        settings.output_schemas = true;
        let mcp = Mcp::new(router.build().unwrap(), settings).unwrap();
        gateway.start();
        gateway.attempted(PATIENCE).await;
        let http = mcp.rpc().http().merge(mcp.routes());
        let server = Server::bind("127.0.0.1:0").serve(http).await.unwrap();
        let url = format!("http://{}/", server.local_addr());
        let client = Client::new(Http::connect(&url).unwrap());
        Self { gateway, mcp, client, url, _server: server }
    }

    pub(crate) fn status(&self, name: &str) -> UpstreamStatus {
        self.gateway.status().into_iter().find(|status| status.name == name).unwrap()
    }

    /// Waits until the status of an upstream meets a condition.
    #[track_caller]
    pub(crate) fn until(
        &self,
        name: &str,
        condition: impl Fn(&UpstreamStatus) -> bool,
    ) -> impl Future<Output = UpstreamStatus> {
        let place = std::panic::Location::caller();
        async move {
            let deadline = Instant::now() + PATIENCE;
            loop {
                let status = self.status(name);
                if condition(&status) {
                    return status;
                }
                assert!(Instant::now() < deadline, "{place}: {status:?}");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    }

    pub(crate) async fn until_state(&self, name: &str, state: UpstreamState) -> UpstreamStatus {
        self.until(name, |status| status.state == state).await
    }

    /// The names of the listed tools.
    pub(crate) fn tools(&self) -> Vec<String> {
        self.mcp.tools()
    }

    /// Calls a method, and returns the result or the error object.
    pub(crate) async fn call(&self, method: &str, params: Value) -> Result<Value, Value> {
        let outcome = self.client.call::<Value>(method, &params).await;
        outcome.map_err(|error| {
            let error = error.error_object().unwrap();
            let data = error.data().map(|data| serde_json::from_str::<Value>(data.get()).unwrap());
            json!({ "code": error.code(), "data": data })
        })
    }
}
