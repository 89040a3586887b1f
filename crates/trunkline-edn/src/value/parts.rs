//! What collections are made of.

use std::slice::Iter;
use std::vec::Drain;

use crate::value::{Map, Set, Symbol, Tagged, Value};

/// What a collection is.
#[derive(Clone, Copy)]
pub(crate) enum Kind<'a> {
    List,
    Vector,
    Map,
    Set,
    Tagged(&'a Symbol),
}

/// A collection that has begun: the parts that are left, in their order; of a map, keys and values in
/// turn.
#[derive(Clone)]
pub(crate) struct Parts<'a> {
    pub(crate) kind: Kind<'a>,
    left: Left<'a>,
}

#[derive(Clone)]
enum Left<'a> {
    Values(Iter<'a, Value>),
    Entries { left: Iter<'a, (Value, Value)>, value: Option<&'a Value> },
    Tagged(Option<&'a Value>),
}

impl<'a> Parts<'a> {
    /// None of what has no parts.
    pub(crate) fn of(value: &'a Value) -> Option<Self> {
        Some(match value {
            Value::List(list) => Self::of_values(Kind::List, list),
            Value::Vector(vector) => Self::of_values(Kind::Vector, vector),
            Value::Set(set) => Self::of_set(set),
            Value::Map(map) => Self::of_map(map),
            Value::Tagged(tagged) => Self::of_tagged(tagged),
            _ => return None,
        })
    }

    pub(crate) fn of_values(kind: Kind<'a>, values: &'a [Value]) -> Self {
        Self { kind, left: Left::Values(values.iter()) }
    }

    pub(crate) fn of_set(set: &'a Set) -> Self {
        Self::of_values(Kind::Set, set.values())
    }

    pub(crate) fn of_map(map: &'a Map) -> Self {
        let left = Left::Entries { left: map.entries().iter(), value: None };
        Self { kind: Kind::Map, left }
    }

    pub(crate) fn of_tagged(tagged: &'a Tagged) -> Self {
        Self { kind: Kind::Tagged(tagged.tag()), left: Left::Tagged(Some(tagged.value())) }
    }

    /// How many parts are left.
    pub(crate) fn left(&self) -> usize {
        match &self.left {
            Left::Values(left) => left.len(),
            Left::Entries { left, value } => left.len() * 2 + usize::from(value.is_some()),
            Left::Tagged(value) => usize::from(value.is_some()),
        }
    }

    /// Whether the next part is the value of a key.
    pub(crate) fn is_at_value(&self) -> bool {
        matches!(self.left, Left::Entries { value: Some(_), .. })
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a Value;

    fn next(&mut self) -> Option<&'a Value> {
        match &mut self.left {
            Left::Values(left) => left.next(),
            Left::Entries { left, value } => value.take().or_else(|| {
                let (key, of_key) = left.next()?;
                *value = Some(of_key);
                Some(key)
            }),
            Left::Tagged(value) => value.take(),
        }
    }
}

/// The entries of a map of which these are the parts.
pub(crate) fn entries(mut parts: Drain<'_, Value>) -> Vec<(Value, Value)> {
    let mut entries = Vec::with_capacity(parts.len() / 2);
    while let (Some(key), Some(value)) = (parts.next(), parts.next()) {
        entries.push((key, value));
    }
    entries
}
