//! What is known of an operation apart from its handler.

use crate::error::ErrorObject;
use crate::schema::Schema;

/// What is known of an operation apart from its handler: what every door may show of it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Description {
    /// The method's name: `namespace.verb`.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// What it does, for people and models.
    pub text: Option<String>,
    /// The names of its params, in the order of their positions.
    pub params: Vec<&'static str>,
    /// What the params are, by name.
    pub input: Option<Schema>,
    /// What the result is.
    pub output: Option<Schema>,
    /// What a call does to what is there, if it was said.
    pub effect: Option<Effect>,
    /// Whether the same call made again has no further effect.
    pub idempotent: bool,
    /// Whether a call reaches nothing but this service's own data.
    pub closed_world: bool,
    /// The name by which language models call it, if it is offered to them.
    pub tool: Option<String>,
    /// How a result is shown to language models.
    pub rendering: Rendering,
}

/// How a result is shown to language models.
#[derive(Debug, Clone, Copy, Default)]
pub enum Rendering {
    /// As its JSON.
    #[default]
    Json,
    /// In these words, and so are errors.
    Words(Wording),
    /// As it is: an array of content blocks, as MCP defines them.
    Blocks,
}

/// What a call of an operation does to what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    Reads,
    /// It adds, and leaves what was there.
    Adds,
    /// It changes or removes what was there.
    Destroys,
}

/// Words an outcome for a language model: from the JSON text of the arguments (an object), and of the
/// result or the error.
pub type Wording = fn(arguments: &[u8], outcome: Result<&[u8], &ErrorObject>) -> String;

impl Description {
    pub(super) fn new(name: String, params: Vec<&'static str>) -> Self {
        Self {
            name,
            title: None,
            text: None,
            params,
            input: None,
            output: None,
            effect: None,
            idempotent: false,
            closed_world: false,
            tool: None,
            rendering: Rendering::Json,
        }
    }
}
