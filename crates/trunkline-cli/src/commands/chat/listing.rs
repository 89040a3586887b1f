//! The lists of tools and conversations.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::client::agent_result;
use crate::terminal::{Failure, Renderer, Table, indented, line, lines};

/// The tools of an agent.
pub(super) struct Tools {
    tools: Vec<Tool>,
    /// The JSON text of the result.
    json: Box<RawValue>,
}

#[derive(Deserialize)]
struct Tool {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(rename = "inputSchema")]
    input_schema: Option<Box<RawValue>>,
}

/// The conversations of the caller.
pub(super) struct Conversations {
    conversations: Vec<Conversation>,
    /// The JSON text of the result.
    json: Box<RawValue>,
}

#[derive(Deserialize)]
struct Conversation {
    conversation_id: String,
    #[serde(default)]
    title: String,
    updated_ms: u64,
}

impl Tools {
    pub(super) fn read(json: Box<RawValue>) -> Result<Self, Failure> {
        #[derive(Deserialize)]
        struct Listed {
            tools: Vec<Tool>,
        }
        let Listed { tools } = agent_result(&json)?;
        Ok(Self { tools, json })
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| &*tool.name)
    }

    pub(super) fn listed(&self, renderer: Renderer) -> String {
        if renderer.is_json() {
            return renderer.json(self.json.get());
        }
        let about = |tool: &Tool| tool.description.lines().next().unwrap_or_default().to_owned();
        let rows = self.tools.iter().map(|tool| [tool.name.clone(), about(tool)]);
        renderer.table(&Table::from_texts(["tool", "description"], rows))
    }

    /// One tool, with the schema of its arguments.
    pub(super) fn described(&self, name: &str, renderer: Renderer) -> Result<String, Failure> {
        let Some(tool) = self.tools.iter().find(|tool| tool.name == name) else {
            return Err(Failure::Usage(format!("unknown tool `{name}`; /tools lists the tools")));
        };
        let schema = tool.input_schema.as_ref().map_or("{}", |schema| schema.get());
        if renderer.is_json() {
            let [name, about] = [&tool.name, &tool.description].map(|text| serde_json::json!(text));
            let json = format!(r#"{{"name":{name},"description":{about},"inputSchema":{schema}}}"#);
            return Ok(renderer.json(&json));
        }
        let (name, about) = (line(&tool.name), lines(tool.description.trim()));
        Ok(format!("{name}\n{about}\n{}\n", indented(schema)))
    }
}

impl Conversations {
    pub(super) fn read(json: Box<RawValue>) -> Result<Self, Failure> {
        #[derive(Deserialize)]
        struct Listed {
            conversations: Vec<Conversation>,
        }
        let Listed { conversations } = agent_result(&json)?;
        Ok(Self { conversations, json })
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.conversations.iter().map(|one| &*one.conversation_id)
    }

    /// Returns the title of a conversation: the start of its first message.
    pub(super) fn title(&self, id: &str) -> Result<&str, Failure> {
        let found = self.conversations.iter().find(|one| one.conversation_id == id);
        found.map(|one| &*one.title).ok_or_else(|| {
            let reason = format!("unknown conversation `{id}`; /conversations lists yours");
            Failure::Usage(reason)
        })
    }

    /// Renders the list. The current conversation has a star.
    pub(super) fn listed(&self, current: Option<&str>, renderer: Renderer) -> String {
        if renderer.is_json() {
            return renderer.json(self.json.get());
        }
        if self.conversations.is_empty() {
            return "no conversations\n".to_owned();
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let row = |one: &Conversation| {
            let is_current = current == Some(&*one.conversation_id);
            let star = if is_current { "*" } else { "" };
            let seconds = now.saturating_sub(one.updated_ms.into()) / 1_000;
            [format!("{}{star}", one.conversation_id), ago(seconds), one.title.clone()]
        };
        let rows = self.conversations.iter().map(row);
        renderer.table(&Table::from_texts(["conversation", "last turn", "title"], rows))
    }
}

fn ago(seconds: u128) -> String {
    match seconds {
        0..60 => "now".to_owned(),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} d ago", seconds / 86_400),
    }
}
