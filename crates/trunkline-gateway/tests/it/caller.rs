//! Messages and requests of upstreams to the callers of their tools.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use trunkline::client::Http;
use trunkline_mcp::Root;
use trunkline_mcp::client::{
    CallOptions, Change, Client, ClientHandler, HandlerError, HandlerFeatures, LogMessage,
    McpClientConfig, ProgressCallback,
};
use trunkline_mcp::{
    CreateMessageRequest, CreateMessageResult, ElicitRequest, ElicitResult, LogLevel,
};

use crate::support::Service;
use crate::upstream::{Era, Transport, UPSTREAMS, Upstream};

pub(crate) const ERAS: [Era; 2] = [Era::Modern, Era::Legacy];
const LIMIT: Duration = Duration::from_secs(20);

/// A user, who records what it receives.
#[derive(Default)]
pub(crate) struct User {
    name: &'static str,
    can_answer: bool,
    messages: Mutex<Vec<String>>,
    logs: Mutex<Vec<(LogLevel, String, Value)>>,
    changes: Mutex<Vec<Change>>,
}

impl User {
    pub(crate) fn new(name: &'static str) -> Arc<Self> {
        Arc::new(Self { name, can_answer: true, ..Self::default() })
    }
}

impl User {
    pub(crate) fn messages(&self) -> Vec<String> {
        self.messages.lock().unwrap().clone()
    }

    pub(crate) fn has_logs(&self) -> bool {
        !self.logs.lock().unwrap().is_empty()
    }

    /// Waits until all these resources have changed, and forgets the changes.
    pub(crate) async fn changed(&self, uris: &[&str]) {
        let has_changed = |uri: &&str| {
            self.changes.lock().unwrap().contains(&Change::Resource((*uri).to_owned()))
        };
        let all = async {
            while !uris.iter().all(has_changed) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(LIMIT, all).await.unwrap();
        self.changes.lock().unwrap().clear();
    }
}

impl ClientHandler for User {
    fn features(&self) -> HandlerFeatures {
        let mut features = HandlerFeatures::default();
        (features.forms, features.urls) = (self.can_answer, self.can_answer);
        (features.sampling, features.roots) = (self.can_answer, self.can_answer);
        features
    }

    fn elicit(
        &self,
        elicitation: ElicitRequest,
    ) -> BoxFuture<'_, Result<ElicitResult, HandlerError>> {
        Box::pin(async move {
            let (message, content) = match elicitation {
                ElicitRequest::Form { message, .. } => (message, json!({ "name": self.name })),
                ElicitRequest::Url { message, url, .. } => (format!("{message} {url}"), json!({})),
                _ => return Err(HandlerError::Unsupported),
            };
            self.messages.lock().unwrap().push(message);
            Ok(ElicitResult::Accept(content.as_object().unwrap().clone()))
        })
    }

    fn sample(
        &self,
        sampling: CreateMessageRequest,
    ) -> BoxFuture<'_, Result<CreateMessageResult, HandlerError>> {
        let text = format!("Hello {}", sampling.max_tokens);
        Box::pin(async move { Ok(CreateMessageResult::new("model", text)) })
    }

    fn roots(&self) -> BoxFuture<'_, Result<Vec<Root>, HandlerError>> {
        let root = Root { uri: "file:///work".to_owned(), name: None };
        Box::pin(async move { Ok(vec![root]) })
    }

    fn log(&self, message: LogMessage) {
        let logger = message.logger.unwrap_or_default();
        self.logs.lock().unwrap().push((message.level, logger, message.data));
    }

    fn changed(&self, change: Change) {
        self.changes.lock().unwrap().push(change);
    }
}

pub(crate) async fn connect(service: &Service, era: Era, user: &Arc<User>) -> Client {
    let http = Http::connect(&format!("{}mcp", service.url)).unwrap();
    let mut config = McpClientConfig::new("caller", "1");
    config.handler = Arc::<User>::clone(user);
    if era == Era::Legacy {
        config.eras.assume_legacy(&http);
    }
    tokio::time::timeout(LIMIT, Client::connect(http, config)).await.unwrap().unwrap()
}

/// Calls a tool. Returns whether it failed, and the text of its result.
pub(crate) async fn call(client: &Client, tool: &str, options: CallOptions) -> (bool, String) {
    let tools = client.list_tools().await.unwrap();
    let tool = tools.items.iter().find(|known| known.name == tool).unwrap();
    let arguments = to_raw_value(&json!({})).unwrap();
    let called = client.call_tool_with(tool, &arguments, options);
    let result = tokio::time::timeout(LIMIT, called).await.unwrap().unwrap();
    let text = result.content[0].as_text().unwrap_or_default().to_owned();
    (result.is_error, text)
}

#[tokio::test]
async fn progress_and_log_messages() {
    for (transport, upstream_era) in UPSTREAMS {
        let upstream = Upstream::start(transport, upstream_era).await;
        let service = Service::start(vec![("up", upstream.config.clone())]).await;
        for era in ERAS {
            let row = format!("{transport:?} {upstream_era:?} {era:?}");
            let user = User::new("Ada");
            let client = connect(&service, era, &user).await;
            client.set_level(LogLevel::Info).await.unwrap();
            let updates = Arc::new(Mutex::new(Vec::new()));
            let received = Arc::clone(&updates);
            let mut options = CallOptions::default();
            options.progress = Some(ProgressCallback::new(move |update| {
                received.lock().unwrap().push((update.progress, update.total, update.message));
            }));
            assert_eq!(
                call(&client, "up__work", options).await,
                (false, "done".to_owned()),
                "{row}"
            );
            let update = |progress: f64| (progress, Some(3.0), Some("step".to_owned()));
            assert_eq!(*updates.lock().unwrap(), [1.0, 2.0, 3.0].map(update), "{row}");
            let begun = (LogLevel::Info, "up".to_owned(), json!({ "state": "begun" }));
            assert_eq!(*user.logs.lock().unwrap(), [begun], "{row}");
            // Not requested.
            call(&client, "up__work", CallOptions::default()).await;
            assert_eq!(updates.lock().unwrap().len(), 3, "{row}");

            client.set_level(LogLevel::Debug).await.unwrap();
            user.logs.lock().unwrap().clear();
            call(&client, "up__work", CallOptions::default()).await;
            let levels: Vec<_> = user.logs.lock().unwrap().iter().map(|log| log.0).collect();
            assert_eq!(levels, [LogLevel::Info, LogLevel::Debug], "{row}");
        }
        service.gateway.stop(LIMIT).await;
    }
}

#[tokio::test]
async fn requests_are_answered_by_the_caller() {
    for (transport, upstream_era) in UPSTREAMS {
        let upstream = Upstream::start(transport, upstream_era).await;
        let service = Service::start(vec![("up", upstream.config.clone())]).await;
        for era in ERAS {
            let row = format!("{transport:?} {upstream_era:?} {era:?}");
            let user = User::new("Ada");
            let client = connect(&service, era, &user).await;
            let begun = begun(&client).await;
            let found = call(&client, "up__ask", CallOptions::default()).await;
            let expected = "Ada; Hello 10; true; file:///work";
            assert_eq!(found, (false, expected.to_owned()), "{row}");
            let messages = user.messages.lock().unwrap().clone();
            assert_eq!(messages, ["up: Your name?", "up: Log in. https://login.example/"], "{row}");
            // A tool of the legacy era runs once, whatever the era of the caller.
            let expected = if upstream_era == Era::Legacy { 1 } else { 5 };
            assert_eq!(self::begun(&client).await - begun, expected, "{row}");
        }
        service.gateway.stop(LIMIT).await;
    }
}

/// How often the tool `ask` has begun.
async fn begun(client: &Client) -> u64 {
    call(client, "up__begun", CallOptions::default()).await.1.parse().unwrap()
}

#[tokio::test]
async fn callers_without_answers_are_refused() {
    for (transport, upstream_era) in UPSTREAMS {
        let upstream = Upstream::start(transport, upstream_era).await;
        let service = Service::start(vec![("up", upstream.config.clone())]).await;
        for era in ERAS {
            let row = format!("{transport:?} {upstream_era:?} {era:?}");
            let client = connect(&service, era, &Arc::default()).await;
            let (is_error, text) = call(&client, "up__name", CallOptions::default()).await;
            assert!(is_error, "{row}: {text}");
            let expected = match upstream_era {
                Era::Modern => "Missing required client capability",
                Era::Legacy => "the client does not support this request",
            };
            assert!(text.contains(expected), "{row}: {text}");
        }
        // JSON-RPC.
        let found = service.call("up.name", json!({})).await;
        let text = format!("{found:?}");
        assert!(text.contains("elicitation") || text.contains("does not support"), "{text}");
        assert_eq!(service.status("up").failures, 0);
        service.gateway.stop(LIMIT).await;
    }
}

/// Several callers at the same time. An upstream of the legacy era over stdio does not show to which call its request
/// belongs.
#[tokio::test]
async fn requests_belong_to_a_call() {
    for (transport, upstream_era) in UPSTREAMS {
        let upstream = Upstream::start(transport, upstream_era).await;
        let service = Service::start(vec![("up", upstream.config.clone())]).await;
        let names = ["Ada", "Bob", "Eve"];
        for era in ERAS {
            let row = format!("{transport:?} {upstream_era:?} {era:?}");
            let calls = names.map(|name| {
                let service = &service;
                async move {
                    let client = connect(service, era, &User::new(name)).await;
                    call(&client, "up__later", CallOptions::default()).await
                }
            });
            let found = join_all(calls).await;
            let is_shown = (transport, upstream_era) != (Transport::Stdio, Era::Legacy);
            for (name, (is_error, text)) in names.into_iter().zip(found) {
                if is_shown {
                    assert_eq!((is_error, text.as_str()), (false, name), "{row}");
                } else if is_error {
                    assert!(text.contains("several requests may be running"), "{row}: {text}");
                } else {
                    assert_eq!(text, name, "{row}");
                }
            }
        }
        service.gateway.stop(LIMIT).await;
    }
}

/// The requests of one call belong to it, and a call does not wait for ever.
#[tokio::test]
async fn answers_to_other_calls_are_refused() {
    let upstream = Upstream::start(Transport::Stdio, Era::Legacy).await;
    let mut short = upstream.config.clone();
    short.input_timeout = Duration::from_millis(50);
    let upstreams = vec![("up", upstream.config.clone()), ("short", short)];
    let service = Service::start(upstreams).await;
    let call = |tool: &str, arguments: Value, answers: Value| {
        let params = json!({
            "name": tool,
            "arguments": arguments,
            "inputResponses": answers,
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
            },
        });
        service.call("tools/call", params)
    };
    let accepted = json!({ "action": "accept", "content": { "name": "Ada" } });
    let begin = async |tool: &str| -> Value {
        let found = call(tool, json!({}), json!({})).await.unwrap();
        assert_eq!(found["resultType"], "input_required", "{found}");
        let (key, request) = found["inputRequests"].as_object().unwrap().iter().next().unwrap();
        assert_eq!(request["params"]["requestedSchema"]["required"], json!(["name"]));
        json!({ key: accepted })
    };
    let check = |found: Result<Value, Value>, is_error: bool, text: &str| {
        let found = found.unwrap();
        assert_eq!(found["isError"], is_error, "{found}");
        assert!(found["content"][0]["text"].as_str().unwrap().contains(text), "{found}");
    };
    const ENDED: &str = "has ended";
    let answers = begin("up__name").await;
    let forged = json!({ "upstream/up/00000000000000000000000000000000/1": accepted });
    check(call("up__name", json!({}), forged).await, true, ENDED);
    check(call("up__name", json!({ "x": 1 }), answers.clone()).await, true, ENDED);
    check(call("up__ask", json!({}), answers.clone()).await, true, ENDED);
    check(call("up__name", json!({}), answers.clone()).await, false, "Ada");
    check(call("up__name", json!({}), answers).await, true, ENDED);

    let answers = begin("short__name").await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    check(call("short__name", json!({}), answers).await, true, ENDED);
    // A question that was refused does not count as a failure.
    assert_eq!((service.status("up").failures, service.status("short").failures), (0, 0));
}
