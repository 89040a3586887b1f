//! Serializes Rust types to values.

use std::str::FromStr;

use serde::ser::{self, Serialize};

use super::error::{MAX_DEPTH, deeper};
use super::handoff;
use crate::error::{Error, Reason};
use crate::location::Step;
use crate::value::{Decimal, Inst, Integer, Keyword, Map, Ratio, Symbol, Uuid, Value};

/// Serializes to a [`Value`].
#[derive(Clone, Copy)]
pub(super) struct Serializer {
    /// Strings are the text of keys, which become keywords.
    is_key: bool,
    /// The remaining depth of collections.
    depth: usize,
}

impl Serializer {
    pub(super) fn new() -> Self {
        Self { is_key: false, depth: MAX_DEPTH }
    }

    /// The serializer of the values in a collection.
    fn nested(self) -> Result<Self, Error> {
        Ok(Self { is_key: false, depth: deeper(self.depth)? })
    }
}

/// Parses the text that a type of this crate serializes as.
fn parsed<T>(value: &(impl Serialize + ?Sized)) -> Result<Value, Error>
where
    T: FromStr<Err = Error> + Into<Value>,
{
    parsed_by(str::parse::<T>, value)
}

fn parsed_by<T: Into<Value>>(
    parse: impl FnOnce(&str) -> Result<T, Error>,
    value: &(impl Serialize + ?Sized),
) -> Result<Value, Error> {
    match value.serialize(Serializer::new())? {
        Value::String(text) => parse(&text).map(Into::into),
        value => Ok(value),
    }
}

macro_rules! numbers {
    ($($method:ident($type:ty))*) => {$(
        fn $method(self, number: $type) -> Result<Value, Error> {
            Ok(Value::from(number))
        }
    )*};
}

impl ser::Serializer for Serializer {
    type Ok = Value;
    type Error = Error;
    type SerializeSeq = Elements;
    type SerializeTuple = Elements;
    type SerializeTupleStruct = Elements;
    type SerializeTupleVariant = Elements;
    type SerializeMap = Entries;
    type SerializeStruct = Entries;
    type SerializeStructVariant = Entries;

    numbers! {
        serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64) serialize_i128(i128)
        serialize_u8(u8) serialize_u16(u16) serialize_u32(u32) serialize_u64(u64) serialize_u128(u128)
        serialize_f64(f64) serialize_bool(bool) serialize_char(char)
    }

    /// Uses the shortest text: `0.1`, not the nearest 32-bit float as a 64-bit float.
    fn serialize_f32(self, number: f32) -> Result<Value, Error> {
        let text = zmij::Buffer::new().format(number).to_owned();
        Ok(Value::Float(text.parse().unwrap_or_else(|_| number.into())))
    }

    fn serialize_str(self, text: &str) -> Result<Value, Error> {
        Ok(if self.is_key { Value::from_name(text) } else { text.into() })
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<Value, Error> {
        Ok(Value::Vector(bytes.iter().copied().collect()))
    }

    fn serialize_none(self) -> Result<Value, Error> {
        Ok(Value::Nil)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value, Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value, Error> {
        Ok(Value::Nil)
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<Value, Error> {
        Ok(Value::Nil)
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<Value, Error> {
        Ok(Value::from_name(variant))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<Value, Error> {
        match name {
            handoff::VALUE | handoff::KEY => handoff::request(|| value.serialize(self)),
            handoff::STRING => value.serialize(Self { is_key: false, ..self }),
            handoff::KEYWORD => parsed::<Keyword>(value),
            handoff::SYMBOL => parsed::<Symbol>(value),
            handoff::INST => parsed::<Inst>(value),
            handoff::UUID => parsed::<Uuid>(value),
            handoff::INTEGER => parsed::<Integer>(value),
            handoff::DECIMAL => parsed::<Decimal>(value),
            // The digits are within the limit of the reader.
            handoff::RATIO => parsed_by(|text| Ratio::parse(text, usize::MAX), value),
            _ => value.serialize(self),
        }
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Value, Error> {
        in_variant(Some(variant), value.serialize(self.nested()?))
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Elements, Error> {
        Elements::new(self, length, None)
    }

    fn serialize_tuple(self, length: usize) -> Result<Elements, Error> {
        Elements::new(self, Some(length), None)
    }

    fn serialize_tuple_struct(self, _name: &'static str, length: usize) -> Result<Elements, Error> {
        Elements::new(self, Some(length), None)
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Elements, Error> {
        Elements::new(self.nested()?, Some(length), Some(variant))
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Entries, Error> {
        Entries::new(self, length, None)
    }

    fn serialize_struct(self, _name: &'static str, length: usize) -> Result<Entries, Error> {
        Entries::new(self, Some(length), None)
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Entries, Error> {
        Entries::new(self.nested()?, Some(length), Some(variant))
    }
}

/// The vector of a sequence or a tuple.
pub(super) struct Elements {
    values: Vec<Value>,
    serializer: Serializer,
    variant: Option<&'static str>,
}

/// The map of a map or a struct.
pub(super) struct Entries {
    entries: Vec<(Value, Value)>,
    /// The key of the next value.
    key: Option<Value>,
    serializer: Serializer,
    variant: Option<&'static str>,
}

/// The capacity that an unchecked length may reserve.
const MAX_RESERVED: usize = 1_024;

fn capacity(length: Option<usize>) -> usize {
    length.unwrap_or(0).min(MAX_RESERVED)
}

/// The data of a variant in a map of one entry; other values unchanged.
fn in_variant(variant: Option<&'static str>, value: Result<Value, Error>) -> Result<Value, Error> {
    let Some(key) = variant.map(Value::from_name) else { return value };
    let step = key.key_step();
    let entry = |value| Value::Map(Map::from_iter([(key, value)]));
    value.map(entry).map_err(|error| error.within(step))
}

impl Elements {
    fn new(
        serializer: Serializer,
        length: Option<usize>,
        variant: Option<&'static str>,
    ) -> Result<Self, Error> {
        let serializer = serializer.nested()?;
        Ok(Self { values: Vec::with_capacity(capacity(length)), serializer, variant })
    }

    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        match value.serialize(self.serializer) {
            Ok(value) => self.values.push(value),
            Err(error) => {
                let error = error.within(Step::Index(self.values.len()));
                in_variant(self.variant, Err(error))?;
            }
        }
        Ok(())
    }
}

impl Entries {
    fn new(
        serializer: Serializer,
        length: Option<usize>,
        variant: Option<&'static str>,
    ) -> Result<Self, Error> {
        let serializer = serializer.nested()?;
        let entries = Vec::with_capacity(capacity(length));
        Ok(Self { entries, key: None, serializer, variant })
    }

    fn push<T: Serialize + ?Sized>(&mut self, key: Value, value: &T) -> Result<(), Error> {
        match value.serialize(self.serializer) {
            Ok(value) => self.entries.push((key, value)),
            Err(error) => {
                in_variant(self.variant, Err(error.within(key.key_step())))?;
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Value, Error> {
        in_variant(self.variant, Map::of_entries(self.entries).map(Value::Map))
    }
}

macro_rules! elements {
    ($($trait:ident $method:ident,)*) => {$(
        impl ser::$trait for Elements {
            type Ok = Value;
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.push(value)
            }

            fn end(self) -> Result<Value, Error> {
                in_variant(self.variant, Ok(Value::Vector(self.values.into())))
            }
        }
    )*};
}

elements! {
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field,
}

impl ser::SerializeMap for Entries {
    type Ok = Value;
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.key = Some(key.serialize(Serializer { is_key: true, ..self.serializer })?);
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

macro_rules! fields {
    ($($trait:ident)*) => {$(
        impl ser::$trait for Entries {
            type Ok = Value;
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), Error> {
                self.push(Value::from_name(name), value)
            }

            fn end(self) -> Result<Value, Error> {
                self.finish()
            }
        }
    )*};
}

fields! { SerializeStruct SerializeStructVariant }
