//! Tools that send requests to their client.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::join;
use trunkline::tool::ToolOperation;
use trunkline::{JsonSchema, Operation, Params, Router};
use trunkline_mcp::{
    Block, CreateMessageRequest, ElicitResult, McpOperation, Peer, PeerError, Prompt,
};

use crate::tools::tool;

/// The tools of the revisions with requests from the server to the client.
pub(crate) fn tools() -> Router {
    Router::new()
        .operation(
            tool("test_sampling", "Asks the client's model.", sampling)
                .input::<Question>()
                .blocks(),
        )
        .operation(
            tool("test_elicitation", "Asks the user.", elicitation).input::<Message>().blocks(),
        )
        .operation(
            tool("test_elicitation_sep1034_defaults", "Asks with defaults.", defaults).blocks(),
        )
        .operation(tool("test_elicitation_sep1330_enums", "Asks for choices.", choices).blocks())
        .operation(
            tool("test_reconnection", "Closes its stream before it ends.", reconnection).blocks(),
        )
}

/// The tools of the stateless era.
pub(crate) fn round_trips() -> Router {
    let named = |name: &str| format!("test_input_required_result_{name}");
    Router::new()
        .operation(tool(&named("elicitation"), "Asks for a name.", greeting))
        .operation(tool(&named("sampling"), "Asks the client's model.", capital))
        .operation(tool(&named("list_roots"), "Lists the client's roots.", roots))
        .operation(tool(&named("request_state"), "Asks for confirmation.", confirmation))
        .operation(tool(&named("tampered_state"), "Asks for confirmation.", confirmation))
        .operation(tool(&named("multiple_inputs"), "Asks three times at once.", several))
        .operation(tool(&named("multi_round"), "Asks twice.", two_rounds))
        .operation(tool(&named("capabilities"), "Asks what the client supports.", supported))
        .operation(
            Operation::new("prompt", prompt)
                .description("Asks for a context.")
                .prompt(Prompt::new("test_input_required_result_prompt")),
        )
}

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
struct Question {
    /// The text for the model.
    prompt: String,
}

async fn sampling(
    client: Peer,
    Params(Question { prompt }): Params<Question>,
) -> Result<Block, PeerError> {
    let answer = client.sample("answer", &CreateMessageRequest::new(prompt, 100)).await?;
    Ok(Block::text(format!("LLM response: {}", answer.text())))
}

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
struct Message {
    /// The question to the user.
    message: String,
}

async fn elicitation(
    client: Peer,
    Params(Message { message }): Params<Message>,
) -> Result<Block, PeerError> {
    let text = |name: &str| json!({ "type": "string", "description": name });
    let schema = json!({
        "type": "object",
        "properties": { "username": text("The user's name"), "email": text("The user's address") },
        "required": ["username", "email"],
    });
    let answer = client.elicit_form("user", &message, schema).await?;
    Ok(Block::text(format!("User response: {}", shown(&answer))))
}

async fn defaults(client: Peer) -> Result<Block, PeerError> {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": {
                "type": "string",
                "enum": ["active", "inactive", "pending"],
                "default": "active",
            },
            "verified": { "type": "boolean", "default": true },
        },
        "required": [],
    });
    let answer = client.elicit_form("user", "Please review the values", schema).await?;
    Ok(Block::text(format!("Elicitation completed: {}", shown(&answer))))
}

async fn choices(client: Peer) -> Result<Block, PeerError> {
    let options = ["option1", "option2", "option3"];
    let titled = |value: &str, title: &str| json!({ "const": value, "title": title });
    let all = [
        titled("value1", "First Option"),
        titled("value2", "Second Option"),
        titled("value3", "Third Option"),
    ];
    let schema = json!({
        "type": "object",
        "properties": {
            "untitledSingle": { "type": "string", "enum": options },
            "titledSingle": { "type": "string", "oneOf": all },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {
                "type": "array",
                "items": { "type": "string", "enum": options },
            },
            "titledMulti": { "type": "array", "items": { "anyOf": all } },
        },
        "required": [],
    });
    let answer = client.elicit_form("choices", "Please choose", schema).await?;
    Ok(Block::text(format!("Elicitation completed: {}", shown(&answer))))
}

fn shown(answer: &ElicitResult<Value>) -> String {
    match answer {
        ElicitResult::Accept(content) => format!("action=accept, content={content}"),
        ElicitResult::Decline => "action=decline, content={}".to_owned(),
        ElicitResult::Cancel => "action=cancel, content={}".to_owned(),
    }
}

async fn reconnection(client: Peer) -> Block {
    client.close_stream(Duration::from_millis(500));
    tokio::time::sleep(Duration::from_millis(100)).await;
    Block::text("The reply after the reconnection.")
}

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
struct Name {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
struct Color {
    color: String,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
struct Confirmation {
    ok: bool,
}

pub(crate) async fn greeting(client: Peer) -> Result<String, PeerError> {
    let answer = client.elicit::<Name>("user_name", "What is your name?").await?;
    Ok(answer.accepted().map_or("Hello!".to_owned(), |Name { name }| format!("Hello, {name}!")))
}

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
struct PromptContext {
    context: String,
}

async fn prompt(client: Peer) -> Result<String, PeerError> {
    let question = "What context should the prompt use?";
    let answer = client.elicit::<PromptContext>("user_context", question).await?;
    let context = answer.accepted().map_or("none".to_owned(), |answer| answer.context);
    Ok(format!("Use this context: {context}"))
}

async fn capital(client: Peer) -> Result<String, PeerError> {
    let question = CreateMessageRequest::new("What is the capital of France?", 100);
    Ok(client.sample("capital_question", &question).await?.text())
}

async fn roots(client: Peer) -> Result<String, PeerError> {
    let roots = client.roots("client_roots").await?;
    let uris: Vec<_> = roots.iter().map(|root| &*root.uri).collect();
    Ok(format!("{} roots: {}", uris.len(), uris.join(", ")))
}

async fn confirmation(client: Peer) -> Result<&'static str, PeerError> {
    let answer = client.elicit::<Confirmation>("confirm", "Please confirm").await?;
    let is_confirmed = answer.accepted().is_some_and(|answer| answer.ok);
    Ok(if is_confirmed { "state-ok" } else { "not confirmed" })
}

async fn several(client: Peer) -> Result<String, PeerError> {
    let request = CreateMessageRequest::new("Generate a greeting", 50);
    let (name, greeting, roots) = join!(
        client.elicit::<Name>("user_name", "What is your name?"),
        client.sample("greeting", &request),
        client.roots("client_roots"),
    );
    let name = name?.accepted().map_or("nobody".to_owned(), |answer| answer.name);
    Ok(format!("{} {name}, {} roots", greeting?.text(), roots?.len()))
}

async fn two_rounds(client: Peer) -> Result<String, PeerError> {
    let name = client.elicit::<Name>("step1", "Step 1: What is your name?").await?;
    let color = client.elicit::<Color>("step2", "Step 2: What is your favorite color?").await?;
    Ok(match (name.accepted(), color.accepted()) {
        (Some(Name { name }), Some(Color { color })) => format!("{name} likes {color}."),
        _ => "No answers.".to_owned(),
    })
}

async fn supported(client: Peer) -> Result<String, PeerError> {
    if client.supports("elicitation") {
        return greeting(client).await;
    }
    capital(client).await
}
