//! A service, and an agent over it, that are called over a real socket.

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

use crate::scripted::{Answer, Scripted};

/// What there is to be called, and what was.
#[derive(Default)]
pub(crate) struct Seen {
    /// How many notes were erased.
    pub(crate) erased: AtomicUsize,
    /// The most calls of `wait` at one time, and those that run now.
    pub(crate) most: AtomicUsize,
    pub(crate) now: AtomicUsize,
    /// Cancelled when a call of `hang` is.
    pub(crate) hanging: OnceLock<CancellationToken>,
}

/// What is served. The directory goes with it.
pub(crate) struct House {
    pub(crate) client: Client,
    pub(crate) agent: Agent,
    pub(crate) seen: Arc<Seen>,
    pub(crate) history: History,
    pub(crate) url: String,
    _server: ServerHandle,
    _directory: Option<TempDir>,
    _endpoint: Option<Scripted>,
}

/// What is different from the defaults.
pub(crate) struct Plan {
    pub(crate) agent: AgentConfig,
    pub(crate) model: Option<model::ModelConfig>,
    /// The endpoint of the model, if no test looks at it.
    endpoint: Option<Scripted>,
    pub(crate) conversations: conversation::ConversationConfig,
}

impl Plan {
    pub(crate) fn offline() -> Self {
        let (agent, conversations) =
            (AgentConfig::default(), conversation::ConversationConfig::default());
        Self { agent, model: None, endpoint: None, conversations }
    }

    pub(crate) fn with_model(url: &str) -> Self {
        Self { model: Some(model::ModelConfig::new(url, "tiny")), ..Self::offline() }
    }

    /// With a model that gives the same answer to each message.
    pub(crate) async fn answering() -> Self {
        let endpoint = Scripted::rows(vec![Answer::text("Well.")]).await;
        let plan = Self::with_model(&endpoint.url);
        Self { endpoint: Some(endpoint), ..plan }
    }

    pub(crate) async fn build(self) -> House {
        let directory = tempfile::tempdir().unwrap();
        let mut house = self.build_in(directory.path()).await;
        house._directory = Some(directory);
        house
    }

    pub(crate) async fn build_in(self, directory: &std::path::Path) -> House {
        let seen = Arc::new(Seen::default());
        let history = History::new(Default::default());
        let rpc = service(&seen).with_history(history.clone());
        let conversations = Conversations::open(directory, self.conversations).unwrap();
        let model = self.model.map(|settings| Model::new(settings).unwrap());
        let agent = Agent::new(rpc, model, conversations, self.agent);
        let api =
            Router::new().merge(operations(&agent)).build().unwrap().with_history(history.clone());
        let server = Server::bind("127.0.0.1:0").serve(api).await.unwrap();
        let url = format!("http://{}", server.local_addr());
        let client = Client::new(Http::connect(&url).unwrap());
        House {
            client,
            agent,
            seen,
            history,
            url,
            _server: server,
            _directory: None,
            _endpoint: self.endpoint,
        }
    }
}

impl House {
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
    /// What it is called.
    name: String,
}

fn service(seen: &Arc<Seen>) -> Rpc {
    let (erasing, waiting, hanging) = (Arc::clone(seen), Arc::clone(seen), Arc::clone(seen));
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
        let seen = Arc::clone(&waiting);
        async move {
            let now = seen.now.fetch_add(1, Ordering::SeqCst) + 1;
            seen.most.fetch_max(now, Ordering::SeqCst);
            // As long as it takes others to come.
            let met = async {
                while seen.most.load(Ordering::SeqCst) < 2 {
                    tokio::task::yield_now().await;
                }
            };
            let _ = tokio::time::timeout(Duration::from_secs(5), met).await;
            seen.now.fetch_sub(1, Ordering::SeqCst);
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
        .operation(Operation::new("unsaid", || 1).tool("unsaid"))
        .operation(Operation::new("jot", || "jotted").additive().tool("jot"))
        .method("inner", || 1)
        .build()
        .unwrap()
}

/// Whether all of `expected` is in `found`: members of objects, elements of arrays, and parts of texts that
/// begin with `…`.
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

/// What was answered, or the error as an object.
pub(crate) fn told(outcome: Result<Value, ErrorObject>) -> Value {
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
