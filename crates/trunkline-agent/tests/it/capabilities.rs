//! Resolution of tools: by their names, and after an operation was replaced.

use serde_json::{Value, json};
use tempfile::TempDir;
use trunkline::tool::ToolOperation;
use trunkline::{DynamicOperations, Extensions, Json, Operation, Router, Rpc, code};
use trunkline_agent::conversation::Conversations;
use trunkline_agent::model::{self, Model};
use trunkline_agent::{Agent, AgentConfig, Caller, ChatReply, ChatRequest, Error};

use crate::model_server::{Answer, ModelServer};
use crate::support::includes;

/// An agent with a model that replies with `first`, and then with "Done.".
async fn agent(rpc: Rpc, config: AgentConfig, first: Answer) -> (TempDir, ModelServer, Agent) {
    let directory = tempfile::tempdir().unwrap();
    let model_server = ModelServer::rows(vec![first, Answer::text("Done.")]).await;
    let model = Model::new(model::ModelConfig::new(&*model_server.url, "tiny")).unwrap();
    let conversations = Conversations::open(directory.path(), Default::default()).unwrap();
    let agent = Agent::new(rpc, Some(model), conversations, config);
    (directory, model_server, agent)
}

fn caller() -> Caller {
    Caller::of(&Extensions::new())
}

async fn go(agent: &Agent) -> ChatReply {
    let request = ChatRequest { message: Some("Go.".to_owned()), ..ChatRequest::default() };
    agent.chat(request, &caller()).await.unwrap()
}

async fn confirm(agent: &Agent, reply: &ChatReply) -> Value {
    let pending = reply.pending.as_ref().expect("a pending call");
    let request = ChatRequest {
        message: None,
        conversation_id: Some(reply.conversation_id.clone()),
        confirm: Some(pending.confirm.clone()),
    };
    let reply = agent.chat(request, &caller()).await.unwrap();
    serde_json::to_value(&reply.steps).unwrap()
}

#[tokio::test]
async fn names_sent_to_the_model_take_precedence() {
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
        let allow = ["todo.*", "todo_list"].map(trunkline::Pattern::new).into();
        let config = AgentConfig { allow, ..AgentConfig::default() };
        let first = Answer::calls(&[("1", called, "")]);
        let (_directory, model_server, agent) = agent(rpc.clone(), config, first).await;
        let steps = serde_json::to_value(go(&agent).await.steps).unwrap();
        includes(called, &steps, &json!([{ "result": expected }]));
        let offered = &model_server.requests()[0]["tools"];
        includes("first", &offered[0]["function"], &json!({ "name": "todo_list" }));
        includes("second", &offered[1]["function"], &json!({ "name": "todo_list_2" }));

        let executed = agent.execute_tool(called, Default::default(), &caller()).await;
        let expected = match called {
            // Clients use the names of tools and operations.
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
async fn confirmation_fails_after_the_operation_changed() {
    let destroys = |operation: Operation| operation.destructive();
    let proposed = || erase("Erases a note.", destroys);
    let refused =
        json!({ "error": { "code": code::REFUSED, "data": { "reason": "…has changed" } } });
    let other = || Operation::new("other", || 1).tool("other");
    for (name, after, expected) in [
        ("the same", Router::new().operation(proposed()), json!({ "result": "erased" })),
        (
            "others are added",
            Router::new().operation(other()).operation(proposed()),
            json!({ "result": "erased" }),
        ),
        ("description", Router::new().operation(erase("Erases all.", destroys)), refused.clone()),
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
            "removed",
            Router::new().operation(other()),
            json!({ "error": { "code": code::TOOL_NOT_FOUND } }),
        ),
    ] {
        let changing = DynamicOperations::new();
        changing.replace(Router::new().operation(proposed())).unwrap();
        let rpc = Router::new().dynamic("tool", &changing).build().unwrap();
        let first = Answer::calls(&[("1", "erase", "")]);
        let (_directory, _model, agent) = agent(rpc, AgentConfig::default(), first).await;
        let reply = go(&agent).await;
        changing.replace(after).unwrap();
        includes(name, &confirm(&agent, &reply).await, &json!([expected]));
    }
}

#[cfg(unix)]
#[tokio::test]
async fn confirmation_fails_after_the_command_changed() {
    use trunkline_command_tools::{ToolConfig, ToolFolder};

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
        changing.replace(trunkline_command_tools::operations(&folder)).unwrap();
        let rpc = Router::new().dynamic("tool", &changing).build().unwrap();
        let first = Answer::calls(&[("1", "note", "")]);
        let (_directory, _model, agent) = agent(rpc, AgentConfig::default(), first).await;
        let reply = go(&agent).await;
        std::fs::write(&file, &after).unwrap();
        folder.reload().unwrap();
        changing.replace(trunkline_command_tools::operations(&folder)).unwrap();
        includes(name, &confirm(&agent, &reply).await, &json!([expected]));
    }
}

/// The content of tools of other MCP servers is text for the model, not the JSON of their results.
#[tokio::test]
async fn content_blocks_are_text_for_the_model() {
    let blocks = || {
        json!([
            { "type": "text", "text": "Two\nlines." },
            { "type": "image", "data": "AAAA", "mimeType": "image/png" },
            { "type": "resource", "resource": { "uri": "docs://a", "text": "Embedded." } },
            { "type": "resource_link", "uri": "docs://b", "name": "b" },
            { "type": "other" },
        ])
    };
    const TEXT: &str = "Two\nlines.\n[image: image/png]\nEmbedded.\n[resource: docs://b]\n[other]";
    let failed = json!({ "content": [{ "type": "text", "text": "No." }], "isError": true });
    let structured = json!({ "content": [], "structuredContent": { "a": 1 } });
    for (result, is_whole, expected) in [
        (blocks(), false, TEXT.to_owned()),
        (json!({ "content": blocks(), "structuredContent": {} }), true, TEXT.to_owned()),
        (failed, true, "Error: No.".to_owned()),
        (structured, true, "{\"a\":1}".to_owned()),
    ] {
        let returned = result.clone();
        let operation = Operation::new("a.b", move || Json(returned.clone())).read_only();
        let operation = operation.tool("a__b");
        let operation = if is_whole { operation.tool_result() } else { operation.blocks() };
        let rpc = Router::new().operation(operation).build().unwrap();
        let config =
            AgentConfig { allow: vec![trunkline::Pattern::new("a__b")], ..AgentConfig::default() };
        let first = Answer::calls(&[("1", "a__b", "")]);
        let (_directory, model_server, agent) = agent(rpc, config, first).await;
        let steps = serde_json::to_value(go(&agent).await.steps).unwrap();
        // Clients receive the result unchanged.
        assert_eq!(steps[0]["result"], result);
        let requests = model_server.requests();
        let messages = requests[1]["messages"].as_array().unwrap();
        assert_eq!(messages.last().unwrap()["content"], expected);
    }
}
