//! What collections are made of.

use std::slice::Iter;

use crate::value::Value;

/// The parts of a collection in their order: of a map, keys and values in turn.
pub(crate) enum Parts<'a> {
    Values(Iter<'a, Value>),
    Entries { left: Iter<'a, (Value, Value)>, value: Option<&'a Value> },
    Tagged(Option<&'a Value>),
}

impl<'a> Parts<'a> {
    /// None of what has no parts.
    pub(crate) fn of(value: &'a Value) -> Option<Self> {
        Some(match value {
            Value::List(list) => Self::Values(list.iter()),
            Value::Vector(vector) => Self::Values(vector.iter()),
            Value::Set(set) => Self::Values(set.iter()),
            Value::Map(map) => Self::Entries { left: map.entries().iter(), value: None },
            Value::Tagged(tagged) => Self::Tagged(Some(tagged.value())),
            _ => return None,
        })
    }

    /// How many parts are left.
    pub(crate) fn left(&self) -> usize {
        match self {
            Self::Values(left) => left.len(),
            Self::Entries { left, value } => left.len() * 2 + usize::from(value.is_some()),
            Self::Tagged(value) => usize::from(value.is_some()),
        }
    }

    /// Whether the next part is the value of a key.
    pub(crate) fn is_at_value(&self) -> bool {
        matches!(self, Self::Entries { value: Some(_), .. })
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a Value;

    fn next(&mut self) -> Option<&'a Value> {
        match self {
            Self::Values(left) => left.next(),
            Self::Entries { left, value } => value.take().or_else(|| {
                let (key, of_key) = left.next()?;
                *value = Some(of_key);
                Some(key)
            }),
            Self::Tagged(value) => value.take(),
        }
    }
}
