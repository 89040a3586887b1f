//! Descriptions of operations.

use std::sync::atomic::{AtomicU8, Ordering};

use serde_json::{Map, Value};

use super::Call;
use crate::error::ErrorDescription;
use crate::extensions::Extensions;
use crate::limits::DistinctKeys;
use crate::schema::Schema;

/// The description of an operation, which protocols may publish.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Description {
    /// The method's name: `namespace.verb`.
    pub name: String,
    /// The display name.
    pub title: Option<String>,
    /// The description, for people and language models.
    pub text: Option<String>,
    /// The names of the params, in positional order.
    pub params: Vec<&'static str>,
    /// Whether the last param takes all remaining positions.
    pub variadic: bool,
    /// The schema of the params, by name.
    pub input: Option<Schema>,
    /// The schema of the result.
    pub output: Option<Schema>,
    /// The worst effect of a call, if declared.
    pub effect: Option<Effect>,
    /// The effect of a call by its params. `None` if all calls have the same effect.
    pub effect_of: Option<EffectOf>,
    /// Whether repeating a call has no further effect.
    pub idempotent: bool,
    /// Whether a call accesses only this service's data.
    pub closed_world: bool,
    /// The tool name, if the operation is offered to language models.
    pub tool: Option<String>,
    /// The revision, which distinguishes it from earlier operations of the same name.
    pub revision: Option<String>,
    /// Whether the operation is meant for notifications.
    pub notification: bool,
    /// The errors that it may return.
    pub errors: Vec<ErrorDescription>,
    /// Examples of calls and results.
    pub examples: Vec<Example>,
    /// Extension data of protocols, by type.
    pub extensions: Extensions,
}

/// An example of a call and its result.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Example {
    /// The name of the example.
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

/// The effect of a call on data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Changes nothing.
    ReadOnly,
    /// Adds data, but changes and removes none.
    Additive,
    /// Changes or removes data.
    Destructive,
}

/// A function that returns the effect of a call from its params, by name.
pub type EffectOf = fn(params: &Map<String, Value>) -> Effect;

/// The effect of a call once it was computed. An atomic byte, since a `OnceLock` costs 66 instructions in each call.
#[derive(Debug, Default)]
pub(super) struct KnownEffect(AtomicU8);

impl KnownEffect {
    /// The codes of the effects are their places here plus one; 0 is not computed.
    const ALL: [Option<Effect>; 4] =
        [None, Some(Effect::ReadOnly), Some(Effect::Additive), Some(Effect::Destructive)];

    /// Concurrent callers may compute the same effect twice.
    fn get_or_init(&self, compute: impl FnOnce() -> Option<Effect>) -> Option<Effect> {
        let code = usize::from(self.0.load(Ordering::Relaxed));
        if let Some(known) = code.checked_sub(1).and_then(|place| Self::ALL.get(place)) {
            return *known;
        }
        let effect = compute();
        let place = Self::ALL.iter().position(|one| *one == effect);
        self.0.store(place.map_or(0, |place| place as u8 + 1), Ordering::Relaxed);
        effect
    }
}

impl Clone for KnownEffect {
    fn clone(&self) -> Self {
        Self(AtomicU8::new(self.0.load(Ordering::Relaxed)))
    }
}

impl Description {
    /// The effect of a call with these params, by name, if declared.
    #[must_use]
    pub fn effect_of(&self, params: &Map<String, Value>) -> Option<Effect> {
        self.effect_of.map(|effect_of| effect_of(params)).or(self.effect)
    }

    /// The effect of a call, if declared. For params by position, and with a duplicate member, of which the handler may
    /// read the other one, it is the worst effect of the operation.
    fn effect_of_call(&self, call: &Call) -> Option<Effect> {
        if self.effect_of.is_none() {
            return self.effect;
        }
        match call.params().map(serde_json::from_slice) {
            None => self.effect_of(&Map::new()),
            Some(Ok(DistinctKeys(Value::Object(params)))) => self.effect_of(&params),
            Some(_) => self.effect,
        }
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

impl Call {
    /// The effect of this call on data. `None` if the operation is unknown or declares no effect, so that the call may
    /// have any.
    #[must_use]
    pub fn effect(&self) -> Option<Effect> {
        let description = self.operation()?.description();
        self.effect.get_or_init(|| description.effect_of_call(self))
    }

    /// The JSON text of the params by name, without the members of these names. `None` for params by position.
    #[must_use]
    pub fn params_without(&self, names: &[&str]) -> Option<String> {
        if self.params().is_some_and(|params| !params.starts_with(b"{")) {
            return None;
        }
        let mut text = String::from("{");
        for (name, value) in self.members().filter(|(name, _)| !names.contains(&&**name)) {
            let separator = if text.len() > 1 { "," } else { "" };
            // The text of a call is UTF-8.
            let value = String::from_utf8_lossy(self.text(value));
            text += &format!("{separator}{}:{value}", Value::from(&*name));
        }
        text.push('}');
        Some(text)
    }
}
