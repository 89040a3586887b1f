//! Forms that contain others.

use std::borrow::Cow;

use crate::error::{Reason, quoted};
use crate::location::Step;
use crate::syntax;
use crate::value::{Keyword, Symbol, Tagged, Value};

/// The kind of a collection.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind<'a> {
    List,
    Vector,
    Set,
    /// A map, with the namespace of `#:namespace{…}`.
    Map(Option<&'a str>),
}

impl Kind<'_> {
    /// The closing bracket.
    pub(super) fn close(self) -> u8 {
        match self {
            Self::List => b')',
            Self::Vector => b']',
            Self::Set | Self::Map(_) => b'}',
        }
    }

    /// The name in messages.
    pub(super) fn description(self) -> &'static str {
        match self {
            Self::List => "a list",
            Self::Vector => "a vector",
            Self::Set => "a set",
            Self::Map(_) => "a map",
        }
    }

    /// The step to the next value, after these.
    pub(super) fn step(self, parts: &[Value]) -> Option<Step> {
        let Self::Map(namespace) = self else { return Some(Step::Index(parts.len())) };
        let mut key = Cow::Borrowed(parts.last().filter(|_| parts.len() % 2 == 1)?);
        if let Some(namespace) = namespace
            && !key.is_collection()
        {
            // Invalid keys are reported when the map ends.
            let _ = qualify(key.to_mut(), namespace);
        }
        Some(key.key_step())
    }
}

/// Adds the namespace of a map to a key without one, and removes the namespace `_`. The result can be invalid: a name
/// can be valid with or without a namespace only, such as `:1a` and `_/nil`.
pub(super) fn qualify(key: &mut Value, namespace: &str) -> Result<(), Reason> {
    let qualified = |text: &str| match syntax::split_name(text) {
        (None, name) => Some(format!("{namespace}/{name}")),
        (Some("_"), name) => Some(name.to_owned()),
        (Some(_), _) => None,
    };
    match key {
        Value::Keyword(keyword) => {
            if let Some(text) = qualified(keyword.as_str()) {
                *keyword =
                    Keyword::new(&text).map_err(|_| Reason::Keyword { text: quoted(&text) })?;
            }
        }
        Value::Symbol(symbol) => {
            if let Some(text) = qualified(symbol.as_str()) {
                *symbol = Symbol::new(&text).map_err(|_| Reason::Symbol { text: quoted(&text) })?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Whether a value is valid as metadata.
pub(super) fn is_metadata(value: &Value) -> bool {
    matches!(value, Value::Map(_) | Value::Keyword(_) | Value::Symbol(_) | Value::String(_))
}

/// Whether a value can have metadata. A tagged value can, because the meaning of the tag is unknown.
pub(super) fn has_metadata(value: &Value) -> bool {
    value.is_collection() || matches!(value, Value::Symbol(_))
}

/// The number of a symbolic value.
pub(super) fn symbolic(value: &Value) -> Result<Value, Reason> {
    let Value::Symbol(symbol) = value else {
        return Err(Reason::Symbolic { text: quoted(&value.to_string()) });
    };
    match symbol.as_str() {
        "Inf" => Ok(Value::Float(f64::INFINITY)),
        "-Inf" => Ok(Value::Float(f64::NEG_INFINITY)),
        "NaN" => Ok(Value::Float(f64::NAN)),
        other => Err(Reason::Symbolic { text: quoted(other) }),
    }
}

/// A tagged value; `#inst` and `#uuid` are converted if `is_converted`.
pub(super) fn tagged(tag: Symbol, value: Value, is_converted: bool) -> Result<Value, Reason> {
    let known = match tag.as_str() {
        "inst" if is_converted => "inst",
        "uuid" if is_converted => "uuid",
        _ => return Ok(Value::Tagged(Tagged::new(tag, value))),
    };
    let Value::String(text) = &value else { return Err(Reason::NoString { tag: known }) };
    let value = match known {
        "inst" => text.parse().map(Value::Inst),
        _ => text.parse().map(Value::Uuid),
    };
    value.map_err(|error| error.reason().clone())
}
