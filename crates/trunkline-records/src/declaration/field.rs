use std::fmt;

use serde::Deserialize;
use serde_json::Value;

use super::equality::json_equal;
use crate::excerpt::excerpt;

/// A declared field of a record type.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    pub(super) name: String,
    pub(super) kind: FieldType,
    pub(super) required: bool,
    pub(super) default: Option<Value>,
    pub(super) allowed: Option<Vec<Value>>,
    pub(super) description: Option<String>,
}

impl Field {
    /// Maximum length of a name in bytes.
    pub const MAX_NAME: usize = 64;
    /// Maximum number of values of an `enum`.
    pub const MAX_VALUES: usize = 1_000;

    /// The name of the field.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type of the field's values.
    #[must_use]
    pub fn kind(&self) -> FieldType {
        self.kind
    }

    /// Whether every record must have the field. A required field has no default.
    #[must_use]
    pub fn required(&self) -> bool {
        self.required
    }

    /// The value of records that were created without the field.
    #[must_use]
    pub fn default(&self) -> Option<&Value> {
        self.default.as_ref()
    }

    /// The allowed values (`enum`), if declared. There is at least one.
    #[must_use]
    pub fn allowed(&self) -> Option<&[Value]> {
        self.allowed.as_deref()
    }

    /// Whether the values are any text. Filters match it by a substring.
    pub(crate) fn is_free_text(&self) -> bool {
        self.kind == FieldType::String && self.allowed.is_none()
    }

    /// The declared description.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// Checks a value. The error message is safe to send to a client and does not contain the value, which may be a
    /// secret: the history redacts secrets in requests by the names of their fields.
    pub(crate) fn check(&self, value: &Value) -> Result<(), String> {
        let Self { name, kind, allowed, .. } = self;
        if !kind.fits(value) {
            let expected = kind.with_article();
            return Err(match kind {
                FieldType::Integer if value.is_f64() => {
                    format!("{name} must be an integer of up to 64 bits without a fraction")
                }
                _ => format!("{name} must be {expected}, got {}", kind_of(value)),
            });
        }
        match allowed.as_deref() {
            Some(allowed) if !allowed.iter().any(|one| json_equal(one, value)) => {
                Err(match allowed {
                    [_] => format!("{name} must be {}", ListedValues(allowed)),
                    _ => format!("{name} must be one of {}", ListedValues(allowed)),
                })
            }
            _ => Ok(()),
        }
    }
}

/// The type of a field's values, as named in JSON Schema. Exhaustive: JSON has no other types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FieldType {
    /// Text.
    String,
    /// A number from -2^63 to 2^64 - 1, written without a fraction.
    Integer,
    /// Any number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// Any object.
    Object,
    /// Any array.
    Array,
}

impl FieldType {
    /// The name in TOML and JSON Schema.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Object => "object",
            Self::Array => "array",
        }
    }

    fn fits(self, value: &Value) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::Object => value.is_object(),
            Self::Array => value.is_array(),
        }
    }

    fn with_article(self) -> &'static str {
        match self {
            Self::String => "a string",
            Self::Integer => "an integer",
            Self::Number => "a number",
            Self::Boolean => "a boolean",
            Self::Object => "an object",
            Self::Array => "an array",
        }
    }
}

impl fmt::Display for FieldType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The values of an `enum` as listed in error messages.
struct ListedValues<'v>(&'v [Value]);

impl ListedValues<'_> {
    /// Maximum number of listed values.
    const SHOWN: usize = 10;
}

impl fmt::Display for ListedValues<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, value) in self.0.iter().take(Self::SHOWN).enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{}", excerpt(&value.to_string()))?;
        }
        match self.0.len().saturating_sub(Self::SHOWN) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}
