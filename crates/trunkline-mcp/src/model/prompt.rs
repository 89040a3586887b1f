//! Prompts and their messages.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use trunkline::{IntoOutcome, Outcome};

use super::block::blocks;
use super::lenient::{hint, hints, meta, nullable};
use super::{Block, Icon, Role};

/// A prompt that users can select.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Prompt {
    /// The name.
    pub name: String,
    /// The display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The arguments.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<PromptArgument>,
    /// Icons for user interfaces.
    #[serde(default, deserialize_with = "hints", skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// Further data, by names as specified for `_meta`.
    #[serde(rename = "_meta", default, with = "meta", skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
}

/// An argument of a [`Prompt`]: a text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PromptArgument {
    /// The name.
    pub name: String,
    /// The display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the argument is required.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
}

/// A message of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PromptMessage {
    /// The sender.
    pub role: Role,
    /// The content.
    pub content: Block,
}

/// The messages of a prompt, and their description. A handler of a prompt may return one, its messages
/// (`Vec<PromptMessage>` in [`Json`](trunkline::Json), or one [`PromptMessage`]), or text, which is one message of the
/// user.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PromptResult {
    /// The description. Default: that of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The messages.
    #[serde(deserialize_with = "messages")]
    pub messages: Vec<PromptMessage>,
    /// Further data, by names as specified for `_meta`.
    #[serde(rename = "_meta", default, with = "meta", skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
}

impl Prompt {
    /// A prompt of this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Adds an argument. Without arguments, the prompt has those of the operation's input schema.
    #[must_use]
    pub fn argument(mut self, argument: PromptArgument) -> Self {
        self.arguments.push(argument);
        self
    }
}

setters!(Prompt: title, description, icon, meta);

impl PromptArgument {
    /// An optional argument of this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Requires the argument.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }
}

setters!(PromptArgument: title, description);

impl PromptMessage {
    /// A message of the user.
    pub fn user(content: impl Into<Block>) -> Self {
        Self { role: Role::User, content: content.into() }
    }

    /// A message of the language model.
    pub fn assistant(content: impl Into<Block>) -> Self {
        Self { role: Role::Assistant, content: content.into() }
    }
}

impl PromptResult {
    /// These messages.
    pub fn new(messages: impl IntoIterator<Item = PromptMessage>) -> Self {
        Self { messages: messages.into_iter().collect(), ..Self::default() }
    }
}

setters!(PromptResult: description, meta);

impl IntoOutcome for PromptMessage {
    fn into_outcome(self) -> Outcome {
        Outcome::result(&[self])
    }
}

impl IntoOutcome for PromptResult {
    fn into_outcome(self) -> Outcome {
        Outcome::result(&self)
    }
}

/// Messages. Some servers send [several blocks](blocks) as the content of one, or other roles, which are read as
/// those of the user.
fn messages<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PromptMessage>, D::Error> {
    #[derive(Deserialize)]
    struct Message {
        #[serde(default, deserialize_with = "hint")]
        role: Option<Role>,
        #[serde(deserialize_with = "blocks")]
        content: Vec<Block>,
    }

    let messages = Vec::<Message>::deserialize(deserializer)?.into_iter();
    let split = messages.flat_map(|Message { role, content }| {
        let role = role.unwrap_or(Role::User);
        content.into_iter().map(move |content| PromptMessage { role, content })
    });
    Ok(split.collect())
}
