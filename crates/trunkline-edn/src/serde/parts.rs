//! A value taken apart into a flat run of parts, and built of them again: how it goes through serde
//! without a stack that it could overflow.

use crate::error::{Error, Reason};
use crate::map::Map;
use crate::set::Set;
use crate::symbol::Symbol;
use crate::tagged::Tagged;
use crate::value::Value;

/// One part.
pub(super) enum Part<'a> {
    /// A value without parts of its own.
    Atom(&'a Value),
    /// The collection of so many values before it: of a map, keys and values.
    Collection(Kind, usize),
    /// The tag of the value before it.
    Tag(&'a Symbol),
}

/// What a collection is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    List,
    Vector,
    Set,
    Map,
}

impl Kind {
    const ALL: [Self; 4] = [Self::List, Self::Vector, Self::Set, Self::Map];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Vector => "vector",
            Self::Set => "set",
            Self::Map => "map",
        }
    }

    pub(super) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl Part<'_> {
    pub(super) const TAG: &'static str = "tag";

    /// What sort of part it is.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Atom(atom) => atom.type_name(),
            Self::Collection(kind, _) => kind.name(),
            Self::Tag(_) => Self::TAG,
        }
    }
}

/// The parts of a value: those of a collection before the collection.
pub(super) struct Parts<'a> {
    /// The collections that have begun, from the outermost.
    open: Vec<(Part<'a>, Rest<'a>)>,
    next: Option<&'a Value>,
}

/// What is left of a collection.
enum Rest<'a> {
    Values(std::slice::Iter<'a, Value>),
    Entries { left: std::slice::Iter<'a, (Value, Value)>, value: Option<&'a Value> },
    One(Option<&'a Value>),
}

impl<'a> Parts<'a> {
    pub(super) fn of(value: &'a Value) -> Self {
        Self { open: Vec::new(), next: Some(value) }
    }

    pub(super) fn of_values(kind: Kind, values: &'a [Value]) -> Self {
        let open = (Part::Collection(kind, values.len()), Rest::Values(values.iter()));
        Self { open: vec![open], next: None }
    }

    pub(super) fn of_map(map: &'a Map) -> Self {
        Self { open: vec![open_map(map)], next: None }
    }

    pub(super) fn of_tagged(tagged: &'a Tagged) -> Self {
        Self { open: vec![open_tagged(tagged)], next: None }
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = Part<'a>;

    fn next(&mut self) -> Option<Part<'a>> {
        loop {
            if let Some(value) = self.next.take() {
                match open(value) {
                    Some(open) => self.open.push(open),
                    None => return Some(Part::Atom(value)),
                }
            }
            let (_, rest) = self.open.last_mut()?;
            self.next = rest.next();
            if self.next.is_none() {
                return self.open.pop().map(|(whole, _)| whole);
            }
        }
    }
}

impl<'a> Rest<'a> {
    fn next(&mut self) -> Option<&'a Value> {
        match self {
            Self::Values(left) => left.next(),
            Self::Entries { left, value } => value.take().or_else(|| {
                let (key, of_key) = left.next()?;
                *value = Some(of_key);
                Some(key)
            }),
            Self::One(value) => value.take(),
        }
    }
}

/// A collection that begins, and its parts.
fn open(value: &Value) -> Option<(Part<'_>, Rest<'_>)> {
    let (kind, values) = match value {
        Value::List(list) => (Kind::List, &list[..]),
        Value::Vector(vector) => (Kind::Vector, &vector[..]),
        Value::Set(set) => (Kind::Set, set.iter().as_slice()),
        Value::Map(map) => return Some(open_map(map)),
        Value::Tagged(tagged) => return Some(open_tagged(tagged)),
        _ => return None,
    };
    Some((Part::Collection(kind, values.len()), Rest::Values(values.iter())))
}

fn open_map(map: &Map) -> (Part<'_>, Rest<'_>) {
    let rest = Rest::Entries { left: map.entries().iter(), value: None };
    (Part::Collection(Kind::Map, map.len() * 2), rest)
}

fn open_tagged(tagged: &Tagged) -> (Part<'_>, Rest<'_>) {
    (Part::Tag(tagged.tag()), Rest::One(Some(tagged.value())))
}

/// A value that is built of its parts.
#[derive(Default)]
pub(super) struct Build(Vec<Value>);

impl Build {
    pub(super) fn atom(&mut self, value: Value) {
        self.0.push(value);
    }

    pub(super) fn collection(&mut self, kind: Kind, count: usize) -> Result<(), Error> {
        let start = self.0.len().checked_sub(count).ok_or_else(incomplete)?;
        let parts = self.0.drain(start..);
        let value = match kind {
            Kind::List => Value::List(parts.collect()),
            Kind::Vector => Value::Vector(parts.collect()),
            Kind::Set => Value::Set(Set::of_values(parts.collect())?),
            Kind::Map => {
                let (mut parts, mut entries) = (parts, Vec::with_capacity(count / 2));
                while let (Some(key), Some(value)) = (parts.next(), parts.next()) {
                    entries.push((key, value));
                }
                Value::Map(Map::of_entries(entries)?)
            }
        };
        self.0.push(value);
        Ok(())
    }

    pub(super) fn tag(&mut self, tag: Symbol) -> Result<(), Error> {
        let value = self.0.pop().ok_or_else(incomplete)?;
        self.0.push(Value::Tagged(Tagged::new(tag, value)));
        Ok(())
    }

    /// The value, once all parts are there.
    pub(super) fn finish(mut self) -> Result<Value, Error> {
        match (self.0.pop(), self.0.is_empty()) {
            (Some(value), true) => Ok(value),
            _ => Err(incomplete()),
        }
    }
}

/// Only what takes a name of this crate for itself gets here.
fn incomplete() -> Error {
    Error::from(Reason::Other("a value is not made of these parts".to_owned()))
}
