//! Tasks of servers: of the server of this crate over HTTP and stdio, and of servers whose replies a test writes.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use trunkline::client::Http;
use trunkline::{ErrorObject, Server, ServerHandle};
use trunkline_mcp::client::{
    CallOptions, Client, ClientHandler, Error, HandlerError, HandlerFeatures, McpClientConfig,
    StartedTool, Task, TaskCallback, TaskInfo, TaskStatus,
};
use trunkline_mcp::{ElicitRequest, ElicitResult, TaskConfig};

use super::script::{Answer, Asked, Script, config, error, http, modern, result};
use super::suite::{call, call_with, connect_over_pipes, raw, tool};
use crate::support::{Gate, in_time, until};
use crate::tasks;

/// Gives the same name to every form, and records the messages.
#[derive(Default)]
struct Names(Mutex<Vec<String>>);

impl ClientHandler for Names {
    fn features(&self) -> HandlerFeatures {
        let mut features = HandlerFeatures::default();
        features.forms = true;
        features
    }

    fn elicit(
        &self,
        elicitation: ElicitRequest,
    ) -> BoxFuture<'_, Result<ElicitResult, HandlerError>> {
        Box::pin(async move {
            let ElicitRequest::Form { message, .. } = elicitation else {
                return Err(HandlerError::Unsupported);
            };
            self.0.lock().unwrap().push(message);
            Ok(ElicitResult::Accept(Map::from_iter([("name".to_owned(), "Ada".into())])))
        })
    }
}

/// A client of the tools of the tests of tasks.
struct Connected {
    client: Client,
    gate: Gate,
    names: Arc<Names>,
    _server: Option<ServerHandle>,
}

/// Clients over HTTP and stdio.
async fn connect(tasks: &TaskConfig, change: impl Fn(&mut McpClientConfig)) -> [Connected; 2] {
    let configure = || {
        let names = Arc::new(Names::default());
        let mut config = config();
        config.handler = names.clone();
        change(&mut config);
        (config, names)
    };
    let gate = Gate::new();
    let mcp = tasks::mcp(&gate, tasks.clone());
    let server = Server::bind("127.0.0.1:0").serve(mcp.rpc().http().merge(mcp.routes()));
    let server = server.await.unwrap();
    let http = Http::connect(&format!("http://{}/mcp", server.local_addr())).unwrap();
    let (config, names) = configure();
    let client = in_time("to connect", Client::connect(http, config)).await.unwrap();
    let over_http = Connected { client, gate, names, _server: Some(server) };

    let gate = Gate::new();
    let (config, names) = configure();
    let (client, _) = connect_over_pipes(&tasks::mcp(&gate, tasks.clone()), config).await;
    [over_http, Connected { client, gate, names, _server: None }]
}

impl Connected {
    /// The text of the result, or the code of the error.
    async fn text(&self, name: &str) -> Result<String, i64> {
        let called = in_time(name, call_with(&self.client, name, CallOptions::default())).await;
        match called {
            Ok(result) => Ok(result.content[0].as_text().unwrap().to_owned()),
            Err(error) => Err(error.error_object().unwrap_or_else(|| panic!("{error:?}")).code()),
        }
    }

    async fn start(&self, name: &str) -> Task {
        let tool = tool(&self.client, name).await;
        let arguments = raw(json!({}));
        let started = self.client.start_tool(&tool, &arguments, CallOptions::default());
        match in_time(name, started).await.unwrap() {
            StartedTool::Task(task) => task,
            StartedTool::Complete(result) => panic!("{}", result.object()),
        }
    }
}

/// Notifications arrive at once; polling would take an hour.
fn slow_to_poll() -> TaskConfig {
    TaskConfig { poll_interval: Duration::from_secs(3_600), ..tasks::config() }
}

#[tokio::test]
async fn calls_wait_for_tasks() {
    let fast_to_poll = TaskConfig { poll_interval: Duration::from_millis(1), ..tasks::config() };
    for tasks in [fast_to_poll, slow_to_poll()] {
        for connected in connect(&tasks, |_| {}).await {
            assert!(connected.client.server().capabilities.tasks);
            assert_eq!(connected.text("at_once").await, Ok("done".to_owned()));
            assert_eq!(connected.text("started").await, Ok("done".to_owned()));
            connected.gate.open(1);
            assert_eq!(connected.text("required").await, Ok("done".to_owned()));
            // A tool that fails has a result; a call that fails has an error.
            assert_eq!(connected.text("fails").await, Ok("it broke".to_owned()));
            assert_eq!(connected.text("protocol_error").await, Err(-32021));

            for (name, text, messages) in [
                ("asks", "Ada Ada Ada", vec!["first?", "first?", "last?"]),
                ("asks_at_once", "Ada Ada", vec!["first?", "last?"]),
                ("asks_first", "Ada Ada", vec!["first?", "last?"]),
            ] {
                assert_eq!(connected.text(name).await, Ok(text.to_owned()));
                let mut asked = std::mem::take(&mut *connected.names.0.lock().unwrap());
                asked.sort();
                assert_eq!(asked, messages, "{name}");
            }
            // The handler of the call.
            let names = Arc::new(Names::default());
            let mut options = CallOptions::default();
            options.handler = Some(names.clone());
            let called = call_with(&connected.client, "asks_at_once", options);
            in_time("the result", called).await.unwrap();
            assert_eq!(names.0.lock().unwrap().len(), 2);
            assert!(connected.names.0.lock().unwrap().is_empty());
            in_time("to close", connected.client.close()).await;
        }
    }
}

#[tokio::test]
async fn states_are_reported() {
    for connected in connect(&slow_to_poll(), |_| {}).await {
        let states = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&states);
        let mut options = CallOptions::default();
        options.task = Some(TaskCallback::new(move |info: TaskInfo| {
            log.lock().unwrap().push((info.status.name(), info.message.unwrap_or_default()));
        }));
        let mut called = Box::pin(call_with(&connected.client, "progress", options));
        for (message, last) in [("one of four", 1), ("2 of 4", 2)] {
            let is_last = || states.lock().unwrap().last().is_some_and(|(_, it)| it == message);
            tokio::select! {
                result = &mut called => panic!("{result:?}"),
                () = async {
                    until("to enter", || connected.gate.entered() == last).await;
                    if last == 1 {
                        until(message, is_last).await;
                    }
                } => {}
            }
            connected.gate.open(1);
        }
        in_time("the result", called).await.unwrap();
        let states = states.lock().unwrap().clone();
        assert_eq!(states.last().map(|(status, _)| *status), Some("completed"), "{states:?}");
    }
}

#[tokio::test]
async fn handles_of_tasks() {
    for connected in connect(&tasks::config(), |_| {}).await {
        let task = connected.start("wait").await;
        assert_eq!(task.first_info().map(|info| info.status.name()), Some("working"));
        let info = task.info().await.unwrap();
        assert_eq!((&*info.id, info.status.name()), (task.id(), "working"));
        assert_eq!(info.ttl, Some(Duration::from_secs(3_600)));
        assert!(info.created_at.is_some() && !info.status.is_terminal());
        // Another handle, such as that of a later process.
        let again = connected.client.task(task.id());
        connected.gate.open(1);
        for task in [&again, &task] {
            let result = in_time("the result", task.wait(None)).await.unwrap();
            assert_eq!(result.content[0].as_text(), Some("done"));
        }

        let task = connected.start("wait").await;
        let dropped = connected.gate.dropped();
        task.cancel().await.unwrap();
        let error = in_time("the end", task.wait(None)).await.unwrap_err();
        assert!(
            matches!(&error, Error::TaskCancelled { id, message: Some(_) } if id == task.id()),
            "{error}"
        );
        until("the cancellation", || connected.gate.dropped() > dropped).await;

        let task = connected.start("asks_at_once").await;
        let requests = in_time("the requests", async {
            loop {
                match task.info().await.unwrap().status {
                    TaskStatus::InputRequired(requests) if requests.len() == 2 => return requests,
                    _ => tokio::time::sleep(Duration::from_millis(1)).await,
                }
            }
        });
        let requests = requests.await;
        assert_eq!(requests["first"].method, "elicitation/create");
        let bob = raw(json!({ "action": "accept", "content": { "name": "Bob" } }));
        task.respond([("first".to_owned(), bob)].into()).await.unwrap();
        let result = in_time("the result", task.wait(None)).await.unwrap();
        assert_eq!(result.content[0].as_text(), Some("Bob Ada"));
        assert_eq!(*connected.names.0.lock().unwrap(), ["last?"]);

        let unknown = connected.client.task("nothing");
        let error = in_time("the error", unknown.wait(None)).await.unwrap_err();
        assert_eq!(error.error_object().map(ErrorObject::code), Some(-32602), "{error}");
    }
}

#[tokio::test]
async fn tasks_without_a_waiting_caller_are_cancelled() {
    for connected in connect(&slow_to_poll(), |_| {}).await {
        let created = Arc::new(Mutex::new(false));
        let noted = Arc::clone(&created);
        let mut options = CallOptions::default();
        options.task = Some(TaskCallback::new(move |_| *noted.lock().unwrap() = true));
        tokio::select! {
            result = call_with(&connected.client, "wait", options) => panic!("{result:?}"),
            () = until("the task", || *created.lock().unwrap() && connected.gate.entered() > 0) => {}
        }
        // The request before the client is closed is sent, too. Over stdio, the server ends with the client.
        in_time("to close", connected.client.close()).await;
        until("the cancellation", || connected.gate.dropped() > 0).await;
    }
    let short = |config: &mut McpClientConfig| config.task_timeout = Duration::from_secs(2);
    for connected in connect(&slow_to_poll(), short).await {
        let late =
            in_time("the timeout", call_with(&connected.client, "wait", CallOptions::default()));
        let Err(Error::Request(late)) = late.await else { panic!("no timeout") };
        assert!(late.error.is_timeout(), "{late}");
        until("the cancellation", || connected.gate.dropped() > 0).await;
        // A task that asks again and again.
        let text = connected.client.clone();
        let endless =
            in_time("asks_always", call_with(&text, "asks_always", CallOptions::default()));
        assert!(endless.await.is_err());
    }
}

#[tokio::test]
async fn clients_without_tasks() {
    for connected in connect(&tasks::config(), |config| config.tasks = false).await {
        assert_eq!(connected.text("required").await, Err(-32021));
        connected.gate.open(1);
        assert_eq!(connected.text("wait").await, Ok("done".to_owned()));
    }
}

/// The task of a call whose polls have these replies; the last one is repeated.
async fn script(polls: impl Fn(&Asked, usize) -> Answer + Send + Sync + 'static) -> Script {
    let count = Mutex::new(0);
    Script::start(move |asked| match asked.method() {
        "tools/call" => result(asked, &state("working", "task", json!({}))),
        "tasks/get" => {
            let mut count = count.lock().unwrap();
            *count += 1;
            polls(asked, *count)
        }
        "tasks/update" | "tasks/cancel" => result(asked, &json!({ "resultType": "complete" })),
        _ => modern(asked),
    })
    .await
}

fn state(status: &str, result_type: &str, members: Value) -> Value {
    let mut state = json!({
        "resultType": result_type, "taskId": "t1", "status": status, "pollIntervalMs": 1,
        "ttlMs": null, "createdAt": "2026-07-28T00:00:00Z", "lastUpdatedAt": "2026-07-28T00:00:00Z",
    });
    state.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    state
}

#[tokio::test]
async fn servers_that_are_polled() {
    let form = json!({ "method": "elicitation/create", "params": {
        "message": "name?", "requestedSchema": { "type": "object", "properties": { "name": { "type": "string" } } },
    } });
    let script = script(move |asked, count| match count {
        // Failures that may pass.
        1 => http("503 Service Unavailable", ""),
        // A request is answered once.
        2..=4 => {
            let input = json!({ "inputRequests": { "k": form } });
            result(asked, &state("input_required", "complete", input))
        }
        _ => {
            let content = json!({ "result": { "content": [{ "type": "text", "text": "done" }] } });
            result(asked, &state("completed", "complete", content))
        }
    });
    let script = script.await;
    let names = Arc::new(Names::default());
    let client = script.connect(|config| config.handler = names.clone()).await.unwrap();
    let called = in_time("the result", call(&client)).await.unwrap();
    assert_eq!(called.content[0].as_text(), Some("done"));
    assert_eq!(names.0.lock().unwrap().len(), 1);
    let [update] = &script.asked_for("tasks/update")[..] else { panic!("{:?}", script.methods()) };
    let answer = json!({ "k": { "action": "accept", "content": { "name": "Ada" } } });
    assert_eq!(update.body["params"]["inputResponses"], answer);
    for asked in script.asked().iter().filter(|asked| asked.method().starts_with("tasks/")) {
        assert_eq!(asked.header("mcp-name"), Some("t1"));
        let declared = &asked.body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
        assert_eq!(declared["extensions"], json!({ "io.modelcontextprotocol/tasks": {} }));
    }
    assert_eq!(script.asked_for("tasks/get").len(), 5);
    assert!(script.asked_for("tasks/cancel").is_empty());
}

/// Calls a tool of a server whose polls have this reply. The error contains `expected`, and the task is cancelled.
async fn check_error(
    name: &str,
    poll: impl Fn(&Asked) -> Answer + Send + Sync + 'static,
    expected: &str,
) {
    let script = script(move |asked, _| poll(asked)).await;
    let client = script.client().await;
    let error = in_time(name, call(&client)).await.unwrap_err();
    let error = format!("{error} {error:?}");
    assert!(error.contains(expected), "{name}: {error}");
    assert_eq!(script.until("tasks/cancel", 1).await.len(), 1, "{name}");
}

#[tokio::test]
async fn invalid_states() {
    let reply = |status: &'static str, members: Value| {
        move |asked: &Asked| result(asked, &state(status, "complete", members.clone()))
    };
    check_error("id", reply("working", json!({ "taskId": "t2" })), "another task").await;
    check_error("empty id", reply("working", json!({ "taskId": "" })), "1 to 1024 bytes").await;
    check_error("status", reply("paused", json!({})), "unknown `status`").await;
    check_error("result", reply("completed", json!({})), "`result` is missing").await;
    check_error("error", reply("failed", json!({})), "`error` is missing").await;
    check_error("members", |asked| result(asked, &json!({})), "missing field").await;
    let roots = json!({ "inputRequests": { "k": { "method": "roots/list" } } });
    check_error("input", reply("input_required", roots), "requires input").await;
    check_error("failures", |_| http("503 Service Unavailable", ""), "503").await;
    let refused = |asked: &Asked| error("200 OK", asked, -32603, &Value::Null);
    check_error("refusal", refused, "-32603").await;

    // A method without tasks, and a task that was not offered.
    let created = |asked: &Asked| match asked.method() {
        "tools/call" | "resources/read" => result(asked, &state("working", "task", json!({}))),
        _ => modern(asked),
    };
    let script = Script::start(created).await;
    let client = script.connect(|config| config.tasks = false).await.unwrap();
    assert!(matches!(call(&client).await, Err(Error::Malformed { .. })));
    let client = script.client().await;
    assert!(matches!(client.read_resource("r://a").await, Err(Error::Malformed { .. })));
}
