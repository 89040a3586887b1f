use serde::{Deserialize, Serialize};

/// A message of a conversation, in the format of the API.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Message {
    /// The instructions for the model.
    System {
        /// The text.
        content: String,
    },
    /// A message from the user.
    User {
        /// The text.
        content: String,
    },
    /// A message from the model.
    Assistant {
        /// The text; empty if the message contains only calls.
        content: String,
        /// The calls. A [`Tool`](Self::Tool) message follows for each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<MessageToolCall>,
    },
    /// The result of a call.
    Tool {
        /// The call's id.
        tool_call_id: String,
        /// The result or the error.
        content: String,
    },
}

/// A tool call in a message from the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageToolCall {
    /// The call's id.
    pub id: String,
    #[serde(rename = "type")]
    kind: Kind,
    /// The tool and the arguments.
    pub function: FunctionCall,
}

/// The tool and the arguments of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FunctionCall {
    /// The tool's name.
    pub name: String,
    /// The arguments: a JSON object as text.
    pub arguments: String,
}

/// The type of a tool call; the API has only one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Function,
}

impl Message {
    /// A message from the user.
    pub fn user(content: impl Into<String>) -> Self {
        Self::User { content: content.into() }
    }

    /// A text from the model.
    pub fn assistant(content: impl Into<String>) -> Self {
        Self::Assistant { content: content.into(), tool_calls: Vec::new() }
    }

    /// The approximate size in a prompt, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::System { content } | Self::User { content } => content.len(),
            Self::Tool { tool_call_id, content } => tool_call_id.len() + content.len(),
            Self::Assistant { content, tool_calls } => {
                let of_call = |MessageToolCall { id, function, .. }: &MessageToolCall| {
                    id.len() + function.name.len() + function.arguments.len()
                };
                content.len() + tool_calls.iter().map(of_call).sum::<usize>()
            }
        }
    }
}

impl MessageToolCall {
    /// A call of the tool `name` with the text of a JSON object as arguments.
    #[must_use]
    pub fn new(id: String, name: String, arguments: String) -> Self {
        Self { id, kind: Kind::Function, function: FunctionCall { name, arguments } }
    }
}

/// Truncates a text to `limit` bytes, and appends a mark.
pub(crate) fn truncate(mut text: String, limit: usize) -> String {
    let bytes = text.len();
    if bytes > limit {
        let end = (0..=limit).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        text.truncate(end);
        text.push_str(&format!("\n[truncated: {end} of {bytes} bytes shown]"));
    }
    text
}
