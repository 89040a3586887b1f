//! A service and its agent, called through a socket.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use trunkline::client::{Client, Http};
use trunkline::history::History;
use trunkline::{
    CancellationToken, ErrorObject, Operation, Params, Router, Rpc, Server, ServerHandle,
};
use trunkline_agent::conversation::{self, Conversations};
use trunkline_agent::model::{self, Model};
use trunkline_agent::{Agent, AgentConfig, operations};

use crate::model_server::{Answer, ModelServer};

/// Records the calls of the service's operations.
#[derive(Default)]
pub(crate) struct CallRecord {
    /// The number of erased notes.
    pub(crate) erased: AtomicUsize,
    /// The maximum number of concurrent calls of `wait`, and the number of running ones.
    pub(crate) max_waiting: AtomicUsize,
    pub(crate) waiting: AtomicUsize,
    /// The cancellation token of the call of `hang`.
    pub(crate) hanging: OnceLock<CancellationToken>,
}

/// A running server and its directory.
pub(crate) struct TestServer {
    pub(crate) client: Client,
    pub(crate) agent: Agent,
    pub(crate) calls: Arc<CallRecord>,
    pub(crate) history: History,
    pub(crate) url: String,
    _server: ServerHandle,
    _directory: Option<TempDir>,
    _endpoint: Option<ModelServer>,
}

/// The configuration of a server.
pub(crate) struct TestConfig {
    pub(crate) agent: AgentConfig,
    pub(crate) model: Option<model::ModelConfig>,
    /// The server of the model, unless the test owns it.
    endpoint: Option<ModelServer>,
    pub(crate) conversations: conversation::ConversationConfig,
}

impl TestConfig {
    pub(crate) fn offline() -> Self {
        let (agent, conversations) =
            (AgentConfig::default(), conversation::ConversationConfig::default());
        Self { agent, model: None, endpoint: None, conversations }
    }

    pub(crate) fn with_model(url: &str) -> Self {
        Self { model: Some(model::ModelConfig::new(url, "tiny")), ..Self::offline() }
    }

    /// With a model that answers each message with "Well.".
    pub(crate) async fn answering() -> Self {
        let endpoint = ModelServer::rows(vec![Answer::text("Well.")]).await;
        let config = Self::with_model(&endpoint.url);
        Self { endpoint: Some(endpoint), ..config }
    }

    pub(crate) async fn build(self) -> TestServer {
        let directory = tempfile::tempdir().unwrap();
        let mut server = self.build_in(directory.path()).await;
        server._directory = Some(directory);
        server
    }

    pub(crate) async fn build_in(self, directory: &std::path::Path) -> TestServer {
        let calls = Arc::new(CallRecord::default());
        let history = History::new(Default::default());
        let rpc = service(&calls).with_history(history.clone());
        let conversations = Conversations::open(directory, self.conversations).unwrap();
        let model = self.model.map(|settings| Model::new(settings).unwrap());
        let agent = Agent::new(rpc, model, conversations, self.agent);
        let api =
            Router::new().merge(operations(&agent)).build().unwrap().with_history(history.clone());
        let server = Server::bind("127.0.0.1:0").serve(api).await.unwrap();
        let url = format!("http://{}", server.local_addr());
        let client = Client::new(Http::connect(&url).unwrap());
        TestServer {
            client,
            agent,
            calls,
            history,
            url,
            _server: server,
            _directory: None,
            _endpoint: self.endpoint,
        }
    }
}

impl TestServer {
    pub(crate) async fn call(&self, method: &str, params: &Value) -> Result<Value, ErrorObject> {
        let called = self.client.call::<Value>(method, params).await;
        called.map_err(|error| error.error_object().cloned().unwrap_or_else(|| panic!("{error:?}")))
    }

    pub(crate) async fn chat(&self, params: &Value) -> Result<Value, ErrorObject> {
        self.call("agent.chat", params).await
    }
}

#[derive(serde::Deserialize, trunkline::JsonSchema)]
struct Sum {
    /// The first number.
    a: i64,
    /// The second number.
    b: i64,
}

#[derive(serde::Deserialize, trunkline::JsonSchema)]
struct Name {
    /// The name of the note or the person.
    name: String,
}

fn service(calls: &Arc<CallRecord>) -> Rpc {
    let (erasing, waiting, hanging) = (Arc::clone(calls), Arc::clone(calls), Arc::clone(calls));
    let add = Operation::new("math.add", |Params(Sum { a, b }): Params<Sum>| a + b)
        .description("Adds two numbers.")
        .input::<Sum>()
        .read_only()
        .tool("add");
    let erase = Operation::new("note.erase", move |Params(Name { name }): Params<Name>| {
        erasing.erased.fetch_add(1, Ordering::SeqCst);
        format!("{name} is erased")
    });
    let erase =
        erase.description("Erases a note.").input::<Name>().destructive().tool("erase_note");
    let wait = Operation::new("wait", move |Params(Sum { a, .. }): Params<Sum>| {
        let calls = Arc::clone(&waiting);
        async move {
            let now = calls.waiting.fetch_add(1, Ordering::SeqCst) + 1;
            calls.max_waiting.fetch_max(now, Ordering::SeqCst);
            // Wait for a concurrent call.
            let met = async {
                while calls.max_waiting.load(Ordering::SeqCst) < 2 {
                    tokio::task::yield_now().await;
                }
            };
            let _ = tokio::time::timeout(Duration::from_secs(5), met).await;
            calls.waiting.fetch_sub(1, Ordering::SeqCst);
            json!(a)
        }
    });
    let wait = wait.input::<Sum>().read_only().tool("wait");
    let hang = Operation::new("hang", move |token: CancellationToken| {
        hanging.hanging.set(token).unwrap();
        std::future::pending::<Value>()
    });
    let greet =
        Operation::new("greet", |Params(Name { name }): Params<Name>| format!("Hello {name}"));
    let fail = Operation::new("fail", || {
        let error = ErrorObject::new(42, "It is broken").with_data(&json!({ "reason": "rust" }));
        Err::<Value, _>(error)
    });
    Router::new()
        .operation(add)
        .operation(erase)
        .operation(wait)
        .operation(hang.read_only().tool("hang"))
        .operation(
            greet.description("Greets a person.").input::<Name>().read_only().tool("greet_person"),
        )
        .operation(fail.read_only().tool("fail"))
        .operation(Operation::new("large", || "x".repeat(100_000)).read_only().tool("large"))
        .operation(Operation::new("undeclared", || 1).tool("undeclared"))
        .operation(Operation::new("jot", || "jotted").additive().tool("jot"))
        .method("inner", || 1)
        .build()
        .unwrap()
}

/// Asserts that `found` includes `expected`: members of objects, elements of arrays, and texts that begin with `…` as
/// substrings.
#[track_caller]
pub(crate) fn includes(what: &str, found: &Value, expected: &Value) {
    let is_part = |found: &Value| match (found, expected) {
        (Value::String(found), Value::String(part)) => {
            part.strip_prefix('…').map_or(found == part, |part| found.contains(part))
        }
        (found, expected) => found == expected,
    };
    match (found, expected) {
        (Value::Object(members), Value::Object(wanted)) => {
            for (name, expected) in wanted {
                let found = members.get(name).unwrap_or(&Value::Null);
                includes(&format!("{what}/{name}"), found, expected);
            }
        }
        (Value::Array(elements), Value::Array(wanted)) => {
            assert_eq!(elements.len(), wanted.len(), "{what}: {found:#}");
            for (index, (found, expected)) in elements.iter().zip(wanted).enumerate() {
                includes(&format!("{what}/{index}"), found, expected);
            }
        }
        (found, expected) => assert!(is_part(found), "{what}: {found:#} is not {expected}"),
    }
}

/// The result, or the error as an object.
pub(crate) fn to_json(outcome: Result<Value, ErrorObject>) -> Value {
    match outcome {
        Ok(reply) => reply,
        Err(error) => {
            let data: Value = error
                .data()
                .map(|data| serde_json::from_str(data.get()).unwrap())
                .unwrap_or_default();
            json!({ "error": { "code": error.code(), "message": error.message(), "data": data } })
        }
    }
}
