//! Forms that have begun.

use std::borrow::Cow;

use crate::error::{Reason, shown};
use crate::location::Step;
use crate::syntax;
use crate::value::{Keyword, Symbol, Tagged, Value};

/// A form that has begun and not ended.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) kind: Kind,
    /// Where its parts begin, among the parts of all frames.
    pub(super) start: usize,
    /// Where it begins in the text.
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
    /// The same before what has the metadata.
    WithMetadata,
    /// `## …`
    Symbolic,
}

impl Kind {
    /// The bracket that ends it.
    pub(super) fn close(&self) -> Option<u8> {
        match self {
            Self::List => Some(b')'),
            Self::Vector => Some(b']'),
            Self::Set | Self::Map | Self::NamespacedMap(_) => Some(b'}'),
            _ => None,
        }
    }

    /// What the text ends within.
    pub(super) fn what(&self) -> &'static str {
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
    /// The step to the part that is being read, behind those that were.
    pub(super) fn step(&self, parts: &[Value]) -> Option<Step> {
        match self.kind {
            Kind::List | Kind::Vector | Kind::Set => Some(Step::Index(parts.len())),
            Kind::Map | Kind::NamespacedMap(_) if parts.len() % 2 == 1 => {
                Some(self.key(parts.last()?).key_step())
            }
            _ => None,
        }
    }

    /// The key that a form is in this map.
    pub(super) fn key<'a>(&self, form: &'a Value) -> Cow<'a, Value> {
        let mut key = Cow::Borrowed(form);
        if let Kind::NamespacedMap(namespace) = &self.kind
            && !form.is_collection()
        {
            // What cannot be qualified is told when the map ends.
            let _ = qualify(key.to_mut(), namespace);
        }
        key
    }
}

/// What is a key without a namespace gets that of its map, one with `_` none. Not every name that reads
/// alone reads behind a namespace, and the other way round: `:1a`, `_/nil`.
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
                    Keyword::new(&text).map_err(|_| Reason::Keyword { text: shown(&text) })?;
            }
        }
        Value::Symbol(symbol) => {
            if let Some(text) = qualified(symbol.as_str()) {
                *symbol = Symbol::new(&text).map_err(|_| Reason::Symbol { text: shown(&text) })?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Whether a value can be metadata.
pub(super) fn is_metadata(value: &Value) -> bool {
    matches!(value, Value::Map(_) | Value::Keyword(_) | Value::Symbol(_) | Value::String(_))
}

/// Whether there can be metadata before a value. What a tag stands for is not known.
pub(super) fn has_metadata(value: &Value) -> bool {
    value.is_collection() || matches!(value, Value::Symbol(_))
}

/// What stands for a number that no digits write.
pub(super) fn symbolic(value: &Value) -> Result<Value, Reason> {
    let Value::Symbol(symbol) = value else {
        return Err(Reason::Symbolic { text: shown(&value.to_string()) });
    };
    match symbol.as_str() {
        "Inf" => Ok(Value::Float(f64::INFINITY)),
        "-Inf" => Ok(Value::Float(f64::NEG_INFINITY)),
        "NaN" => Ok(Value::Float(f64::NAN)),
        other => Err(Reason::Symbolic { text: shown(other) }),
    }
}

/// A value with its tag; what that means, if it is to be understood.
pub(super) fn tagged(tag: &Symbol, value: Value, understood: bool) -> Result<Value, Reason> {
    let known = match tag.as_str() {
        "inst" if understood => "inst",
        "uuid" if understood => "uuid",
        _ => return Ok(Value::Tagged(Tagged::new(tag.clone(), value))),
    };
    let Value::String(text) = &value else { return Err(Reason::NoString { tag: known }) };
    let made = match known {
        "inst" => text.parse().map(Value::Inst),
        _ => text.parse().map(Value::Uuid),
    };
    made.map_err(|error| error.reason().clone())
}
