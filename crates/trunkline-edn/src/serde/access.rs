//! The parts of a value, one after the other.

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{self, DeserializeSeed, IntoDeserializer, Visitor};

use super::deserializer::{Deserializer, make};
use super::parts::{Part, Parts};
use super::token;
use crate::error::Error;
use crate::path::{Leg, Step};
use crate::value::Value;

/// The elements of a list, a vector or a set.
pub(super) struct Values<'de> {
    left: std::slice::Iter<'de, Value>,
    count: usize,
    depth: usize,
}

impl<'de> Values<'de> {
    pub(super) fn of(values: &'de [Value], depth: usize) -> Self {
        Self { left: values.iter(), count: values.len(), depth }
    }

    /// Nothing may be left that nobody wanted.
    pub(super) fn end(self) -> Result<(), Error> {
        let taken = self.count - self.left.len();
        if taken == self.count {
            return Ok(());
        }
        let expected = format!("{taken} elements");
        Err(de::Error::invalid_length(self.count, &expected.as_str()))
    }
}

impl<'de> de::SeqAccess<'de> for Values<'de> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        let Some(value) = self.left.next() else { return Ok(None) };
        let at = self.count - self.left.len() - 1;
        make(seed, value, self.depth).map(Some).map_err(|error| error.within(Step::Index(at)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}

/// The entries of a map.
pub(super) struct MapEntries<'de> {
    left: std::slice::Iter<'de, (Value, Value)>,
    count: usize,
    /// The entry of which the key was taken.
    entry: Option<&'de (Value, Value)>,
    depth: usize,
}

impl<'de> MapEntries<'de> {
    pub(super) fn of(entries: &'de [(Value, Value)], depth: usize) -> Self {
        Self { left: entries.iter(), count: entries.len(), entry: None, depth }
    }

    /// How many entries stand before the one that was taken last.
    fn entry_number(&self) -> usize {
        self.count - self.left.len() - 1
    }

    /// Nothing may be left that nobody wanted.
    pub(super) fn end(self) -> Result<(), Error> {
        let taken = self.count - self.left.len();
        if taken == self.count {
            return Ok(());
        }
        let expected = format!("{taken} entries");
        Err(de::Error::invalid_length(self.count, &expected.as_str()))
    }
}

impl<'de> de::MapAccess<'de> for MapEntries<'de> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        self.entry = self.left.next();
        let Some((key, _)) = self.entry else { return Ok(None) };
        let made = seed.deserialize(Deserializer::of_key(key, self.depth));
        let leg = Leg::key(self.entry_number());
        made.map(Some).map_err(|error| error.within_part(Step::of_key(key), leg))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let without_key = || <Error as de::Error>::custom("a value is asked for before its key");
        let (key, value) = self.entry.take().ok_or_else(without_key)?;
        let leg = Leg::value(self.entry_number());
        make(seed, value, self.depth).map_err(|error| error.within_part(Step::of_key(key), leg))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}

/// A variant of an enum: its name, and its data if it has any.
pub(super) struct OneEntry<'de> {
    name: &'de Value,
    data: Option<&'de Value>,
    depth: usize,
}

impl<'de> OneEntry<'de> {
    pub(super) fn of_name(name: &'de Value) -> Self {
        Self { name, data: None, depth: 0 }
    }

    pub(super) fn of(name: &'de Value, data: &'de Value, depth: usize) -> Self {
        Self { name, data: Some(data), depth }
    }

    /// Makes something of the data.
    fn of_data<T>(
        self,
        expected: &str,
        make: impl FnOnce(Deserializer<'de>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let Some(data) = self.data else {
            return Err(de::Error::invalid_type(de::Unexpected::UnitVariant, &expected));
        };
        make(Deserializer::new(data, self.depth))
            .map_err(|error| error.within_part(Step::of_key(self.name), Leg::value(0)))
    }
}

impl<'de> de::EnumAccess<'de> for OneEntry<'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Error> {
        match make(seed, self.name, self.depth) {
            Ok(name) => Ok((name, self)),
            // The name is a key.
            Err(error) if self.data.is_some() => Err(error.at_part(Leg::key(0))),
            Err(error) => Err(error),
        }
    }
}

impl<'de> de::VariantAccess<'de> for OneEntry<'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        match self.data {
            None => Ok(()),
            Some(_) => self.of_data("nil", serde::Deserialize::deserialize),
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        self.of_data("a variant with a value", |data| seed.deserialize(data))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value, Error> {
        self.of_data("a variant with values", |data| {
            de::Deserializer::deserialize_seq(data, visitor)
        })
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.of_data("a variant with fields", |data| {
            de::Deserializer::deserialize_struct(data, "", fields, visitor)
        })
    }
}

/// The parts of a value for a [`Value`]: a variant that no format has but this one.
pub(super) struct Handover<'de> {
    parts: Parts<'de>,
    next: Option<Part<'de>>,
}

impl<'de> Handover<'de> {
    pub(super) fn of(value: &'de Value) -> Self {
        Self { parts: Parts::of(value), next: None }
    }
}

impl<'de> de::EnumAccess<'de> for Handover<'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Error> {
        let name = seed.deserialize(BorrowedStrDeserializer::<Error>::new(token::VALUE))?;
        Ok((name, self))
    }
}

impl<'de> de::VariantAccess<'de> for Handover<'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Err(de::Error::invalid_type(de::Unexpected::UnitVariant, &"a value in parts"))
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, _seed: S) -> Result<S::Value, Error> {
        Err(de::Error::invalid_type(de::Unexpected::NewtypeVariant, &"a value in parts"))
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        _length: usize,
        _visitor: V,
    ) -> Result<V::Value, Error> {
        Err(de::Error::invalid_type(de::Unexpected::TupleVariant, &"a value in parts"))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_map(self)
    }
}

impl<'de> de::MapAccess<'de> for Handover<'de> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        self.next = self.parts.next();
        let Some(part) = &self.next else { return Ok(None) };
        seed.deserialize(BorrowedStrDeserializer::new(part.name())).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        match self.next.take() {
            Some(Part::Atom(atom)) => make(seed, atom, 0),
            Some(Part::Collection(_, count)) => seed.deserialize(count.into_deserializer()),
            Some(Part::Tag(tag)) => seed.deserialize(BorrowedStrDeserializer::new(tag.as_str())),
            None => Err(de::Error::custom("a value is asked for before its key")),
        }
    }
}
