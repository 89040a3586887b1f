use serde::{Deserialize, Serialize};

/// A message of a conversation, as it is sent to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Message {
    /// What the model is told about its task.
    System {
        /// The text.
        content: String,
    },
    /// What a person says.
    User {
        /// The text.
        content: String,
    },
    /// What the model has said, and called.
    Assistant {
        /// The text. Empty if it has only called.
        content: String,
        /// The calls, each of which has a [`Tool`](Self::Tool) message.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Called>,
    },
    /// What came of a call.
    Tool {
        /// The call's id.
        tool_call_id: String,
        /// The result, or why there is none.
        content: String,
    },
}

/// A call that a model has made, as it is told to it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Called {
    /// The call's id.
    pub id: String,
    #[serde(rename = "type")]
    kind: Kind,
    /// What was called.
    pub function: CalledFunction,
}

/// The tool and the arguments of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CalledFunction {
    /// The tool's name.
    pub name: String,
    /// A JSON object, as text.
    pub arguments: String,
}

/// The one kind of tools that there is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Function,
}

impl Message {
    /// What a person says.
    pub fn user(content: impl Into<String>) -> Self {
        Self::User { content: content.into() }
    }

    /// What the model has said.
    pub fn assistant(content: impl Into<String>) -> Self {
        Self::Assistant { content: content.into(), tool_calls: Vec::new() }
    }

    /// About how much of a model's attention it takes, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::System { content } | Self::User { content } => content.len(),
            Self::Tool { tool_call_id, content } => tool_call_id.len() + content.len(),
            Self::Assistant { content, tool_calls } => {
                let of_call = |Called { id, function, .. }: &Called| {
                    id.len() + function.name.len() + function.arguments.len()
                };
                content.len() + tool_calls.iter().map(of_call).sum::<usize>()
            }
        }
    }
}

impl Called {
    /// A call of the tool `name`, with a JSON object for arguments.
    #[must_use]
    pub fn new(id: String, name: String, arguments: String) -> Self {
        Self { id, kind: Kind::Function, function: CalledFunction { name, arguments } }
    }
}

/// The text, or its first `limit` bytes with a mark.
pub(crate) fn cut(mut text: String, limit: usize) -> String {
    let bytes = text.len();
    if bytes > limit {
        let end = (0..=limit).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        text.truncate(end);
        text.push_str(&format!("\n[cut: {end} of {bytes} bytes are shown]"));
    }
    text
}
