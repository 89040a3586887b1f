//! Which operation is meant: by its names, and when another one has taken its place.

use serde_json::{Value, json};
use tempfile::TempDir;
use trunkline::{DynamicOperations, Extensions, Operation, Router, Rpc, code};
use trunkline_agent::conversation::Conversations;
use trunkline_agent::model::{self, Model};
use trunkline_agent::{Agent, AgentConfig, Caller, ChatReply, ChatRequest, Error};

use crate::house::includes;
use crate::scripted::{Answer, Scripted};

/// An agent with a model that says this, and then that it is done.
async fn agent(rpc: Rpc, settings: AgentConfig, said: Answer) -> (TempDir, Scripted, Agent) {
    let directory = tempfile::tempdir().unwrap();
    let scripted = Scripted::rows(vec![said, Answer::text("Done.")]).await;
    let model = Model::new(model::ModelConfig::new(&*scripted.url, "tiny")).unwrap();
    let conversations = Conversations::open(directory.path(), Default::default()).unwrap();
    let agent = Agent::new(rpc, Some(model), conversations, settings);
    (directory, scripted, agent)
}

fn caller() -> Caller {
    Caller::of(&Extensions::new())
}

async fn go(agent: &Agent) -> ChatReply {
    let request = ChatRequest { message: Some("Go.".to_owned()), ..ChatRequest::default() };
    agent.chat(request, &caller()).await.unwrap()
}

async fn confirm(agent: &Agent, reply: &ChatReply) -> Value {
    let pending = reply.pending.as_ref().expect("something waits");
    let request = ChatRequest {
        message: None,
        conversation_id: Some(reply.conversation_id.clone()),
        confirm: Some(pending.confirm.clone()),
    };
    let reply = agent.chat(request, &caller()).await.unwrap();
    serde_json::to_value(&reply.steps).unwrap()
}

#[tokio::test]
async fn a_model_calls_what_it_was_offered() {
    // Models are offered the first one as `todo_list`, and the second as `todo_list_2`.
    let rpc = Router::new()
        .operation(Operation::new("todo.list", || "the resource").read_only())
        .operation(Operation::new("tool.todo_list", || "the command").read_only().tool("todo_list"))
        .build()
        .unwrap();
    for (called, expected) in [
        ("todo_list", "the resource"),
        ("todo_list_2", "the command"),
        ("todo.list", "the resource"),
        ("tool.todo_list", "the command"),
    ] {
        let allow = ["todo.*", "todo_list"].into_iter().collect();
        let settings = AgentConfig { allow, ..AgentConfig::default() };
        let said = Answer::calls(&[("1", called, "")]);
        let (_directory, scripted, agent) = agent(rpc.clone(), settings, said).await;
        let steps = serde_json::to_value(go(&agent).await.steps).unwrap();
        includes(called, &steps, &json!([{ "result": expected }]));
        let offered = &scripted.requests()[0]["tools"];
        includes("first", &offered[0]["function"], &json!({ "name": "todo_list" }));
        includes("second", &offered[1]["function"], &json!({ "name": "todo_list_2" }));

        let executed = agent.execute_tool(called, Default::default(), &caller()).await;
        let expected = match called {
            // People know the tools' names, and the operations'.
            "todo_list" => Some("\"the command\""),
            "todo_list_2" => None,
            _ => Some(if called == "todo.list" { "\"the resource\"" } else { "\"the command\"" }),
        };
        let found = match &executed {
            Ok(step) => step.result.as_ref().map(|result| result.get()),
            Err(error) => {
                assert!(matches!(error, Error::UnknownTool { .. }), "{called}: {error}");
                None
            }
        };
        assert_eq!(found, expected, "{called}");
    }
}

fn erase(does: &str, effect: fn(Operation) -> Operation) -> Operation {
    effect(Operation::new("erase", || "erased").description(does).tool("erase"))
}

#[tokio::test]
async fn what_is_confirmed_is_what_was_proposed() {
    let destroys = |operation: Operation| operation.destructive();
    let proposed = || erase("Erases a note.", destroys);
    let refused =
        json!({ "error": { "code": code::REFUSED, "data": { "reason": "…has changed" } } });
    let other = || Operation::new("other", || 1).tool("other");
    for (name, after, expected) in [
        ("the same", Router::new().operation(proposed()), json!({ "result": "erased" })),
        (
            "others come",
            Router::new().operation(other()).operation(proposed()),
            json!({ "result": "erased" }),
        ),
        ("words", Router::new().operation(erase("Erases all.", destroys)), refused.clone()),
        (
            "effect",
            Router::new().operation(erase("Erases a note.", Operation::additive)),
            refused.clone(),
        ),
        (
            "input",
            Router::new().operation(proposed().input_schema(json!({ "type": "object" }))),
            refused.clone(),
        ),
        ("revision", Router::new().operation(proposed().revision("2")), refused),
        (
            "gone",
            Router::new().operation(other()),
            json!({ "error": { "code": code::TOOL_NOT_FOUND } }),
        ),
    ] {
        let changing = DynamicOperations::new();
        changing.replace(Router::new().operation(proposed())).unwrap();
        let rpc = Router::new().dynamic("tool", &changing).build().unwrap();
        let said = Answer::calls(&[("1", "erase", "")]);
        let (_directory, _scripted, agent) = agent(rpc, AgentConfig::default(), said).await;
        let reply = go(&agent).await;
        changing.replace(after).unwrap();
        includes(name, &confirm(&agent, &reply).await, &json!([expected]));
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_command_that_is_another_is_not_confirmed() {
    use trunkline_tools::{ToolConfig, ToolFolder};

    let manifest = |lines: &str| {
        format!("name = 'note'\ndescription = 'A note.'\n{lines}\ninput_schema.type = 'object'\n")
    };
    let echo = manifest("command = ['echo', '1']");
    for (name, after, expected) in [
        ("the same", echo.clone(), json!({ "result": 1 })),
        (
            "the command",
            manifest("command = ['echo', '2']"),
            json!({ "error": { "code": code::REFUSED } }),
        ),
        (
            "its environment",
            manifest("command = ['echo', '1']\nenv = ['LANG']"),
            json!({ "error": { "code": code::REFUSED } }),
        ),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("note.toml");
        std::fs::write(&file, &echo).unwrap();
        let folder = ToolFolder::open(directory.path(), ToolConfig::default()).unwrap();
        let changing = DynamicOperations::new();
        changing.replace(trunkline_tools::operations(&folder)).unwrap();
        let rpc = Router::new().dynamic("tool", &changing).build().unwrap();
        let said = Answer::calls(&[("1", "note", "")]);
        let (_directory, _scripted, agent) = agent(rpc, AgentConfig::default(), said).await;
        let reply = go(&agent).await;
        std::fs::write(&file, &after).unwrap();
        folder.reload().unwrap();
        changing.replace(trunkline_tools::operations(&folder)).unwrap();
        includes(name, &confirm(&agent, &reply).await, &json!([expected]));
    }
}
