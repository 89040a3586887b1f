use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::extra::ExtraMembers;

/// A message of a conversation.
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
        /// Members that the API does not define.
        #[serde(default, skip_serializing_if = "ExtraMembers::is_empty")]
        extra: ExtraMembers,
        /// The model that wrote the message. Others may reject its extra members.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        model: String,
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
    #[serde(default, skip_serializing_if = "ExtraMembers::is_empty")]
    pub(super) extra: ExtraMembers,
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
        Self::with_calls(content.into(), Vec::new())
    }

    /// A text from the model, and calls.
    pub(crate) fn with_calls(content: String, tool_calls: Vec<MessageToolCall>) -> Self {
        let (extra, model) = (ExtraMembers::default(), String::new());
        Self::Assistant { content, tool_calls, extra, model }
    }

    /// The approximate size in a prompt, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::System { content } | Self::User { content } => content.len(),
            Self::Tool { tool_call_id, content } => tool_call_id.len() + content.len(),
            Self::Assistant { content, tool_calls, extra, .. } => {
                let of_call = |MessageToolCall { id, function, extra, .. }: &MessageToolCall| {
                    id.len() + function.name.len() + function.arguments.len() + extra.bytes()
                };
                content.len() + extra.bytes() + tool_calls.iter().map(of_call).sum::<usize>()
            }
        }
    }

    /// The message with only the call of this id.
    pub(crate) fn with_only_call(&self, id: &str) -> Self {
        let mut message = self.clone();
        if let Self::Assistant { tool_calls, .. } = &mut message {
            tool_calls.retain(|call| call.id == id);
        }
        message
    }

    /// The message with another id of its only call.
    pub(crate) fn with_call_id(mut self, id: &str) -> Self {
        if let Self::Assistant { tool_calls, extra, .. } = &mut self {
            for call in tool_calls {
                extra.rename_call(&call.id, id);
                id.clone_into(&mut call.id);
            }
        }
        self
    }

    /// Removes the extra members.
    pub(crate) fn drop_extra(&mut self) {
        if let Self::Assistant { tool_calls, extra, .. } = self {
            let of_calls = tool_calls.iter_mut().map(|call| &mut call.extra);
            of_calls.chain([extra]).for_each(|extra| *extra = ExtraMembers::default());
        }
    }

    /// The extra members of the message and its calls, if it is by this model.
    pub(super) fn extra_by(&self, name: &str) -> impl Iterator<Item = &ExtraMembers> {
        let (extra, calls): (_, &[_]) = match self {
            Self::Assistant { tool_calls, extra, model, .. } if model == name => {
                (Some(extra), tool_calls)
            }
            _ => (None, &[]),
        };
        extra.into_iter().chain(calls.iter().map(|call| &call.extra))
    }

    /// The message in the format of the API, with its extra members if it is by this model.
    pub(super) fn to_json(&self, with_extra_by: Option<&str>) -> Value {
        let Self::Assistant { content, tool_calls, extra, model } = self else {
            return serde_json::to_value(self).expect("texts serialise into memory");
        };
        let has_extra = with_extra_by == Some(model);
        let mut message = Map::new();
        message.insert("role".to_owned(), "assistant".into());
        message.insert("content".to_owned(), content.as_str().into());
        if !tool_calls.is_empty() {
            let calls = tool_calls.iter().map(|call| call.to_json(has_extra)).collect();
            message.insert("tool_calls".to_owned(), calls);
        }
        if has_extra {
            extra.write_to(&mut message);
        }
        message.into()
    }
}

impl MessageToolCall {
    /// A call of the tool `name` with the text of a JSON object as arguments.
    #[must_use]
    pub fn new(id: String, name: String, arguments: String) -> Self {
        let (function, extra) = (FunctionCall { name, arguments }, ExtraMembers::default());
        Self { id, kind: Kind::Function, function, extra }
    }

    fn to_json(&self, with_extra: bool) -> Value {
        let Self { id, kind, function, extra } = self;
        let mut call = Map::new();
        call.insert("id".to_owned(), id.as_str().into());
        call.insert("type".to_owned(), json!(kind));
        call.insert("function".to_owned(), json!(function));
        if with_extra {
            extra.write_to(&mut call);
        }
        call.into()
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
