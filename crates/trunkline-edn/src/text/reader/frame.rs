//! Open forms.

use std::borrow::Cow;

use crate::error::{Reason, quoted};
use crate::location::Step;
use crate::syntax;
use crate::value::{Keyword, Symbol, Tagged, Value};

/// A form that is not complete.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) kind: Kind,
    /// The index of its first value among the values of all frames.
    pub(super) start: usize,
    /// Its offset in the text.
    pub(super) offset: usize,
}

#[derive(Debug)]
pub(super) enum Kind {
    List,
    Vector,
    Set,
    Map,
    /// `#:namespace{…}`
    NamespacedMap(Box<str>),
    /// `#tag …`
    Tag(Symbol),
    /// `#_ …`
    Discard,
    /// `^…`, before the metadata.
    Metadata,
    /// After the metadata, before the value.
    WithMetadata,
    /// `## …`
    Symbolic,
}

impl Kind {
    /// The closing bracket.
    pub(super) fn close(&self) -> Option<u8> {
        match self {
            Self::List => Some(b')'),
            Self::Vector => Some(b']'),
            Self::Set | Self::Map | Self::NamespacedMap(_) => Some(b'}'),
            _ => None,
        }
    }

    /// The name in messages.
    pub(super) fn description(&self) -> &'static str {
        match self {
            Self::List => "a list",
            Self::Vector => "a vector",
            Self::Set => "a set",
            Self::Map | Self::NamespacedMap(_) => "a map",
            Self::Tag(_) => "a tagged value",
            Self::Discard => "a discarded form",
            Self::Metadata | Self::WithMetadata => "metadata",
            Self::Symbolic => "a symbolic value",
        }
    }
}

impl Frame {
    /// The step to the next value, after these.
    pub(super) fn step(&self, parts: &[Value]) -> Option<Step> {
        match self.kind {
            Kind::List | Kind::Vector | Kind::Set => Some(Step::Index(parts.len())),
            Kind::Map | Kind::NamespacedMap(_) if parts.len() % 2 == 1 => {
                Some(self.key(parts.last()?).key_step())
            }
            _ => None,
        }
    }

    /// The key of a form in this map, with the namespace of the map.
    pub(super) fn key<'a>(&self, form: &'a Value) -> Cow<'a, Value> {
        let mut key = Cow::Borrowed(form);
        if let Kind::NamespacedMap(namespace) = &self.kind
            && !form.is_collection()
        {
            // Invalid keys are reported when the map ends.
            let _ = qualify(key.to_mut(), namespace);
        }
        key
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
pub(super) fn tagged(tag: &Symbol, value: Value, is_converted: bool) -> Result<Value, Reason> {
    let known = match tag.as_str() {
        "inst" if is_converted => "inst",
        "uuid" if is_converted => "uuid",
        _ => return Ok(Value::Tagged(Tagged::new(tag.clone(), value))),
    };
    let Value::String(text) = &value else { return Err(Reason::NoString { tag: known }) };
    let value = match known {
        "inst" => text.parse().map(Value::Inst),
        _ => text.parse().map(Value::Uuid),
    };
    value.map_err(|error| error.reason().clone())
}
