//! A value taken apart into a flat run of parts, and built of them again: how it goes through serde
//! without a stack that it could overflow.

use crate::error::{Error, Reason};
use crate::map::Map;
use crate::parts;
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

impl<'a> Part<'a> {
    pub(super) const TAG: &'static str = "tag";

    /// The part that a collection is, which has just begun.
    fn of(whole: &parts::Parts<'a>) -> Self {
        let kind = match whole.kind {
            parts::Kind::List => Kind::List,
            parts::Kind::Vector => Kind::Vector,
            parts::Kind::Set => Kind::Set,
            parts::Kind::Map => Kind::Map,
            parts::Kind::Tagged(tag) => return Self::Tag(tag),
        };
        Self::Collection(kind, whole.left())
    }

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
    open: Vec<(Part<'a>, parts::Parts<'a>)>,
    next: Option<&'a Value>,
}

impl<'a> Parts<'a> {
    pub(super) fn of(value: &'a Value) -> Self {
        Self { open: Vec::new(), next: Some(value) }
    }

    pub(super) fn of_values(kind: Kind, values: &'a [Value]) -> Self {
        let kind = match kind {
            Kind::List => parts::Kind::List,
            Kind::Vector => parts::Kind::Vector,
            Kind::Set => parts::Kind::Set,
            Kind::Map => parts::Kind::Map,
        };
        Self::of_collection(parts::Parts::of_values(kind, values))
    }

    pub(super) fn of_map(map: &'a Map) -> Self {
        Self::of_collection(parts::Parts::of_map(map))
    }

    pub(super) fn of_tagged(tagged: &'a Tagged) -> Self {
        Self::of_collection(parts::Parts::of_tagged(tagged))
    }

    fn of_collection(whole: parts::Parts<'a>) -> Self {
        Self { open: vec![(Part::of(&whole), whole)], next: None }
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = Part<'a>;

    fn next(&mut self) -> Option<Part<'a>> {
        loop {
            if let Some(value) = self.next.take() {
                match parts::Parts::of(value) {
                    Some(whole) => self.open.push((Part::of(&whole), whole)),
                    None => return Some(Part::Atom(value)),
                }
            }
            let (_, left) = self.open.last_mut()?;
            self.next = left.next();
            if self.next.is_none() {
                return self.open.pop().map(|(whole, _)| whole);
            }
        }
    }
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
            Kind::Map => Value::Map(Map::of_entries(parts::entries(parts))?),
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
