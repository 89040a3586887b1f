//! Tasks (SEP-2663): over HTTP and stdio, with several principals, and with hostile requests.

use std::future::{pending, ready};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::join;
use trunkline::access::Principal;
use trunkline::http::HttpConfig;
use trunkline::protocol::Handler;
use trunkline::{
    CancellationToken, ErrorObject, JsonSchema, Limits, Operation, Router, Server, ServerHandle,
};
use trunkline_mcp::task_store::{StoreFuture, TaskQuota, TaskRecord, TaskState, TaskStoreError};
use trunkline_mcp::{
    ClientCapabilities, InMemoryTasks, Mcp, McpConfig, McpOperation, MissingCapability, Peer,
    PeerError, Progress, TaskConfig, TaskStore, TaskSupport,
};

use crate::support::{
    Client, Gate, Pipes, assert_fits, assert_lacks, headers_of, in_time, legacy, modern, post,
    settings, until,
};

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
struct Name {
    name: String,
}

fn tool<H, M>(name: &str, handler: H) -> Operation
where
    H: Handler<M, ()>,
    M: 'static,
{
    Operation::new(name, handler).description("A tool.").tool(name)
}

fn tools(gate: &Gate) -> Router {
    let optional = TaskSupport::Optional;
    let operations = [
        tool("at_once", || "done").task(optional),
        waiting(gate, "wait").task(optional),
        waiting(gate, "required").task(TaskSupport::Required),
        waiting(gate, "no_task"),
        tool("started", async |client: Peer| {
            client.start_task();
            tokio::task::yield_now().await;
            "done"
        })
        .task(optional),
        tool("fails", async |client: Peer| {
            client.start_task();
            tokio::task::yield_now().await;
            Err::<Value, _>(ErrorObject::new(7, "it broke"))
        })
        .task(optional),
        tool("protocol_error", protocol_error).task(optional),
        tool("panics", panics).task(optional),
        tool("large", async || {
            tokio::task::yield_now().await;
            "x".repeat(10_000)
        })
        .task(optional),
        tool("forever", async || pending::<&str>().await).task(optional),
        tool("asks", asks).task(optional),
        tool("asks_at_once", asks_at_once).task(optional),
        tool("asks_first", asks_first).task(optional),
        tool("asks_always", asks_always).task(optional),
        tool("asks_twice", asks_twice).task(optional),
        tool("gives_up", gives_up).task(optional),
        progressing(gate),
    ];
    operations.into_iter().fold(Router::new(), Router::operation)
}

fn waiting(gate: &Gate, name: &str) -> Operation {
    let gate = gate.clone();
    tool(name, move || {
        let gate = gate.clone();
        async move {
            gate.pass().await;
            "done"
        }
    })
}

fn progressing(gate: &Gate) -> Operation {
    let gate = gate.clone();
    let handler = move |progress: Progress| {
        let gate = gate.clone();
        async move {
            progress.report(1.0, Some(4.0), Some("one of four"));
            gate.pass().await;
            progress.report(2.0, Some(4.0), None);
            gate.pass().await;
            "done"
        }
    };
    tool("progress", handler).task(TaskSupport::Optional)
}

async fn protocol_error(capabilities: ClientCapabilities) -> Result<Value, MissingCapability> {
    tokio::task::yield_now().await;
    capabilities.require("roots")?;
    Ok(Value::Null)
}

async fn panics() -> &'static str {
    tokio::task::yield_now().await;
    panic!("the secret")
}

async fn ask(client: &Peer, key: &str) -> Result<String, PeerError> {
    let answer = client.elicit::<Name>(key, &format!("{key}?")).await?;
    Ok(answer.accepted().map_or("nobody".to_owned(), |Name { name }| name))
}

async fn asks(client: Peer) -> Result<String, PeerError> {
    client.start_task();
    let first = ask(&client, "first").await?;
    // The same question needs another answer.
    let again = ask(&client, "first").await?;
    Ok(format!("{first} {again} {}", ask(&client, "last").await?))
}

async fn asks_at_once(client: Peer) -> Result<String, PeerError> {
    client.start_task();
    let (first, last) = join!(ask(&client, "first"), ask(&client, "last"));
    Ok(format!("{} {}", first?, last?))
}

async fn asks_first(client: Peer) -> Result<String, PeerError> {
    let before = ask(&client, "first").await?;
    client.start_task();
    Ok(format!("{before} {}", ask(&client, "last").await?))
}

async fn asks_always(client: Peer) -> Result<String, PeerError> {
    client.start_task();
    for number in 0.. {
        ask(&client, &number.to_string()).await?;
    }
    unreachable!()
}

/// Asks concurrently with the same key.
async fn asks_twice(client: Peer) -> Result<String, PeerError> {
    client.start_task();
    let (first, second) = join!(ask(&client, "first"), ask(&client, "first"));
    Ok(format!("{}, {}", first?, second.is_ok()))
}

/// Withdraws a question.
async fn gives_up(client: Peer) -> Result<String, PeerError> {
    client.start_task();
    let limit = Duration::from_millis(20);
    drop(tokio::time::timeout(limit, ask(&client, "first")).await);
    ask(&client, "last").await
}

/// Every call that waits becomes a task at once.
pub(crate) fn config() -> TaskConfig {
    TaskConfig { after: Duration::ZERO, ..TaskConfig::default() }
}

fn mcp_with(gate: &Gate, settings: McpConfig, limits: Limits) -> Mcp {
    let rpc = tools(gate).limits(limits).build().unwrap();
    Mcp::new(rpc, settings).unwrap()
}

pub(crate) fn mcp(gate: &Gate, tasks: TaskConfig) -> Mcp {
    mcp_with(gate, McpConfig { tasks, ..settings() }, Limits::default())
}

/// A client over one of the transports.
enum Connection {
    Http { server: ServerHandle, token: Option<&'static str> },
    Stdio(Pipes),
}

impl Connection {
    async fn http(mcp: &Mcp) -> Self {
        let mut http = HttpConfig::default();
        for name in ["ada", "bob"] {
            http.bearer.allow_principal(Principal::new(name), name);
        }
        let service = mcp.rpc().http_with(http).merge(mcp.routes());
        let server = Server::bind("127.0.0.1:0").serve(service).await.unwrap();
        Self::Http { server, token: Some("ada") }
    }

    /// The connections over all transports.
    async fn all(gate: &Gate, tasks: &TaskConfig) -> [Self; 2] {
        let over_http = Self::http(&mcp(gate, tasks.clone())).await;
        [over_http, Self::Stdio(Pipes::of(mcp(gate, tasks.clone()), gate.clone()))]
    }

    /// Requests of the principal with this token.
    fn set_token(&mut self, name: &'static str) {
        if let Self::Http { token, .. } = self {
            *token = Some(name);
        }
    }

    /// Sends a request.
    async fn begin(&self, message: &Value, headers: &str) -> Client {
        let Self::Http { server, token } = self else { panic!("not over HTTP") };
        let token = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
        let accept = "Accept: application/json, text/event-stream\r\n";
        let headers = format!("{headers}{accept}{}", token.unwrap_or_default());
        let mut client = Client::connect(server.local_addr()).await;
        client.send(post("/mcp", &headers, message.to_string())).await;
        client
    }

    async fn ask(&mut self, message: &Value) -> Value {
        match self {
            Self::Http { .. } => {
                let mut client = self.begin(message, &headers_of(message)).await;
                client.ask("").await.json()
            }
            Self::Stdio(pipes) => {
                pipes.send([message]);
                pipes.next().await.unwrap()
            }
        }
    }

    async fn call(&mut self, tool: &str) -> Value {
        self.ask(&call(tool)).await
    }

    /// Creates a task and returns its id.
    async fn create(&mut self, tool: &str) -> String {
        let reply = self.call(tool).await;
        assert_fits(tool, &json!({ "result": { "resultType": "task" } }), &reply);
        assert_lacks(
            tool,
            &["/result/result".to_owned(), "/result/inputRequests".to_owned()],
            &reply,
        );
        reply["result"]["taskId"].as_str().unwrap().to_owned()
    }

    /// The task, without the members that all results have.
    async fn get(&mut self, id: &str) -> Value {
        self.ask(&about("tasks/get", id)).await["result"].take()
    }

    async fn get_when(&mut self, id: &str, condition: impl Fn(&Value) -> bool) -> Value {
        in_time("a state of a task", async {
            loop {
                let task = self.get(id).await;
                if condition(&task) {
                    return task;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await
    }

    /// The task when it has this status.
    async fn status(&mut self, id: &str, status: &str) -> Value {
        self.get_when(id, |task| task["status"] == status).await
    }

    async fn update(&mut self, id: &str, responses: Value) -> Value {
        let mut message = about("tasks/update", id);
        message["params"]["inputResponses"] = responses;
        self.ask(&message).await
    }

    async fn cancel(&mut self, id: &str) -> Value {
        self.ask(&about("tasks/cancel", id)).await
    }
}

fn capabilities() -> Value {
    json!({ "elicitation": {}, "extensions": { "io.modelcontextprotocol/tasks": {} } })
}

/// A request of a client with these capabilities.
fn request(method: &str, mut params: Value, capabilities: &Value) -> Value {
    params["_meta"] = json!({ "io.modelcontextprotocol/clientCapabilities": capabilities });
    modern(method, params)
}

fn call(tool: &str) -> Value {
    request("tools/call", json!({ "name": tool }), &capabilities())
}

fn about(method: &str, id: &str) -> Value {
    request(method, json!({ "taskId": id }), &capabilities())
}

fn name(name: &str) -> Value {
    json!({ "action": "accept", "content": { "name": name } })
}

fn acknowledged() -> Value {
    json!({ "result": { "resultType": "complete" } })
}

#[track_caller]
fn assert_acknowledged(what: &str, reply: &Value) {
    assert_fits(what, &acknowledged(), reply);
    let absent = ["taskId", "status", "result", "error", "inputRequests"];
    assert_lacks(what, &absent.map(|name| format!("/result/{name}")), reply);
}

fn refused(code: i64) -> Value {
    json!({ "error": { "code": code } })
}

fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }], "isError": false })
}

#[tokio::test]
async fn a_task_runs_while_its_client_polls() {
    let gate = Gate::new();
    for mut client in Connection::all(&gate, &config()).await {
        let id = client.create("wait").await;
        assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
        let task = client.get(&id).await;
        let expected = json!({
            "resultType": "complete", "taskId": id, "status": "working", "createdAt": "*", "lastUpdatedAt": "*",
            "ttlMs": 3_600_000, "pollIntervalMs": 1_000,
        });
        assert_fits("working", &expected, &task);
        gate.open(1);
        let task = client.status(&id, "completed").await;
        assert_fits("completed", &json!({ "taskId": id, "result": text("done") }), &task);
        // The end stays.
        assert_acknowledged("cancel", &client.cancel(&id).await);
        assert_acknowledged("update", &client.update(&id, json!({ "a": {} })).await);
        assert_eq!(client.get(&id).await, task);
    }
}

#[tokio::test]
async fn clients_without_the_extension_wait_for_the_result() {
    let gate = Gate::new();
    gate.open(100);
    let mut settings = McpConfig { tasks: config(), ..settings() };
    settings.tasks.after = Duration::from_secs(5);
    let mcp = mcp_with(&gate, settings, Limits::default());
    let missing = json!({ "error": {
        "code": -32021,
        "data": { "requiredCapabilities": { "extensions": { "io.modelcontextprotocol/tasks": {} } } },
    } });
    let done = json!({ "result": text("done") });
    let failed = json!({ "result": { "isError": true } });
    let declared = capabilities();
    let none = json!({});
    let legacy_declared = json!({ "tasks": { "requests": { "tools": { "call": {} } } } });
    for (tool, capabilities, expected) in [
        ("wait", &none, &done),
        ("wait", &legacy_declared, &done),
        ("required", &none, &missing),
        ("required", &legacy_declared, &missing),
        // A call that ends soon is not a task.
        ("at_once", &declared, &done),
        ("wait", &declared, &done),
        ("required", &declared, &done),
        ("no_task", &declared, &done),
    ] {
        let message = request("tools/call", json!({ "name": tool, "task": {} }), capabilities);
        for mut client in
            [Connection::http(&mcp).await, Connection::Stdio(Pipes::of(mcp.clone(), gate.clone()))]
        {
            assert_fits(&format!("{tool} {capabilities}"), expected, &client.ask(&message).await);
        }
    }
    let mut stdio = Connection::Stdio(Pipes::of(mcp, gate));
    let meta = json!({ "io.modelcontextprotocol/clientCapabilities": declared });
    for (tool, expected) in [("wait", &done), ("required", &failed)] {
        let message = legacy("tools/call", json!({ "name": tool, "_meta": meta }));
        assert_fits(tool, expected, &stdio.ask(&message).await);
    }
}

/// `expected` are parts of the task at its end.
async fn check_outcome(client: &mut Connection, tool: &str, status: &str, expected: &Value) {
    let id = client.create(tool).await;
    let task = client.status(&id, status).await;
    assert_fits(tool, expected, &task);
    let absent = if status == "failed" { "/result" } else { "/error" };
    assert_lacks(tool, &[absent.to_owned()], &task);
    assert!(!task.to_string().contains("secret"), "{task}");
}

#[tokio::test]
async fn outcomes_of_calls_are_states_of_tasks() {
    let gate = Gate::new();
    let limited = TaskConfig { result_bytes: 5_000, ..config() };
    let short = TaskConfig { duration: Duration::from_millis(20), ..config() };
    for mut client in Connection::all(&gate, &limited).await {
        let is_error = json!({ "result": { "isError": true } });
        for (tool, status, expected) in [
            ("started", "completed", json!({ "result": text("done") })),
            ("fails", "completed", is_error.clone()),
            ("panics", "completed", is_error),
            ("protocol_error", "failed", refused(-32021)),
            ("large", "failed", refused(-32006)),
        ] {
            check_outcome(&mut client, tool, status, &expected).await;
        }
    }
    for mut client in Connection::all(&gate, &short).await {
        check_outcome(&mut client, "forever", "failed", &refused(-32004)).await;
    }
}

#[tokio::test]
async fn the_timeout_of_calls_does_not_end_tasks() {
    let gate = Gate::new();
    let limits = Limits { call_timeout: Some(Duration::from_secs(2)), ..Limits::default() };
    let settings = McpConfig { tasks: config(), ..settings() };
    let mut client = Connection::http(&mcp_with(&gate, settings, limits)).await;
    let id = client.create("wait").await;
    let without = request("tools/call", json!({ "name": "wait" }), &json!({}));
    assert_fits("a call", &json!({ "result": { "isError": true } }), &client.ask(&without).await);
    assert_eq!(client.get(&id).await["status"], "working");
    gate.open(1);
    client.status(&id, "completed").await;
}

#[tokio::test]
async fn clients_answer_requests_of_tasks() {
    let gate = Gate::new();
    for mut client in Connection::all(&gate, &config()).await {
        let id = client.create("asks").await;
        let task = client.status(&id, "input_required").await;
        let request = json!({ "method": "elicitation/create", "params": { "message": "first?" } });
        assert_fits("first", &json!({ "inputRequests": { "first": request } }), &task);
        for responses in [json!({}), json!({ "last": name("x") }), json!({ "other": {} })] {
            assert_acknowledged("unknown keys", &client.update(&id, responses).await);
            assert_eq!(client.get(&id).await["status"], "input_required");
        }
        for responses in [Value::Null, json!([]), json!({ "first": 7 })] {
            assert_fits("malformed", &refused(-32602), &client.update(&id, responses).await);
        }
        // An answer cannot be changed.
        for (key, answer) in [("first", "Ada"), ("first-2", "King"), ("last", "Lovelace")] {
            let is_next = |task: &Value| !task["inputRequests"][key].is_null();
            let task = client.get_when(&id, is_next).await;
            assert_eq!(task["inputRequests"].as_object().unwrap().len(), 1, "{task}");
            let responses = json!({ "first": name("Eve"), (key): name(answer) });
            assert_acknowledged(key, &client.update(&id, responses).await);
        }
        let task = client.status(&id, "completed").await;
        assert_fits("end", &json!({ "result": text("Ada King Lovelace") }), &task);
    }
}

#[tokio::test]
async fn requests_of_a_task_can_be_answered_separately() {
    let gate = Gate::new();
    let mut client = Connection::http(&mcp(&gate, config())).await;
    let id = client.create("asks_at_once").await;
    let has_two =
        |task: &Value| task["inputRequests"].as_object().is_some_and(|all| all.len() == 2);
    client.get_when(&id, has_two).await;
    client.update(&id, json!({ "last": name("Lovelace") })).await;
    let task = client.get(&id).await;
    assert_fits(
        "half",
        &json!({ "status": "input_required", "inputRequests": { "first": {} } }),
        &task,
    );
    assert_lacks("half", &["/inputRequests/last".to_owned()], &task);
    client.update(&id, json!({ "first": name("Ada") })).await;
    let task = client.status(&id, "completed").await;
    assert_fits("end", &json!({ "result": text("Ada Lovelace") }), &task);
}

#[tokio::test]
async fn requests_before_a_task_are_rounds_of_its_call() {
    let gate = Gate::new();
    for mut client in Connection::all(&gate, &config()).await {
        let reply = client.call("asks_first").await;
        assert_fits("round", &json!({ "result": { "resultType": "input_required" } }), &reply);
        assert_lacks("round", &["/result/taskId".to_owned()], &reply);
        let mut message = call("asks_first");
        message["params"]["requestState"] = reply["result"]["requestState"].clone();
        message["params"]["inputResponses"] = json!({ "first": name("Ada") });
        let reply = client.ask(&message).await;
        assert_fits("task", &json!({ "result": { "resultType": "task" } }), &reply);
        assert_lacks("task", &["/result/requestState".to_owned()], &reply);
        let id = reply["result"]["taskId"].as_str().unwrap();
        client.status(id, "input_required").await;
        client.update(id, json!({ "last": name("Lovelace") })).await;
        let task = client.status(id, "completed").await;
        assert_fits("end", &json!({ "result": text("Ada Lovelace") }), &task);
    }
}

#[tokio::test]
async fn the_requests_of_a_task_are_limited_and_can_be_withdrawn() {
    let gate = Gate::new();
    let mut client = Connection::http(&mcp(&gate, config())).await;
    let id = client.create("asks_always").await;
    for number in 0..64 {
        let key = number.to_string();
        client.get_when(&id, |task| !task["inputRequests"][&key].is_null()).await;
        client.update(&id, json!({ key: name("x") })).await;
    }
    let task = client.status(&id, "completed").await;
    assert_fits("too many", &json!({ "result": { "isError": true } }), &task);

    let id = client.create("asks_twice").await;
    client.status(&id, "input_required").await;
    client.update(&id, json!({ "first": name("Ada") })).await;
    let task = client.status(&id, "completed").await;
    assert_fits("a duplicate", &json!({ "result": text("Ada, false") }), &task);

    let id = client.create("gives_up").await;
    let is_last = |task: &Value| !task["inputRequests"]["last"].is_null();
    let task = client.get_when(&id, is_last).await;
    assert_lacks("withdrawn", &["/inputRequests/first".to_owned()], &task);
    client.update(&id, json!({ "last": name("Ada") })).await;
    client.status(&id, "completed").await;
}

#[tokio::test]
async fn a_cancelled_task_is_dropped() {
    let gate = Gate::new();
    for mut client in Connection::all(&gate, &config()).await {
        let before = gate.dropped();
        let id = client.create("wait").await;
        for _ in 0..3 {
            assert_acknowledged("cancel", &client.cancel(&id).await);
            assert_eq!(client.get(&id).await["status"], "cancelled");
        }
        until("the call is dropped", || gate.dropped() == before + 1).await;
        let asking = client.create("asks").await;
        client.status(&asking, "input_required").await;
        client.cancel(&asking).await;
        assert_acknowledged("late", &client.update(&asking, json!({ "first": name("x") })).await);
        let task = client.get(&asking).await;
        assert_eq!(task["status"], "cancelled");
        assert_lacks("cancelled", &["/inputRequests".to_owned(), "/result".to_owned()], &task);
    }
}

#[tokio::test]
async fn a_call_is_cancelled_with_its_request_until_it_is_a_task() {
    let gate = Gate::new();
    let later = TaskConfig { after: Duration::from_secs(60), ..TaskConfig::default() };
    let client = Connection::http(&mcp(&gate, later)).await;
    let message = call("wait");
    drop(client.begin(&message, &headers_of(&message)).await);
    until("the call is dropped", || gate.dropped() == 1).await;

    let mut client = Connection::http(&mcp(&gate, config())).await;
    // The connection of the request is closed when the reply is read.
    let id = client.create("wait").await;
    gate.open(1);
    client.status(&id, "completed").await;
    assert_eq!(gate.dropped(), 1);
}

#[tokio::test]
async fn tasks_belong_to_their_principal() {
    let gate = Gate::new();
    let mut client = Connection::http(&mcp(&gate, config())).await;
    let running = client.create("wait").await;
    let ended = client.create("started").await;
    client.status(&ended, "completed").await;
    client.set_token("bob");
    let forged = [
        running.as_str(),
        &ended,
        "",
        "00000000000000000000000000000000",
        &running.to_uppercase(),
        &running[1..],
    ]
    .map(str::to_owned);
    for id in &forged {
        for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
            let mut message = about(method, id);
            message["params"]["inputResponses"] = json!({});
            let reply = client.ask(&message).await;
            assert_fits(&format!("{method} {id}"), &refused(-32602), &reply);
        }
    }
    client.set_token("ada");
    for (id, status) in [(&running, "working"), (&ended, "completed")] {
        assert_eq!(client.get(id).await["status"], status);
    }
}

#[tokio::test]
async fn requests_about_tasks_are_checked() {
    let gate = Gate::new();
    let mut client = Connection::http(&mcp(&gate, config())).await;
    let id = client.create("wait").await;
    let params = json!({ "taskId": id, "inputResponses": {} });
    for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
        let message = request(method, params.clone(), &json!({ "elicitation": {} }));
        assert_fits(method, &refused(-32021), &client.ask(&message).await);
        for bad in [json!({}), json!({ "taskId": 7 }), json!({ "taskId": null })] {
            let message = request(method, bad, &capabilities());
            assert_fits(method, &refused(-32602), &client.ask(&message).await);
        }
        let message = request(method, params.clone(), &capabilities());
        let headers = headers_of(&message);
        for wrong in [headers.replace(&id, "other"), headers.replace("Mcp-Name", "X-Name")] {
            let reply = client.begin(&message, &wrong).await.ask("").await;
            assert_eq!(reply.status, 400);
            assert_fits(method, &refused(-32020), &reply.json());
        }
        let message = legacy(method, json!({ "taskId": id }));
        let headers = "MCP-Protocol-Version: 2025-11-25\r\n";
        let reply = client.begin(&message, headers).await.ask("").await;
        assert_fits(method, &refused(-32601), &reply.json());
    }
    // Responses are read after the task was found.
    for (id, reason) in [(&*id, "`inputResponses` must be"), ("nope", "unknown `taskId`")] {
        let mut message = about("tasks/update", id);
        message["params"]["inputResponses"] = json!([7]);
        let reply = client.ask(&message).await;
        let found = reply["error"]["data"]["reason"].as_str().unwrap_or_default();
        assert!(found.starts_with(reason), "{reply}");
    }
    for method in ["tasks/result", "tasks/list"] {
        assert_fits(method, &refused(-32601), &client.ask(&about(method, &id)).await);
    }
    assert_eq!(client.get(&id).await["status"], "working");
}

#[tokio::test]
async fn only_a_server_with_such_tools_has_tasks() {
    let plain = Router::new().operation(tool("a", || 1)).build().unwrap();
    let gate = Gate::new();
    for (mcp, has_tasks) in
        [(Mcp::new(plain, settings()).unwrap(), false), (mcp(&gate, config()), true)]
    {
        let mut client = Connection::Stdio(Pipes::of(mcp, gate.clone()));
        let reply = client.ask(&modern("server/discover", json!({}))).await;
        let declared = &reply["result"]["capabilities"]["extensions"];
        let expected = json!({ "io.modelcontextprotocol/tasks": {} });
        assert_eq!(*declared, if has_tasks { expected } else { Value::Null });
        let code = if has_tasks { -32602 } else { -32601 };
        assert_fits("get", &refused(code), &client.ask(&about("tasks/get", "a")).await);
        let reply =
            client.ask(&legacy("initialize", json!({ "protocolVersion": "2025-11-25" }))).await;
        let absent = ["extensions", "tasks"].map(|name| format!("/result/capabilities/{name}"));
        assert_lacks("initialize", &absent, &reply);
    }
}

#[tokio::test]
async fn running_tasks_are_limited() {
    let gate = Gate::new();
    let tasks = TaskConfig { running: 3, running_per_principal: 2, ..config() };
    let mut client = Connection::http(&mcp(&gate, tasks)).await;
    let first = client.create("wait").await;
    client.create("required").await;
    // Above the limit, a tool is called without a task, or not at all.
    let expected = json!({ "result": { "isError": true } });
    assert_fits("required", &expected, &client.call("required").await);
    let optional = call("wait");
    let mut waiting = client.begin(&optional, &headers_of(&optional)).await;
    until("the call waits", || gate.entered() == 3).await;
    client.set_token("bob");
    let of_bob = client.create("wait").await;
    assert_fits("all", &expected, &client.call("required").await);
    gate.open(4);
    assert_fits("optional", &json!({ "result": text("done") }), &waiting.ask("").await.json());
    client.status(&of_bob, "completed").await;
    client.set_token("ada");
    client.status(&first, "completed").await;
    client.create("forever").await;
}

#[tokio::test]
async fn tasks_expire() {
    let gate = Gate::new();
    let ttl = Duration::from_secs(5);
    let tasks = TaskConfig { ttl, ..config() };
    let mut client = Connection::http(&mcp(&gate, tasks)).await;
    let ended = client.create("started").await;
    assert_fits("ended", &json!({ "ttlMs": 5_000 }), &client.status(&ended, "completed").await);
    let running = client.create("forever").await;
    for id in [ended, running] {
        // A running task ends at the latest when it expires.
        let expired = client.get_when(&id, Value::is_null);
        expired.await;
        for method in ["tasks/get", "tasks/cancel"] {
            assert_fits(method, &refused(-32602), &client.ask(&about(method, &id)).await);
        }
    }
}

#[tokio::test]
async fn a_server_that_stops_cancels_its_tasks() {
    let gate = Gate::new();
    let closing = CancellationToken::new();
    let store = Arc::new(InMemoryTasks::default());
    let tasks = TaskConfig { store: Arc::<InMemoryTasks>::clone(&store), ..config() };
    let settings = McpConfig { tasks, closing: closing.clone(), ..settings() };
    let mcp = mcp_with(&gate, settings, Limits::default());
    let mut client = Connection::Stdio(Pipes::of(mcp.clone(), gate.clone()));
    let id = client.create("wait").await;
    closing.cancel();
    client.status(&id, "cancelled").await;
    until("the call is dropped", || gate.dropped() == 1).await;

    // Tasks end with the last handle of their server.
    let settings = McpConfig { tasks: TaskConfig { store, ..config() }, ..self::settings() };
    let mcp = mcp_with(&gate, settings, Limits::default());
    let Connection::Stdio(pipes) = client else { unreachable!() };
    drop(pipes.finish().await);
    let mut client = Connection::Stdio(Pipes::of(mcp, gate.clone()));
    client.create("wait").await;
    let Connection::Stdio(pipes) = client else { unreachable!() };
    drop(pipes.finish().await);
    until("the call is dropped", || gate.dropped() == 2).await;
}

fn listen(ids: &[&str], capabilities: &Value) -> Value {
    let params = json!({ "notifications": { "taskIds": ids } });
    request("subscriptions/listen", params, capabilities)
}

#[tokio::test]
async fn subscribers_receive_the_states_of_tasks() {
    let gate = Gate::new();
    let mut client = Connection::http(&mcp(&gate, config())).await;
    client.set_token("bob");
    let foreign = client.create("wait").await;
    client.set_token("ada");
    let asking = client.create("asks").await;
    client.status(&asking, "input_required").await;
    let ended = client.create("started").await;
    client.status(&ended, "completed").await;

    let reply = client.ask(&listen(&[&asking], &json!({ "elicitation": {} }))).await;
    assert_fits("without the extension", &refused(-32021), &reply);
    let message = listen(&[&asking, &ended, &foreign, "unknown"], &capabilities());
    let mut events = client.begin(&message, &headers_of(&message)).await;
    assert_eq!(events.head().await.status, 200);
    let mut next = async || in_time("a notification", events.message()).await.unwrap();
    let first = next().await;
    let mut ids = [asking.as_str(), &ended];
    ids.sort_unstable();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(first["params"]["notifications"], json!({ "taskIds": ids }));
    // The states of the moment of the subscription.
    for id in ids {
        let status = if id == asking { "input_required" } else { "completed" };
        let expected = json!({
            "method": "notifications/tasks",
            "params": {
                "taskId": id, "status": status, "ttlMs": 3_600_000,
                "_meta": { "io.modelcontextprotocol/subscriptionId": 1 },
            },
        });
        assert_fits("the current state", &expected, &next().await);
    }
    client.update(&asking, json!({ "first": name("Ada") })).await;
    loop {
        // A state that is followed by another one may be omitted.
        let notification = next().await;
        assert_fits("a state", &json!({ "params": { "taskId": asking } }), &notification);
        let params = &notification["params"];
        assert_lacks("a state", &["/resultType".to_owned(), "/requestState".to_owned()], params);
        for (key, answer) in [("first-2", "King"), ("last", "Lovelace")] {
            if !params["inputRequests"][key].is_null() {
                client.update(&asking, json!({ (key): name(answer) })).await;
            }
        }
        if params["status"] == "completed" {
            assert_fits("end", &text("Ada King Lovelace"), &params["result"]);
            let mut task = client.get(&asking).await;
            let (task, params) = (task.as_object_mut().unwrap(), params.as_object().unwrap());
            task.remove("resultType");
            task["_meta"] = params["_meta"].clone();
            assert_eq!(task, params, "the notification is the task");
            break;
        }
    }
}

#[tokio::test]
async fn progress_is_the_message_of_a_task() {
    let gate = Gate::new();
    for mut client in Connection::all(&gate, &config()).await {
        let id = client.create("progress").await;
        for message in ["one of four", "2 of 4"] {
            let task = client.get_when(&id, |task| task["statusMessage"] == message).await;
            assert_eq!(task["status"], "working");
            gate.open(1);
        }
        let task = client.status(&id, "completed").await;
        assert_lacks("end", &["/statusMessage".to_owned()], &task);
    }
}

/// A store that fails for these changes.
#[derive(Debug)]
struct Broken {
    tasks: InMemoryTasks,
    fails: fn(&TaskState) -> Option<TaskStoreError>,
}

impl TaskStore for Broken {
    fn create(&self, task: TaskRecord) -> StoreFuture<'_, ()> {
        match (self.fails)(&task.state) {
            Some(error) => Box::pin(ready(Err(error))),
            None => self.tasks.create(task),
        }
    }

    fn get<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<TaskRecord>> {
        self.tasks.get(id)
    }

    fn update(&self, task: TaskRecord) -> StoreFuture<'_, ()> {
        match (self.fails)(&task.state) {
            Some(error) => Box::pin(ready(Err(error))),
            None => self.tasks.update(task),
        }
    }
}

fn broken(fails: fn(&TaskState) -> Option<TaskStoreError>) -> TaskConfig {
    TaskConfig { store: Arc::new(Broken { tasks: InMemoryTasks::default(), fails }), ..config() }
}

#[tokio::test]
async fn failures_of_the_store_end_calls_and_tasks() {
    let gate = Gate::new();
    let none = TaskQuota { tasks: 0, bytes: 0 };
    let full = TaskConfig { store: Arc::new(InMemoryTasks::new(none, none)), ..config() };
    let unavailable = broken(|_| Some(TaskStoreError::Failed("the secret".into())));
    for (tasks, code) in [(full, -32005), (unavailable, -32603)] {
        let before = gate.dropped();
        let mut client = Connection::http(&mcp(&gate, tasks)).await;
        let reply = client.call("wait").await;
        assert_fits("create", &refused(code), &reply);
        assert!(!reply.to_string().contains("secret"), "{reply}");
        until("the call is dropped", || gate.dropped() == before + 1).await;
    }
    let no_result: fn(&TaskState) -> _ =
        |state| matches!(state, TaskState::Completed(_)).then_some(TaskStoreError::Full);
    let mut client = Connection::http(&mcp(&gate, broken(no_result))).await;
    let id = client.create("started").await;
    assert_fits("no space", &refused(-32006), &client.status(&id, "failed").await);
}
