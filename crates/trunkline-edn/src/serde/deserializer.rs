//! From values to Rust types.

use serde::de::{self, DeserializeSeed, IntoDeserializer, Visitor};

use super::access::{Handover, MapEntries, OneEntry, Values};
use super::error::unexpected;
use super::number::{visit_decimal, visit_integer, visit_ratio};
use super::{DEPTH, token};
use crate::error::{Error, Reason};
use crate::json;
use crate::map::Map;
use crate::value::Value;

/// Shows a value to what wants to be made of it.
#[derive(Clone, Copy)]
pub struct Deserializer<'de> {
    value: &'de Value,
    /// How many collections may still begin.
    depth: usize,
    /// Whether it is the key of a map: a number that is written as text, or a text that is wanted of a
    /// number.
    is_key: bool,
}

/// What a value says when it is asked for text.
enum Text<'de> {
    Borrowed(&'de str),
    Owned(String),
}

impl<'de> Deserializer<'de> {
    pub(super) fn new(value: &'de Value, depth: usize) -> Self {
        Self { value, depth, is_key: false }
    }

    pub(super) fn of_key(key: &'de Value, depth: usize) -> Self {
        Self { value: key, depth, is_key: true }
    }

    /// The depth that is left for the parts of this collection.
    fn within(self) -> Result<usize, Error> {
        self.depth.checked_sub(1).ok_or_else(|| Error::from(Reason::TooDeep { limit: DEPTH }))
    }

    fn unexpected<T>(self, expected: &dyn de::Expected) -> Result<T, Error> {
        Err(unexpected(self.value, expected))
    }

    fn text(self) -> Option<Text<'de>> {
        Some(match self.value {
            Value::String(text) => Text::Borrowed(text),
            Value::Keyword(keyword) => Text::Borrowed(keyword.as_str()),
            Value::Symbol(symbol) => Text::Borrowed(symbol.as_str()),
            Value::Char(c) => Text::Owned(c.to_string()),
            Value::Inst(inst) => Text::Owned(inst.to_string()),
            Value::Uuid(uuid) => Text::Owned(uuid.to_string()),
            key if self.is_key => Text::Owned(json::key_text(key).ok()?),
            _ => return None,
        })
    }

    /// What a key that is text says of a number or a boolean.
    fn parsed_key<T: std::str::FromStr>(self) -> Option<T> {
        match self.text()? {
            Text::Borrowed(text) if self.is_key => text.parse().ok(),
            _ => None,
        }
    }

    /// The elements of a list, a vector or a set.
    fn elements(self) -> Option<&'de [Value]> {
        match self.value {
            Value::Set(set) => Some(set.iter().as_slice()),
            value => value.as_sequence(),
        }
    }

    fn visit_elements<V: Visitor<'de>>(
        self,
        elements: &'de [Value],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let mut values = Values::of(elements, self.within()?);
        let made = visitor.visit_seq(&mut values)?;
        values.end()?;
        Ok(made)
    }

    fn visit_entries<V: Visitor<'de>>(self, map: &'de Map, visitor: V) -> Result<V::Value, Error> {
        let mut entries = MapEntries::of(map.entries(), self.within()?);
        let made = visitor.visit_map(&mut entries)?;
        entries.end()?;
        Ok(made)
    }
}

impl<'de> Text<'de> {
    fn visit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::Borrowed(text) => visitor.visit_borrowed_str(text),
            Self::Owned(text) => visitor.visit_string(text),
        }
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

impl<'de> de::Deserializer<'de> for Deserializer<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Nil => visitor.visit_unit(),
            Value::Bool(bool) => visitor.visit_bool(*bool),
            Value::Integer(integer) => visit_integer(integer, visitor),
            Value::Float(float) => visitor.visit_f64(*float),
            Value::Decimal(decimal) => visit_decimal(decimal, visitor),
            Value::Ratio(ratio) => visit_ratio(ratio, visitor),
            Value::Map(map) => self.visit_entries(map, visitor),
            _ => match (self.elements(), self.text()) {
                (Some(elements), _) => self.visit_elements(elements, visitor),
                (None, Some(text)) => text.visit(visitor),
                (None, None) => self.unexpected(&visitor),
            },
        }
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

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let number = match self.value {
            Value::Integer(integer) => integer.to_f64(),
            Value::Float(float) => *float,
            Value::Decimal(decimal) => decimal.to_f64(),
            Value::Ratio(ratio) => ratio.to_f64(),
            _ => match self.parsed_key() {
                Some(number) => number,
                None => return self.unexpected(&visitor),
            },
        };
        visitor.visit_f64(number)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let bool = match self.value {
            Value::Bool(bool) => Some(*bool),
            _ => self.parsed_key(),
        };
        match bool {
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
            Some(text) => text.visit(visitor),
            None => self.unexpected(&visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match (self.value, self.elements()) {
            (Value::String(text), _) => visitor.visit_borrowed_bytes(text.as_bytes()),
            (_, Some(elements)) => self.visit_elements(elements, visitor),
            _ => self.unexpected(&visitor),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.value.is_nil() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.value.is_nil() { visitor.visit_unit() } else { self.unexpected(&visitor) }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        match (name, self.value) {
            (token::VALUE, value) => visitor.visit_enum(Handover::of(value)),
            // The text of a number is none of them.
            (token::KEYWORD | token::SYMBOL | token::INST | token::UUID, value) => {
                Self::new(value, self.depth).deserialize_str(visitor)
            }
            (token::DECIMAL, Value::Decimal(decimal)) => visitor.visit_string(decimal.to_string()),
            (token::RATIO, Value::Ratio(ratio)) => visitor.visit_string(ratio.to_string()),
            (token::INTEGER | token::DECIMAL, Value::Integer(integer)) => {
                visit_integer(integer, visitor)
            }
            (token::DECIMAL, Value::Float(float)) => visitor.visit_f64(*float),
            (token::INTEGER | token::DECIMAL | token::RATIO, Value::String(text)) => {
                visitor.visit_borrowed_str(text)
            }
            (token::INTEGER | token::DECIMAL | token::RATIO, _) if self.is_key => {
                self.deserialize_str(visitor)
            }
            (token::INTEGER | token::DECIMAL | token::RATIO, _) => self.unexpected(&visitor),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.elements() {
            Some(elements) => self.visit_elements(elements, visitor),
            None => self.unexpected(&visitor),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
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
                visitor.visit_enum(OneEntry::of_name(self.value))
            }
            Value::Map(map) => match map.entries() {
                [(name, value)] => visitor.visit_enum(OneEntry::of(name, value, self.within()?)),
                _ => {
                    let found = de::Unexpected::Other("map that has not one entry");
                    Err(de::Error::invalid_value(found, &visitor))
                }
            },
            _ => self.unexpected(&visitor),
        }
    }

    /// What has no text is known by its EDN: no field has such a name, and it is passed over.
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let text = self.text().unwrap_or_else(|| Text::Owned(self.value.to_string()));
        text.visit(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }
}

/// For code of serde that is given a part of something else, as `next_value_seed` of a `MapAccess` is:
/// what it makes of a value is what [`from_ref`](crate::from_ref) makes of it.
impl<'de> IntoDeserializer<'de, Error> for &'de Value {
    type Deserializer = Deserializer<'de>;

    fn into_deserializer(self) -> Deserializer<'de> {
        Deserializer::new(self, DEPTH)
    }
}

/// A seed with what it is to be made of.
pub(super) fn make<'de, S: DeserializeSeed<'de>>(
    seed: S,
    value: &'de Value,
    depth: usize,
) -> Result<S::Value, Error> {
    seed.deserialize(Deserializer::new(value, depth))
}
