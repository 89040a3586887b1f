//! A chat with the agent. A script streams the answers; without it, the page is rendered after each turn.

use askama::Template;
use axum::response::Response;
use serde_json::{Map, Value};

use crate::console::{DisabledPage, Layout, Problem, Visit, page, see_other};
use crate::json::Json;
use crate::text;

const SECTION: &str = "agent";

struct Conversation {
    id: String,
    href: String,
    title: String,
    messages: String,
    is_current: bool,
}

/// A call of a tool in a turn.
struct Step {
    tool: String,
    arguments: String,
    outcome: String,
    is_error: bool,
    millis: String,
}

/// A call that waits for a confirmation.
struct Pending {
    confirm: String,
    tool: String,
    arguments: String,
}

#[derive(Template)]
#[template(path = "agent.html")]
struct AgentPage {
    layout: Layout,
    model: String,
    conversation: String,
    conversations: Vec<Conversation>,
    message: String,
    steps: Vec<Step>,
    answer: String,
    pending: Option<Pending>,
    problem: Option<Problem>,
}

pub(super) async fn show(visit: Visit) -> Response {
    if visit.console.config.model.is_none() {
        return page(&DisabledPage {
            layout: visit.layout("Agent", SECTION),
            explanation: "No model is configured, so the agent cannot answer.",
            command: "trunkline serve --agent-url http://127.0.0.1:11434/v1 --agent-model qwen3",
            guide: "Any endpoint that is compatible with OpenAI's works, such as that of Ollama. Its key is the \
                    environment variable TRUNKLINE_AGENT_KEY.",
        });
    }
    let conversation = visit.fields.text("conversation").to_owned();
    page(&agent_page(&visit, conversation).await)
}

async fn agent_page(visit: &Visit, conversation: String) -> AgentPage {
    let (listed, problem) = match visit.call("agent.list_conversations", &Map::new()).await {
        Ok(called) => (called.result, None),
        Err(error) => (Json::Null, Some(Problem::of(&error))),
    };
    let item = |item: &Json| {
        let id = item.text("conversation_id");
        Conversation {
            href: format!("/console/agent{}", text::query(&[("conversation", &id)])),
            title: item.text("title"),
            messages: item.text("messages"),
            is_current: id == conversation,
            id,
        }
    };
    AgentPage {
        layout: visit.layout("Agent", SECTION),
        model: visit.console.config.model.clone().unwrap_or_default(),
        conversations: listed.items("conversations").iter().take(50).map(item).collect(),
        conversation,
        message: String::new(),
        steps: Vec::new(),
        answer: String::new(),
        pending: None,
        problem,
    }
}

pub(super) async fn send(visit: Visit) -> Response {
    let fields = &visit.fields;
    let conversation = fields.text("conversation").to_owned();
    if fields.get("action") == Some("delete") {
        let params = Map::from_iter([("conversation_id".to_owned(), Value::from(conversation))]);
        return match visit.call_for_button("agent.delete_conversation", &params).await {
            Ok(_) => see_other("/console/agent"),
            Err(error) => visit.failed(SECTION, &error),
        };
    }
    let message = fields.text("message").to_owned();
    let mut params = Map::new();
    for (name, value) in [
        ("message", &*message),
        ("conversation_id", &conversation),
        ("confirm", fields.text("confirm")),
    ] {
        if !value.is_empty() {
            params.insert(name.to_owned(), value.into());
        }
    }
    // The agent asks for the confirmation of its calls itself.
    let replied = visit.call_for_button("agent.chat", &params).await;
    let conversation = match &replied {
        Ok(called) => called.result.text("conversation_id"),
        Err(_) => conversation,
    };
    let mut page_of = agent_page(&visit, conversation).await;
    page_of.message = message;
    match replied {
        Ok(called) => {
            let reply = &called.result;
            page_of.answer = reply.text("response");
            page_of.steps = reply.items("steps").iter().map(Step::of).collect();
            page_of.pending =
                reply.get("pending").filter(|one| one.as_object().is_some()).map(|pending| {
                    let arguments = pending.get("arguments").map(Json::pretty).unwrap_or_default();
                    Pending {
                        confirm: pending.text("confirm"),
                        tool: pending.text("tool"),
                        arguments,
                    }
                });
        }
        Err(error) => page_of.problem = Some(Problem::of(&error)),
    }
    page(&page_of)
}

impl Step {
    fn of(step: &Json) -> Self {
        let error = step.get("error");
        let outcome = error.or_else(|| step.get("result")).map(Json::pretty).unwrap_or_default();
        Self {
            tool: step.text("tool"),
            arguments: step.get("arguments").map(Json::to_string).unwrap_or_default(),
            outcome: text::beginning(&outcome, 4_000).0.to_owned(),
            is_error: error.is_some(),
            millis: step.get("ms").and_then(Json::as_f64).map(text::millis).unwrap_or_default(),
        }
    }
}
