//! Deserializes Rust types from values.

use std::borrow::Cow;

use serde::de::{self, DeserializeSeed, IntoDeserializer, Visitor};

use super::error::{MAX_DEPTH, deeper, unexpected};
use super::handoff;
use crate::error::Error;
use crate::location::{FormStep, Step};
use crate::value::{Decimal, Integer, Map, Ratio, Value};

/// Deserializes from a [`Value`].
#[derive(Clone, Copy)]
pub struct Deserializer<'de> {
    value: &'de Value,
    /// The remaining depth of collections.
    depth: usize,
    /// Whether the value is the key of a map: text is parsed as a number if the type is a number, and the reverse.
    is_key: bool,
}

impl<'de> Deserializer<'de> {
    fn new(value: &'de Value, depth: usize) -> Self {
        Self { value, depth, is_key: false }
    }

    fn for_key(key: &'de Value, depth: usize) -> Self {
        Self { value: key, depth, is_key: true }
    }

    /// The depth of the values in this collection.
    fn within(self) -> Result<usize, Error> {
        Ok(deeper(self.depth)?)
    }

    fn unexpected<T>(self, expected: &dyn de::Expected) -> Result<T, Error> {
        Err(unexpected(self.value, expected))
    }

    fn text(self) -> Option<Cow<'de, str>> {
        match self.value {
            Value::Integer(_) | Value::Bool(_) if !self.is_key => None,
            value => value.key_text(),
        }
    }

    /// The number or the boolean of a key that is text.
    fn parsed_key<T: std::str::FromStr>(self) -> Option<T> {
        match self.text()? {
            Cow::Borrowed(text) if self.is_key => text.parse().ok(),
            _ => None,
        }
    }

    /// The elements of a list, a vector or a set.
    fn elements(self) -> Option<&'de [Value]> {
        match self.value {
            Value::Set(set) => Some(set.as_slice()),
            value => value.as_sequence(),
        }
    }

    fn visit_text<V: Visitor<'de>>(text: Cow<'de, str>, visitor: V) -> Result<V::Value, Error> {
        match text {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    fn visit_elements<V: Visitor<'de>>(
        self,
        elements: &'de [Value],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let mut parts = Parts { items: elements, taken: 0, depth: self.within()? };
        let result = visitor.visit_seq(&mut parts)?;
        parts.end("elements").map(|()| result)
    }

    fn visit_entries<V: Visitor<'de>>(self, map: &'de Map, visitor: V) -> Result<V::Value, Error> {
        let mut parts = Parts { items: map.entries(), taken: 0, depth: self.within()? };
        let result = visitor.visit_map(&mut parts)?;
        parts.end("entries").map(|()| result)
    }
}

macro_rules! integers {
    ($($method:ident $visit:ident $type:ty,)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            if let Value::Integer(integer) = self.value {
                return visitor.$visit(<$type>::try_from(integer)?);
            }
            match self.parsed_key() {
                Some(number) => visitor.$visit(number),
                None => self.unexpected(&visitor),
            }
        }
    )*};
}

/// Methods whose hints are ignored.
macro_rules! forward {
    ($($method:ident($($hint:ty),*) => $to:ident,)*) => {$(
        fn $method<V: Visitor<'de>>(self, $(_: $hint,)* visitor: V) -> Result<V::Value, Error> {
            self.$to(visitor)
        }
    )*};
}

impl<'de> de::Deserializer<'de> for Deserializer<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Nil => visitor.visit_unit(),
            Value::Bool(bool) => visitor.visit_bool(*bool),
            Value::Integer(integer) => visit_integer(integer, visitor),
            Value::Float(float) => visitor.visit_f64(*float),
            Value::Decimal(decimal) => {
                let float = decimal.to_f64();
                visit_exact(decimal, float, Decimal::from_f64(float), visitor)
            }
            Value::Ratio(ratio) => {
                let float = ratio.to_f64();
                visit_exact(ratio, float, Ratio::from_f64(float), visitor)
            }
            Value::Map(map) => self.visit_entries(map, visitor),
            _ => match (self.elements(), self.text()) {
                (Some(elements), _) => self.visit_elements(elements, visitor),
                (None, Some(text)) => Self::visit_text(text, visitor),
                (None, None) => self.unexpected(&visitor),
            },
        }
    }

    forward! {
        deserialize_f32() => deserialize_f64,
        deserialize_string() => deserialize_str,
        deserialize_byte_buf() => deserialize_bytes,
        deserialize_unit_struct(&'static str) => deserialize_unit,
        deserialize_tuple(usize) => deserialize_seq,
        deserialize_tuple_struct(&'static str, usize) => deserialize_seq,
    }

    integers! {
        deserialize_i8 visit_i8 i8,
        deserialize_i16 visit_i16 i16,
        deserialize_i32 visit_i32 i32,
        deserialize_i64 visit_i64 i64,
        deserialize_i128 visit_i128 i128,
        deserialize_u8 visit_u8 u8,
        deserialize_u16 visit_u16 u16,
        deserialize_u32 visit_u32 u32,
        deserialize_u64 visit_u64 u64,
        deserialize_u128 visit_u128 u128,
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value.as_f64().or_else(|| self.parsed_key()) {
            Some(number) => visitor.visit_f64(number),
            None => self.unexpected(&visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value.as_bool().or_else(|| self.parsed_key()) {
            Some(bool) => visitor.visit_bool(bool),
            None => self.unexpected(&visitor),
        }
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Char(c) => visitor.visit_char(*c),
            Value::String(text) => visitor.visit_borrowed_str(text),
            _ => self.unexpected(&visitor),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.text() {
            Some(text) => Self::visit_text(text, visitor),
            None => self.unexpected(&visitor),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match (self.value, self.elements()) {
            (Value::String(text), _) => visitor.visit_borrowed_bytes(text.as_bytes()),
            (_, Some(elements)) => self.visit_elements(elements, visitor),
            _ => self.unexpected(&visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.value.is_nil() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.value.is_nil() { visitor.visit_unit() } else { self.unexpected(&visitor) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        match (name, self.value) {
            (handoff::VALUE, value) => {
                handoff::offer(value.clone(), || visitor.visit_enum(Variant::of_name(value)))
            }
            // A key is not converted from a number here.
            (handoff::KEYWORD | handoff::SYMBOL | handoff::INST | handoff::UUID, value) => {
                Self::new(value, self.depth).deserialize_str(visitor)
            }
            (handoff::DECIMAL, Value::Decimal(decimal)) => {
                visitor.visit_string(decimal.to_string())
            }
            (handoff::RATIO, Value::Ratio(ratio)) => visitor.visit_string(ratio.to_string()),
            (handoff::INTEGER | handoff::DECIMAL, Value::Integer(integer)) => {
                visit_integer(integer, visitor)
            }
            (handoff::DECIMAL, Value::Float(float)) => visitor.visit_f64(*float),
            (handoff::INTEGER | handoff::DECIMAL | handoff::RATIO, Value::String(text)) => {
                visitor.visit_borrowed_str(text)
            }
            (handoff::INTEGER | handoff::DECIMAL | handoff::RATIO, _) if self.is_key => {
                self.deserialize_str(visitor)
            }
            (handoff::INTEGER | handoff::DECIMAL | handoff::RATIO, _) => self.unexpected(&visitor),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.elements() {
            Some(elements) => self.visit_elements(elements, visitor),
            None => self.unexpected(&visitor),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Map(map) => self.visit_entries(map, visitor),
            _ => self.unexpected(&visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match (self.value, self.value.as_sequence()) {
            (Value::Map(map), _) => self.visit_entries(map, visitor),
            (_, Some(elements)) => self.visit_elements(elements, visitor),
            _ => self.unexpected(&visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.value {
            Value::Keyword(_) | Value::Symbol(_) | Value::String(_) => {
                visitor.visit_enum(Variant::of_name(self.value))
            }
            Value::Map(map) => match map.entries() {
                [(name, value)] => visitor.visit_enum(Variant::of(name, value, self.within()?)),
                _ => {
                    let found = de::Unexpected::Other("map with other than one entry");
                    Err(de::Error::invalid_value(found, &visitor))
                }
            },
            _ => self.unexpected(&visitor),
        }
    }

    /// A key without text is represented by its EDN, which is not the name of any field.
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let text = self.text().unwrap_or_else(|| self.value.to_string().into());
        Self::visit_text(text, visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }
}

/// Visits an integer of 64 bits, the maximum that serde buffers, else text.
fn visit_integer<'de, V: Visitor<'de>>(integer: &Integer, visitor: V) -> Result<V::Value, Error> {
    if let Some(number) = integer.as_i64() {
        visitor.visit_i64(number)
    } else if let Ok(number) = u64::try_from(integer) {
        visitor.visit_u64(number)
    } else {
        visitor.visit_string(integer.to_string())
    }
}

/// Visits a float if the number can be restored from it, else text.
fn visit_exact<'de, T, V>(
    number: &T,
    float: f64,
    restored: Option<T>,
    visitor: V,
) -> Result<V::Value, Error>
where
    T: PartialEq + ToString,
    V: Visitor<'de>,
{
    match restored.as_ref() == Some(number) {
        true => visitor.visit_f64(float),
        false => visitor.visit_string(number.to_string()),
    }
}

/// Deserializes like [`from_ref`](crate::from_ref), for `MapAccess` and other code of serde.
impl<'de> IntoDeserializer<'de, Error> for &'de Value {
    type Deserializer = Deserializer<'de>;

    fn into_deserializer(self) -> Deserializer<'de> {
        Deserializer::new(self, MAX_DEPTH)
    }
}

/// Deserializes a seed from a value.
fn deserialize_seed<'de, S: DeserializeSeed<'de>>(
    seed: S,
    value: &'de Value,
    depth: usize,
) -> Result<S::Value, Error> {
    seed.deserialize(Deserializer::new(value, depth))
}

/// The elements of a list, a vector or a set, or the entries of a map.
struct Parts<'de, T> {
    items: &'de [T],
    taken: usize,
    depth: usize,
}

impl<'de, T> Parts<'de, T> {
    fn next(&mut self) -> Option<&'de T> {
        let item = self.items.get(self.taken)?;
        self.taken += 1;
        Some(item)
    }

    /// Checks that the type has consumed all of them.
    fn end(self, name: &str) -> Result<(), Error> {
        if self.taken == self.items.len() {
            return Ok(());
        }
        let expected = format!("{} {name}", self.taken);
        Err(de::Error::invalid_length(self.items.len(), &expected.as_str()))
    }
}

impl<'de> de::SeqAccess<'de> for Parts<'de, Value> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        let step = Step::Index(self.taken);
        let Some(value) = self.next() else { return Ok(None) };
        let element = deserialize_seed(seed, value, self.depth);
        element.map(Some).map_err(|error| error.within(step))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len() - self.taken)
    }
}

impl<'de> de::MapAccess<'de> for Parts<'de, (Value, Value)> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        let form = FormStep::key(self.taken);
        let Some((key, _)) = self.next() else { return Ok(None) };
        let result = seed.deserialize(Deserializer::for_key(key, self.depth));
        result.map(Some).map_err(|error| error.within_form(key.key_step(), form))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let entry = self.taken.checked_sub(1).map(|at| (&self.items[at], FormStep::value(at)));
        let without_key = || <Error as de::Error>::custom("a value is requested before its key");
        let ((key, value), form) = entry.ok_or_else(without_key)?;
        deserialize_seed(seed, value, self.depth)
            .map_err(|error| error.within_form(key.key_step(), form))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len() - self.taken)
    }
}

/// A variant of an enum: its name, and its data if it has any.
struct Variant<'de> {
    name: &'de Value,
    data: Option<&'de Value>,
    depth: usize,
}

impl<'de> Variant<'de> {
    fn of_name(name: &'de Value) -> Self {
        Self { name, data: None, depth: 0 }
    }

    fn of(name: &'de Value, data: &'de Value, depth: usize) -> Self {
        Self { name, data: Some(data), depth }
    }

    /// Deserializes the data.
    fn of_data<T>(
        self,
        expected: &str,
        deserialize: impl FnOnce(Deserializer<'de>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let Some(data) = self.data else {
            return Err(de::Error::invalid_type(de::Unexpected::UnitVariant, &expected));
        };
        deserialize(Deserializer::new(data, self.depth))
            .map_err(|error| error.within_form(self.name.key_step(), FormStep::value(0)))
    }
}

impl<'de> de::EnumAccess<'de> for Variant<'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Error> {
        match deserialize_seed(seed, self.name, self.depth) {
            Ok(name) => Ok((name, self)),
            // The name is a key.
            Err(error) if self.data.is_some() => Err(error.at_form(FormStep::key(0))),
            Err(error) => Err(error),
        }
    }
}

impl<'de> de::VariantAccess<'de> for Variant<'de> {
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
