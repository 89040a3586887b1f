//! Collections that are being serialized.

use serde::ser::{self, Serialize};

use super::parts::{Build, Kind, Part};
use super::serializer::{Serializer, named};
use crate::error::{Error, Reason};
use crate::map::Map;
use crate::path::Step;
use crate::symbol::Symbol;
use crate::value::Value;

/// A sequence or a tuple: a vector.
pub(super) struct Elements(Vec<Value>);

/// A map.
pub(super) struct Entries {
    entries: Vec<(Value, Value)>,
    /// What has no value yet.
    key: Option<Value>,
}

/// A struct: a map of its fields, or the parts of a [`Value`].
pub(super) enum Struct {
    Fields(Entries),
    Parts(Build),
}

/// A variant of an enum with its data: a map of one entry.
pub(super) struct Variant<T> {
    pub(super) name: &'static str,
    pub(super) body: T,
}

/// What a length that nobody checked makes room for.
const ROOM: usize = 1_024;

fn room(length: Option<usize>) -> usize {
    length.unwrap_or(0).min(ROOM)
}

impl Elements {
    pub(super) fn with_capacity(length: Option<usize>) -> Self {
        Self(Vec::with_capacity(room(length)))
    }

    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let made = value.serialize(Serializer::new());
        self.0.push(made.map_err(|error| error.within(Step::Index(self.0.len())))?);
        Ok(())
    }

    fn finish(self) -> Value {
        Value::Vector(self.0.into())
    }
}

impl Entries {
    pub(super) fn with_capacity(length: Option<usize>) -> Self {
        Self { entries: Vec::with_capacity(room(length)), key: None }
    }

    fn push<T: Serialize + ?Sized>(&mut self, key: Value, value: &T) -> Result<(), Error> {
        match value.serialize(Serializer::new()) {
            Ok(value) => {
                self.entries.push((key, value));
                Ok(())
            }
            Err(error) => Err(error.within(Step::of_key(&key))),
        }
    }

    fn finish(self) -> Result<Value, Error> {
        Map::of_entries(self.entries).map(Value::Map)
    }
}

impl Variant<Result<Value, Error>> {
    pub(super) fn finish(self) -> Result<Value, Error> {
        let key = named(self.name);
        match self.body {
            Ok(value) => Ok(Value::Map(Map::from_iter([(key, value)]))),
            Err(error) => Err(error.within(Step::of_key(&key))),
        }
    }
}

impl ser::SerializeSeq for Elements {
    type Ok = Value;
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.push(value)
    }

    fn end(self) -> Result<Value, Error> {
        Ok(self.finish())
    }
}

impl ser::SerializeTuple for Elements {
    type Ok = Value;
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.push(value)
    }

    fn end(self) -> Result<Value, Error> {
        Ok(self.finish())
    }
}

impl ser::SerializeTupleStruct for Elements {
    type Ok = Value;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.push(value)
    }

    fn end(self) -> Result<Value, Error> {
        Ok(self.finish())
    }
}

impl ser::SerializeTupleVariant for Variant<Elements> {
    type Ok = Value;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.body.push(value).map_err(|error| error.within(Step::of_key(&named(self.name))))
    }

    fn end(self) -> Result<Value, Error> {
        Variant { name: self.name, body: Ok(self.body.finish()) }.finish()
    }
}

impl ser::SerializeMap for Entries {
    type Ok = Value;
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.key = Some(key.serialize(Serializer::of_key())?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let without_key = || Error::from(Reason::Other("a value has no key".to_owned()));
        let key = self.key.take().ok_or_else(without_key)?;
        self.push(key, value)
    }

    fn end(self) -> Result<Value, Error> {
        self.finish()
    }
}

impl ser::SerializeStruct for Struct {
    type Ok = Value;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        match self {
            Self::Fields(entries) => entries.push(named(name), value),
            Self::Parts(build) => add(build, name, value.serialize(Serializer::new())?),
        }
    }

    fn end(self) -> Result<Value, Error> {
        match self {
            Self::Fields(entries) => entries.finish(),
            Self::Parts(build) => build.finish(),
        }
    }
}

/// Adds a part, which is told by its name and by an atom, a count or a tag.
fn add(build: &mut Build, name: &str, value: Value) -> Result<(), Error> {
    match (Kind::of(name), value) {
        (Some(kind), Value::Integer(count)) => build.collection(kind, usize::try_from(&count)?),
        (None, Value::String(tag)) if name == Part::TAG => build.tag(Symbol::new(&tag)?),
        (_, atom) => {
            build.atom(atom);
            Ok(())
        }
    }
}

impl ser::SerializeStructVariant for Variant<Entries> {
    type Ok = Value;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        let pushed = self.body.push(named(name), value);
        pushed.map_err(|error| error.within(Step::of_key(&named(self.name))))
    }

    fn end(self) -> Result<Value, Error> {
        Variant { name: self.name, body: self.body.finish() }.finish()
    }
}
