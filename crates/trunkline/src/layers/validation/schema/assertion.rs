//! Keywords that look at a value without applying other schemas to its parts.

use std::cmp::Ordering;
use std::fmt;

use serde::Deserialize;
use serde_json::{Number, Value};

use super::number::{compare, compare_numbers, is_integer, is_multiple};

/// A type of JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in super::super) enum Type {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

impl Type {
    const ALL: [Self; 7] = [
        Self::Null,
        Self::Boolean,
        Self::Integer,
        Self::Number,
        Self::String,
        Self::Array,
        Self::Object,
    ];

    pub(in super::super) fn bit(self) -> u8 {
        1 << self as u8
    }

    fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }
}

/// A set of types.
#[derive(Clone, Copy)]
pub(super) struct Types(pub(super) u8);

impl Types {
    #[inline]
    fn allows(self, value: &Value) -> bool {
        let kind = match value {
            Value::Null => Type::Null,
            Value::Bool(_) => Type::Boolean,
            Value::Number(number) => {
                let is_number = self.0 & Type::Number.bit() != 0;
                return is_number || self.0 & Type::Integer.bit() != 0 && is_integer(number);
            }
            Value::String(_) => Type::String,
            Value::Array(_) => Type::Array,
            Value::Object(_) => Type::Object,
        };
        self.0 & kind.bit() != 0
    }

    /// The names of the types.
    pub(super) fn names(self) -> impl Iterator<Item = &'static str> {
        Type::ALL.into_iter().filter(move |kind| self.0 & kind.bit() != 0).map(Type::name)
    }
}

/// The values of `enum`.
pub(super) struct Choices {
    pub(super) values: Vec<Value>,
    /// The indices of the values in their order.
    order: Vec<usize>,
}

impl Choices {
    pub(super) fn new(values: Vec<Value>) -> Self {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|left, right| compare(&values[*left], &values[*right]));
        Self { values, order }
    }

    /// The number of comparisons that find a value.
    pub(super) fn comparisons(&self) -> usize {
        self.values.len().checked_ilog2().unwrap_or_default() as usize
    }

    fn contains(&self, value: &Value) -> bool {
        self.order.binary_search_by(|index| compare(&self.values[*index], value)).is_ok()
    }
}

/// Keywords that limit a number.
#[derive(Clone, Copy)]
pub(super) enum Bound {
    Minimum,
    Maximum,
    ExclusiveMinimum,
    ExclusiveMaximum,
}

/// Keywords that limit a size.
#[derive(Clone, Copy)]
pub(super) enum Size {
    MinLength,
    MaxLength,
    MinItems,
    MaxItems,
    MinProperties,
    MaxProperties,
}

pub(super) enum Assertion {
    /// The schema `false`.
    Never,
    Types(Types),
    Const(Value),
    Enum(Choices),
    Bound(Bound, Number),
    MultipleOf(Number),
    Size(Size, u64),
}

impl Assertion {
    #[inline]
    pub(super) fn holds(&self, value: &Value) -> bool {
        match self {
            Self::Types(types) => types.allows(value),
            _ => self.holds_for(value),
        }
    }

    fn holds_for(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Never, _) => false,
            (Self::Const(expected), value) => compare(expected, value).is_eq(),
            (Self::Enum(choices), value) => choices.contains(value),
            (Self::Bound(bound, limit), Value::Number(number)) => {
                let order = compare_numbers(number, limit);
                match bound {
                    Bound::Minimum => order.is_ge(),
                    Bound::Maximum => order.is_le(),
                    Bound::ExclusiveMinimum => order == Ordering::Greater,
                    Bound::ExclusiveMaximum => order == Ordering::Less,
                }
            }
            (Self::MultipleOf(divisor), Value::Number(number)) => is_multiple(number, divisor),
            (Self::Size(size, limit), value) => size.allows(*limit, value),
            _ => true,
        }
    }
}

impl Size {
    fn allows(self, limit: u64, value: &Value) -> bool {
        let length = |text: &str| text.chars().count() as u64;
        match (self, value) {
            (Self::MinLength, Value::String(text)) => length(text) >= limit,
            (Self::MaxLength, Value::String(text)) => {
                text.len() as u64 <= limit || length(text) <= limit
            }
            (Self::MinItems, Value::Array(elements)) => elements.len() as u64 >= limit,
            (Self::MaxItems, Value::Array(elements)) => elements.len() as u64 <= limit,
            (Self::MinProperties, Value::Object(members)) => members.len() as u64 >= limit,
            (Self::MaxProperties, Value::Object(members)) => members.len() as u64 <= limit,
            _ => true,
        }
    }
}

/// The fault of a value that is called `subject`.
pub(super) struct Reason<'a> {
    pub(super) assertion: &'a Assertion,
    pub(super) subject: &'a str,
}

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = self.subject;
        match self.assertion {
            Assertion::Never => write!(f, "False schema does not allow {subject}"),
            Assertion::Types(types) => {
                let names: Vec<_> = types.names().map(|name| format!("\"{name}\"")).collect();
                let plural = if names.len() == 1 { "" } else { "s" };
                write!(f, "{subject} is not of type{plural} {}", names.join(", "))
            }
            Assertion::Const(expected) => write!(f, "{expected} was expected"),
            Assertion::Enum(choices) => {
                let choices: Vec<_> = choices.values.iter().map(Value::to_string).collect();
                write!(f, "{subject} is not one of {}", choices.join(", "))
            }
            Assertion::Bound(bound, limit) => {
                let relation = match bound {
                    Bound::Minimum => "less than the minimum",
                    Bound::Maximum => "greater than the maximum",
                    Bound::ExclusiveMinimum => "less than or equal to the minimum",
                    Bound::ExclusiveMaximum => "greater than or equal to the maximum",
                };
                write!(f, "{subject} is {relation} of {limit}")
            }
            Assertion::MultipleOf(divisor) => write!(f, "{subject} is not a multiple of {divisor}"),
            Assertion::Size(size, limit) => {
                let (relation, one, many) = match size {
                    Size::MinLength => ("is shorter than", "character", "characters"),
                    Size::MaxLength => ("is longer than", "character", "characters"),
                    Size::MinItems => ("has less than", "item", "items"),
                    Size::MaxItems => ("has more than", "item", "items"),
                    Size::MinProperties => ("has less than", "property", "properties"),
                    Size::MaxProperties => ("has more than", "property", "properties"),
                };
                let noun = if *limit == 1 { one } else { many };
                write!(f, "{subject} {relation} {limit} {noun}")
            }
        }
    }
}
