//! What is known of an operation apart from its handler.

use serde_json::{Map, Value};

use crate::error::ErrorDescription;
use crate::extensions::Extensions;
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
    /// Whether the last param takes, by position, all that are left.
    pub variadic: bool,
    /// What the params are, by name.
    pub input: Option<Schema>,
    /// What the result is.
    pub output: Option<Schema>,
    /// The worst effect of a call, if it is declared.
    pub effect: Option<Effect>,
    /// The effect of a call with given params, by name. None if all calls have the effect above.
    pub effect_of: Option<EffectOf>,
    /// Whether the same call made again has no further effect.
    pub idempotent: bool,
    /// Whether a call reaches nothing but this service's own data.
    pub closed_world: bool,
    /// The name by which language models call it, if it is offered to them.
    pub tool: Option<String>,
    /// What tells it from others that had its name before, if that was said.
    pub revision: Option<String>,
    /// Whether it is meant to be notified of, since its result says nothing.
    pub notification: bool,
    /// The errors of its own that it may answer with.
    pub errors: Vec<ErrorDescription>,
    /// Calls, and what comes of them.
    pub examples: Vec<Example>,
    /// Values for single protocols, by type.
    pub extensions: Extensions,
}

/// A call of an operation, and what comes of it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Example {
    /// What it shows.
    pub name: String,
    /// The params, by name.
    pub params: Map<String, Value>,
    /// The result.
    pub result: Value,
}

impl Example {
    /// A call with these params, by name, and its result.
    ///
    /// ```
    /// # use serde_json::json;
    /// # use trunkline::openrpc::Example;
    /// let example = Example::new("a half", [("dividend", json!(1)), ("divisor", json!(2))], 0.5);
    /// ```
    pub fn new<'a>(
        name: impl Into<String>,
        params: impl IntoIterator<Item = (&'a str, Value)>,
        result: impl Into<Value>,
    ) -> Self {
        let params = params.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Self { name: name.into(), params, result: result.into() }
    }
}

/// What a call of an operation does to what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    ReadOnly,
    /// It adds, and leaves what was there.
    Additive,
    /// It changes or removes what was there.
    Destructive,
}

/// The effect of a call with these params, by name.
pub type EffectOf = fn(params: &Map<String, Value>) -> Effect;

impl Description {
    /// The effect of a call with these params, by name, if it is declared.
    #[must_use]
    pub fn effect_of(&self, params: &Map<String, Value>) -> Option<Effect> {
        self.effect_of.map(|effect_of| effect_of(params)).or(self.effect)
    }

    pub(crate) fn new(name: String, params: Vec<&'static str>, variadic: bool) -> Self {
        Self {
            name,
            title: None,
            text: None,
            params,
            variadic,
            input: None,
            output: None,
            effect: None,
            effect_of: None,
            idempotent: false,
            closed_world: false,
            tool: None,
            revision: None,
            notification: false,
            errors: Vec::new(),
            examples: Vec::new(),
            extensions: Extensions::new(),
        }
    }
}
