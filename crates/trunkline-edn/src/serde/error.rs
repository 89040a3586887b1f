//! How serde says what is wrong.

use std::fmt;

use serde::{de, ser};

use crate::error::{Error, Reason, shown};
use crate::value::Value;

impl ser::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::from(Reason::Other(message.to_string()))
    }
}

impl de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::from(Reason::Other(message.to_string()))
    }

    fn invalid_type(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        mismatch(found, expected)
    }

    fn invalid_value(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        mismatch(found, expected)
    }
}

fn mismatch(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Error {
    let found = match found {
        de::Unexpected::Unit | de::Unexpected::Option => "nil".to_owned(),
        de::Unexpected::Seq => "sequence".to_owned(),
        de::Unexpected::Str(text) => format!("string {:?}", &*shown(text)),
        found => found.to_string(),
    };
    Error::from(Reason::Mismatch { expected: expected.to_string(), found })
}

/// What was found in place of what is expected.
pub(super) fn unexpected(value: &Value, expected: &dyn de::Expected) -> Error {
    let name = value.type_name();
    let found = match value {
        Value::Nil => name.to_owned(),
        Value::String(text) => format!("string {:?}", &*shown(text)),
        Value::Tagged(tagged) => format!("a value tagged #{}", shown(tagged.tag().as_str())),
        value if value.is_collection() => name.to_owned(),
        atom => format!("{name} `{}`", shown(&atom.to_string())),
    };
    Error::from(Reason::Mismatch { expected: expected.to_string(), found })
}
