//! A serde deserializer of params in EDN, by position and by name.

use std::borrow::Cow;
use std::fmt;

use ::serde::de::value::StrDeserializer;
use ::serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, Visitor,
};
use ::serde::forward_to_deserialize_any;
use trunkline_core::params::ParamsError;

use crate::error::Error;
use crate::json;
use crate::value::{Map, Value, Vector};

/// Deserializes the params of a call as a whole.
#[derive(Clone, Copy)]
pub(super) struct ParamsDeserializer<'de>(Option<&'de Value>);

type ValueDeserializer<'de> = <&'de Value as IntoDeserializer<'de, Error>>::Deserializer;

/// The values that absent params deserialize as.
static NIL: Value = Value::Nil;
static NO_NAMES: Value = Value::Map(Map::new());
static NO_POSITIONS: Value = Value::Vector(Vector::new());

impl<'de> ParamsDeserializer<'de> {
    /// `params` is a map or a sequence.
    pub(super) fn new(params: Option<&'de Value>) -> Self {
        Self(params)
    }

    fn or(self, absent: &'static Value) -> ValueDeserializer<'de> {
        self.0.unwrap_or(absent).into_deserializer()
    }

    fn positions(self) -> Option<&'de [Value]> {
        match self.0? {
            Value::Set(set) => Some(set.iter().as_slice()),
            params => params.as_sequence(),
        }
    }

    /// The values for fields, in the order of the message.
    fn bound(
        self,
        fields: &'static [&'static str],
    ) -> Result<Vec<(&'static str, &'de Value)>, ParamsError> {
        if let Some(Value::Map(map)) = self.0 {
            return named(map, fields);
        }
        let given = self.positions().unwrap_or_default();
        if given.len() > fields.len() {
            return Err(ParamsError::TooMany { given: given.len(), declared: fields.to_vec() });
        }
        Ok(fields.iter().copied().zip(given).collect())
    }
}

fn named<'de>(
    params: &'de Map,
    fields: &'static [&'static str],
) -> Result<Vec<(&'static str, &'de Value)>, ParamsError> {
    let field = |key| fields.iter().find(|field| **field == name_of(key)).copied();
    let bound: Option<_> = params.iter().map(|(key, value)| Some((field(key)?, value))).collect();
    bound.ok_or_else(|| {
        let unknown = params.iter().filter(|(key, _)| field(key).is_none());
        ParamsError::unknown(unknown.map(|(key, _)| name_of(key)), fields)
    })
}

/// The name of a key in JSON.
fn name_of(key: &Value) -> Cow<'_, str> {
    match key {
        Value::Keyword(keyword) => keyword.as_str().into(),
        Value::String(text) => text.into(),
        key => json::key_text(key).unwrap_or_else(|_| key.to_string()).into(),
    }
}

/// An error of the params as a whole.
fn whole(error: Error) -> ParamsError {
    ParamsError::Shape(error.to_string())
}

/// The fields of a struct are the declaration. Other types are deserialized as usual: a map accepts any names, a
/// tuple or a `Vec` accepts positions.
impl<'de> Deserializer<'de> for ParamsDeserializer<'de> {
    type Error = ParamsError;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ParamsError> {
        visitor.visit_map(Fields { left: self.bound(fields)?.into_iter(), current: None })
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParamsError> {
        self.or(&NO_NAMES).deserialize_any(visitor).map_err(whole)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParamsError> {
        self.or(&NO_NAMES).deserialize_map(visitor).map_err(whole)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParamsError> {
        self.or(&NO_POSITIONS).deserialize_seq(visitor).map_err(whole)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, ParamsError> {
        self.deserialize_seq(visitor).map_err(|error| match self.positions() {
            Some(given) if given.len() > len => ParamsError::longer_than_tuple(given.len(), len),
            _ => error,
        })
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, ParamsError> {
        self.deserialize_tuple(len, visitor)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParamsError> {
        self.bound(&[])?;
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ParamsError> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParamsError> {
        match self.0 {
            None => visitor.visit_none(),
            Some(_) => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ParamsError> {
        let newtype = Newtype { params: self, visitor };
        self.or(&NIL).deserialize_newtype_struct(name, newtype).map_err(whole)?
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ParamsError> {
        self.or(&NIL).deserialize_enum(name, variants, visitor).map_err(whole)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        identifier ignored_any
    }
}

/// Distinguishes the types of trunkline-edn from other newtypes, whose inner type gets the params.
struct Newtype<'de, V> {
    params: ParamsDeserializer<'de>,
    visitor: V,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Newtype<'de, V> {
    type Value = Result<V::Value, ParamsError>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, _: D) -> Result<Self::Value, D::Error> {
        Ok(self.visitor.visit_newtype_struct(self.params))
    }

    /// A [`Value`].
    fn visit_enum<A: EnumAccess<'de>>(self, parts: A) -> Result<Self::Value, A::Error> {
        self.visitor.visit_enum(parts).map(Ok)
    }
}

/// The bound params as the entries of a map, so that derived structs handle missing fields, defaults and
/// options.
struct Fields<'de> {
    left: std::vec::IntoIter<(&'static str, &'de Value)>,
    current: Option<(&'static str, &'de Value)>,
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = ParamsError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ParamsError> {
        self.current = self.left.next();
        let Some((name, _)) = self.current else { return Ok(None) };
        let key: StrDeserializer<'_, ParamsError> = name.into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, ParamsError> {
        let (name, value) = self.current.take().expect("serde requests a value after its key");
        let invalid = |error: Error| ParamsError::Invalid {
            param: name.to_owned(),
            reason: error.to_string(),
        };
        seed.deserialize(value.into_deserializer()).map_err(invalid)
    }
}
