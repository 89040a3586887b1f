//! The agent's operations.

mod error;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use trunkline::limits::DistinctKeys;
use trunkline::{Json, Operation, Params, Router, State};

use crate::agent::{
    Agent, Caller, CapabilityDescription, ChatReply, ChatRequest, Error, RefreshReport, Step,
};
use crate::conversation::Summary;

/// The operations of an agent: `agent.chat`, `agent.execute_tool`, `agent.list_capabilities`,
/// `agent.refresh_capabilities`, `agent.list_conversations` and `agent.delete_conversation`.
///
/// They are not tools: build a separate service from them, next to the service whose operations the agent calls.
/// Its call timeout must be at least [`Agent::call_timeout`]. A transport that streams events puts
/// [`EventSender`](crate::EventSender) into the extensions of the call.
///
/// The errors are -32602 for invalid params, -32001 for an unknown tool, -32011 for an unknown conversation or
/// confirmation token, -32005 for a busy server or model, which can be retried, -32004 for a timeout of the model
/// or the storage, and -32000 for a failure of the model, of saving a turn, or of a refresh. `data.kind` is the kind
/// of failure, `data.reason` the reason, `data.steps` the calls executed before it, and `data.conversation_id` the
/// conversation, if it exists. The kind is `no_model` if no model is configured, `refused` if the model declines to
/// answer, `empty` if its answer is empty, and `too_large` if its reply exceeds a limit.
pub fn operations<S>(agent: &Agent) -> Router<S> {
    let chat = Operation::new("agent.chat", chat)
        .title("Chat")
        .description(
                        "Answers a message, and calls tools as needed. Calls that change or delete data wait for \
                         confirmation.",
        )
        .input::<ChatRequest>()
        .output::<ChatReply>()
        .errors::<Error>();
    let execute_tool = Operation::new("agent.execute_tool", execute_tool)
        .title("Execute a tool")
        .description("Calls one tool, without the model and without confirmation.")
        .input::<ExecuteTool>()
        .output::<Step>()
        .errors::<Error>();
    let list_capabilities = |State(agent): State<Agent>, caller: Caller| {
        Json(CapabilityList { tools: agent.list_capabilities_for(&caller) })
    };
    let list_capabilities = Operation::new("agent.list_capabilities", list_capabilities)
        .title("List capabilities")
        .description("Lists the tools that the agent can call.")
        .output::<CapabilityList>()
        .read_only()
        .closed_world();
    let refresh =
        |State(agent): State<Agent>, caller: Caller| async move { agent.refresh(&caller).await };
    let refresh = Operation::new("agent.refresh_capabilities", refresh)
        .title("Refresh capabilities")
        .description("Refreshes the tools, and lists the added, changed and removed ones.")
        .output::<RefreshReport>()
        .errors::<Error>()
        .additive()
        .idempotent()
        .closed_world();
    let list_conversations = Operation::new("agent.list_conversations", list_conversations)
        .title("List conversations")
        .description("Lists the caller's conversations, most recently updated first.")
        .output::<ConversationList>()
        .errors::<Error>()
        .read_only()
        .closed_world();
    let delete_conversation = Operation::new("agent.delete_conversation", delete_conversation)
        .title("Delete a conversation")
        .description("Deletes one of the caller's conversations with all its messages.")
        .input::<DeleteConversation>()
        .output::<DeletedConversation>()
        .errors::<Error>()
        .destructive()
        .closed_world();
    Router::new()
        .operation(chat)
        .operation(execute_tool)
        .operation(list_capabilities)
        .operation(refresh)
        .operation(list_conversations)
        .operation(delete_conversation)
        .with_state(agent.clone())
}

/// A call of one tool.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExecuteTool {
    /// The tool's name, or the operation's.
    tool: String,
    /// Its arguments. Default: none.
    #[serde(default, deserialize_with = "DistinctKeys::object")]
    params: Map<String, Value>,
}

/// The conversation to delete.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DeleteConversation {
    /// Its id.
    conversation_id: String,
}

/// The agent's tools.
#[derive(Debug, Serialize, JsonSchema)]
struct CapabilityList {
    tools: Vec<CapabilityDescription>,
}

/// The conversations of a caller.
#[derive(Debug, Serialize, JsonSchema)]
struct ConversationList {
    conversations: Vec<Summary>,
}

/// The deleted conversation.
#[derive(Debug, Serialize, JsonSchema)]
struct DeletedConversation {
    conversation_id: String,
}

async fn chat(
    State(agent): State<Agent>,
    Params(request): Params<ChatRequest>,
    caller: Caller,
) -> Result<ChatReply, Error> {
    agent.chat(request, &caller).await
}

async fn execute_tool(
    State(agent): State<Agent>,
    Params(ExecuteTool { tool, params }): Params<ExecuteTool>,
    caller: Caller,
) -> Result<Step, Error> {
    agent.execute_tool(&tool, params, &caller).await
}

async fn list_conversations(
    State(agent): State<Agent>,
    caller: Caller,
) -> Result<ConversationList, Error> {
    let conversations = agent.list_conversations(&caller).await?;
    Ok(ConversationList { conversations })
}

async fn delete_conversation(
    State(agent): State<Agent>,
    Params(DeleteConversation { conversation_id }): Params<DeleteConversation>,
    caller: Caller,
) -> Result<DeletedConversation, Error> {
    agent.delete_conversation(&conversation_id, &caller).await?;
    Ok(DeletedConversation { conversation_id })
}
