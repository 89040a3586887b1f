//! Types of values.

use serde_json::Value;

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Object,
    Array,
    String,
    Number,
    Integer,
    Boolean,
    Null,
}

impl Kind {
    pub(super) fn parse(name: &str) -> Option<Self> {
        let all = [
            Self::Object,
            Self::Array,
            Self::String,
            Self::Number,
            Self::Integer,
            Self::Boolean,
            Self::Null,
        ];
        all.into_iter().find(|kind| kind.name() == name)
    }

    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Object(_) => Self::Object,
            Value::Array(_) => Self::Array,
            Value::String(_) => Self::String,
            Value::Number(number) if number.is_f64() => Self::Number,
            Value::Number(_) => Self::Integer,
            Value::Bool(_) => Self::Boolean,
            Value::Null => Self::Null,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Number => "number",
            Self::Integer => "integer",
            Self::Boolean => "boolean",
            Self::Null => "null",
        }
    }

    pub(super) fn includes(self, value: &Value) -> bool {
        let kind = Self::of(value);
        kind == self || (self, kind) == (Self::Number, Self::Integer)
    }
}
