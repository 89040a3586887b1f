//! The agent as operations: the one place where it knows JSON-RPC.

mod error;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use trunkline::limits::DistinctKeys;
use trunkline::{Json, Operation, Params, Router, State};

use crate::agent::{
    Agent, Caller, CapabilityDescription, ChatReply, ChatRequest, Error, Refreshed, Step,
};
use crate::conversation::Summary;

/// The operations of an agent: `agent.chat`, `agent.execute_tool`, `agent.list_capabilities`,
/// `agent.refresh_capabilities`, `agent.list_conversations` and `agent.delete_conversation`.
///
/// They belong into a service of their own, beside that whose operations the agent calls: none of them is a
/// tool. It has to let a call take as long as a [turn](Agent::call_timeout). A door that wants to tell what
/// happens meanwhile puts [`Events`](crate::Events) into the call's extensions.
///
/// Errors are -32602 for what makes no sense, -32001 for a tool that is not there, -32011 for a conversation
/// or a confirmation that is not there, -32005 for what may be tried again, -32004 for a model or a storage
/// that takes too long, and -32000 for a model that fails: `data.kind` says how, `data.reason` why, and
/// `data.steps` what was done before, and `data.conversation_id` the conversation, where there is one. What
/// could not be kept, and tools that could not be looked for, are -32000, too. A model that does not want to
/// answer is of the kind `refused`, one whose answer is empty `empty`, and one that says more than it may
/// `too_large`; without a model, the kind is `no_model`.
pub fn operations<S>(agent: &Agent) -> Router<S> {
    let chat = Operation::new("agent.chat", chat)
        .title("Chat")
        .description(
            "Answers a message in words, and calls tools for that. Calls that change or remove what \
             is there wait until they are confirmed.",
        )
        .input::<ChatRequest>()
        .output::<ChatReply>()
        .errors::<Error>();
    let execute_tool = Operation::new("agent.execute_tool", execute_tool)
        .title("Execute a tool")
        .description("Calls one tool, which the caller has chosen. Nothing is asked or confirmed.")
        .input::<ExecuteTool>()
        .output::<Step>()
        .errors::<Error>();
    let list_capabilities =
        |State(agent): State<Agent>| Json(CapabilityList { tools: agent.list_capabilities() });
    let list_capabilities = Operation::new("agent.list_capabilities", list_capabilities)
        .title("List capabilities")
        .description("Lists the tools that the agent can call now.")
        .output::<CapabilityList>()
        .read_only()
        .closed_world();
    let refresh = |State(agent): State<Agent>| async move { agent.refresh().await };
    let refresh = Operation::new("agent.refresh_capabilities", refresh)
        .title("Refresh capabilities")
        .description("Looks for tools anew, and tells which were added, changed and removed.")
        .output::<Refreshed>()
        .errors::<Error>()
        .additive()
        .idempotent()
        .closed_world();
    let list_conversations = Operation::new("agent.list_conversations", list_conversations)
        .title("List conversations")
        .description("Lists the caller's conversations, the one with the newest turn first.")
        .output::<ConversationList>()
        .errors::<Error>()
        .read_only()
        .closed_world();
    let delete_conversation = Operation::new("agent.delete_conversation", delete_conversation)
        .title("Delete a conversation")
        .description("Deletes a conversation of the caller's, with all that was said in it.")
        .input::<DeleteConversation>()
        .output::<Deleted>()
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

/// Which conversation is to be deleted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DeleteConversation {
    /// Its id.
    conversation_id: String,
}

/// The tools that there are.
#[derive(Debug, Serialize, JsonSchema)]
struct CapabilityList {
    tools: Vec<CapabilityDescription>,
}

/// The conversations of a caller.
#[derive(Debug, Serialize, JsonSchema)]
struct ConversationList {
    conversations: Vec<Summary>,
}

/// What was deleted.
#[derive(Debug, Serialize, JsonSchema)]
struct Deleted {
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
) -> Result<Deleted, Error> {
    agent.delete_conversation(&conversation_id, &caller).await?;
    Ok(Deleted { conversation_id })
}
