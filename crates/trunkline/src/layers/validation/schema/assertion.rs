//! Keywords that look at a value without applying other schemas to its parts.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::number::{compare, compare_numbers, is_integer, is_multiple};

/// The types of JSON Schema. The index of each is its bit in [`Types`].
const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];
const INTEGER: u8 = 1 << 2;
const NUMBER: u8 = 1 << 3;

/// A set of types.
#[derive(Clone, Copy)]
pub(super) struct Types(pub(super) u8);

impl Types {
    /// The bit of a type.
    pub(super) fn bit(name: &Value) -> Option<u8> {
        TYPES.iter().position(|known| name == known).map(|index| 1 << index)
    }

    fn allows(self, value: &Value) -> bool {
        let index = match value {
            Value::Null => 0,
            Value::Bool(_) => 1,
            Value::Number(number) => {
                return self.0 & NUMBER != 0 || self.0 & INTEGER != 0 && is_integer(number);
            }
            Value::String(_) => 4,
            Value::Array(_) => 5,
            Value::Object(_) => 6,
        };
        self.0 & 1 << index != 0
    }

    /// The names of the types.
    pub(super) fn names(self) -> impl Iterator<Item = &'static str> {
        let types = TYPES.into_iter().enumerate();
        types.filter(move |(index, _)| self.0 & 1 << index != 0).map(|(_, name)| name)
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
    pub(super) fn holds(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Types(types), value) => types.allows(value),
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

    /// The fault of a value that is called `subject`.
    pub(super) fn reason(&self, subject: &str) -> String {
        match self {
            Self::Never => format!("False schema does not allow {subject}"),
            Self::Types(types) => {
                let names: Vec<_> = types.names().map(|name| format!("\"{name}\"")).collect();
                let plural = if names.len() == 1 { "" } else { "s" };
                format!("{subject} is not of type{plural} {}", names.join(", "))
            }
            Self::Const(expected) => format!("{expected} was expected"),
            Self::Enum(choices) => {
                let choices: Vec<_> = choices.values.iter().map(Value::to_string).collect();
                format!("{subject} is not one of {}", choices.join(", "))
            }
            Self::Bound(bound, limit) => {
                let relation = match bound {
                    Bound::Minimum => "less than the minimum",
                    Bound::Maximum => "greater than the maximum",
                    Bound::ExclusiveMinimum => "less than or equal to the minimum",
                    Bound::ExclusiveMaximum => "greater than or equal to the maximum",
                };
                format!("{subject} is {relation} of {limit}")
            }
            Self::MultipleOf(divisor) => format!("{subject} is not a multiple of {divisor}"),
            Self::Size(size, limit) => {
                let (relation, one, many) = match size {
                    Size::MinLength => ("is shorter than", "character", "characters"),
                    Size::MaxLength => ("is longer than", "character", "characters"),
                    Size::MinItems => ("has less than", "item", "items"),
                    Size::MaxItems => ("has more than", "item", "items"),
                    Size::MinProperties => ("has less than", "property", "properties"),
                    Size::MaxProperties => ("has more than", "property", "properties"),
                };
                let noun = if *limit == 1 { one } else { many };
                format!("{subject} {relation} {limit} {noun}")
            }
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
