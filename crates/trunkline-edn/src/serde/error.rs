//! Errors of serde, and the limit on depth.

use std::fmt;

use serde::{de, ser};

use crate::error::{Error, Reason, quoted};
use crate::location::truncate;
use crate::value::Value;

/// Maximum depth of collections in types other than [`Value`], and of a `Value` in another format. In a debug build,
/// types with a few fields use a third of the 2 MiB stack of a thread.
pub(super) const MAX_DEPTH: usize = 128;

/// The number of levels that remain in a collection.
pub(super) fn deeper(depth: usize) -> Result<usize, Reason> {
    depth.checked_sub(1).ok_or(Reason::TooDeep { limit: MAX_DEPTH })
}

/// Maximum length of a message, which may quote a whole document.
const MESSAGE: usize = 1_024;

impl ser::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        other(&message.to_string())
    }
}

impl de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        other(&message.to_string())
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        unknown("variant", variant, expected)
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        unknown("field", field, expected)
    }

    fn invalid_type(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        mismatch(found, expected)
    }

    fn invalid_value(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        mismatch(found, expected)
    }
}

fn other(message: &str) -> Error {
    Error::from(Reason::Other(truncate(message, MESSAGE).into()))
}

fn unknown(what: &str, name: &str, expected: &[&str]) -> Error {
    let names: Vec<String> = expected.iter().map(|name| format!("`{name}`")).collect();
    let expected = match &*names {
        [] => format!("there are no {what}s"),
        [one] => format!("expected {one}"),
        [one, other] => format!("expected {one} or {other}"),
        many => format!("expected one of {}", many.join(", ")),
    };
    // Quoted here, since a type with many names could make the message longer than its limit.
    Error::from(Reason::Other(format!("unknown {what} `{}`, {expected}", quoted(name))))
}

fn mismatch(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Error {
    let found = match found {
        de::Unexpected::Unit | de::Unexpected::Option => "nil".to_owned(),
        de::Unexpected::Seq => "sequence".to_owned(),
        de::Unexpected::Str(text) => format!("string {:?}", &*quoted(text)),
        found => found.to_string(),
    };
    Error::from(Reason::Mismatch { expected: expected.to_string(), found })
}

/// The error for a value of an unexpected type.
pub(super) fn unexpected(value: &Value, expected: &dyn de::Expected) -> Error {
    let name = value.type_name();
    let found = match value {
        Value::Nil => name.to_owned(),
        Value::String(text) => format!("string {:?}", &*quoted(text)),
        Value::Tagged(tagged) => format!("a value tagged #{}", quoted(tagged.tag().as_str())),
        value if value.is_collection() => name.to_owned(),
        atom => format!("{name} `{}`", quoted(&atom.to_string())),
    };
    Error::from(Reason::Mismatch { expected: expected.to_string(), found })
}
