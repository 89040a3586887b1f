//! Deserialization of values: from this crate's deserializer with their exact types, from other formats as strings,
//! numbers, sequences and maps.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error as _, MapAccess, SeqAccess,
    Unexpected, Visitor,
};

use super::error::{MAX_DEPTH, deeper, unexpected};
use super::handoff;
use crate::error::{Error, Reason};
use crate::value::{
    Decimal, Inst, Integer, Keyword, List, Map, Ratio, Set, Symbol, Tagged, Uuid, Value, Vector,
};

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        AnyValue { depth: MAX_DEPTH }.deserialize(deserializer)
    }
}

/// A value with a limited depth of collections.
#[derive(Clone, Copy)]
struct AnyValue {
    depth: usize,
}

impl AnyValue {
    fn nested<E: de::Error>(self) -> Result<Self, E> {
        deeper(self.depth).map(|depth| Self { depth }).map_err(E::custom)
    }
}

impl<'de> DeserializeSeed<'de> for AnyValue {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_newtype_struct(handoff::VALUE, self)
    }
}

macro_rules! values {
    ($($method:ident($type:ty))*) => {$(
        fn $method<E>(self, value: $type) -> Result<Value, E> {
            Ok(Value::from(value))
        }
    )*};
}

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    values! {
        visit_bool(bool) visit_i64(i64) visit_i128(i128) visit_u64(u64) visit_u128(u128)
        visit_f64(f64) visit_char(char) visit_str(&str) visit_string(String)
    }

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    /// From another format.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, other: D) -> Result<Value, D::Error> {
        other.deserialize_any(self)
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Value, E> {
        Ok(Value::Vector(bytes.iter().copied().collect()))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Nil)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Nil)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let nested = self.nested()?;
        let mut values = Vec::new();
        while let Some(value) = elements.next_element_seed(nested)? {
            values.push(value);
        }
        Ok(Value::Vector(values.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Value, A::Error> {
        Entries(self.nested()?).read(entries)
    }

    /// The value of this crate's deserializer.
    fn visit_enum<A: EnumAccess<'de>>(self, _access: A) -> Result<Value, A::Error> {
        let other_format = || A::Error::custom("an enum of another format is not a value");
        handoff::take().ok_or_else(other_format)
    }
}

impl<'de> Deserialize<'de> for List {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<Value>::deserialize(deserializer).map(Self::from)
    }
}

impl<'de> Deserialize<'de> for Vector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<Value>::deserialize(deserializer).map(Self::from)
    }
}

impl<'de> Deserialize<'de> for Set {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let values = Vec::deserialize(deserializer)?;
        Self::of_values(values).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Map {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries(AnyValue { depth: MAX_DEPTH }.nested()?))
    }
}

/// The entries of a map, with values of a depth.
struct Entries(AnyValue);

impl Entries {
    fn read<'de, A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(key) = entries.next_key_seed(AnyKey(self.0))? {
            match key {
                MapKey::Value(key) => list.push((key, entries.next_value_seed(self.0)?)),
                MapKey::Number => return exact_number(&mut entries).map(Value::from),
            }
        }
        Map::of_entries(list).map(Value::Map).map_err(A::Error::custom)
    }
}

/// The number that a map of `serde_json` is, whose key was read. With its feature `arbitrary_precision`, which any crate of
/// an application can enable, a number with a fraction or an exponent, or beyond 64 bits, is such a map.
fn exact_number<'de, A: MapAccess<'de>>(map: &mut A) -> Result<f64, A::Error> {
    map.next_value::<String>()?.parse().map_err(A::Error::custom)
}

impl<'de> Visitor<'de> for Entries {
    type Value = Map;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Map, A::Error> {
        match self.read(entries)? {
            Value::Map(map) => Ok(map),
            other => Err(A::Error::custom(unexpected(&other, &"a map"))),
        }
    }
}

/// The key of the map that is a number.
const NUMBER_KEY: &str = "$serde_json::private::Number";

/// A key. Text of other formats, which have no keywords, becomes a keyword if every EDN reader accepts it.
struct AnyKey(AnyValue);

enum MapKey {
    Value(Value),
    /// The map is a number.
    Number,
}

impl<'de> DeserializeSeed<'de> for AnyKey {
    type Value = MapKey;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<MapKey, D::Error> {
        deserializer.deserialize_newtype_struct(handoff::VALUE, self)
    }
}

impl<'de> Visitor<'de> for AnyKey {
    type Value = MapKey;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, other: D) -> Result<MapKey, D::Error> {
        let key = other.deserialize_any(self.0)?;
        Ok(MapKey::Value(match key {
            Value::String(text) => Value::from_name(&text),
            key => key,
        }))
    }

    /// The key of a number. Those of objects are newtypes.
    fn visit_str<E: de::Error>(self, text: &str) -> Result<MapKey, E> {
        match text == NUMBER_KEY {
            true => Ok(MapKey::Number),
            false => Err(E::invalid_type(Unexpected::Str(text), &self)),
        }
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<MapKey, A::Error> {
        self.0.visit_enum(access).map(MapKey::Value)
    }
}

/// A tagged value, which only EDN can represent.
impl<'de> Deserialize<'de> for Tagged {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Tagged(tagged) => Ok(tagged),
            other => Err(D::Error::custom(unexpected(&other, &"a tagged value"))),
        }
    }
}

macro_rules! scalars {
    ($($type:ty, $token:ident, $visitor:expr;)*) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_newtype_struct(handoff::$token, $visitor)
            }
        }
    )*};
}

scalars! {
    Keyword, KEYWORD, FromText("a keyword", PhantomData);
    Symbol, SYMBOL, FromText("a symbol", PhantomData);
    Inst, INST, FromText("an inst", PhantomData);
    Uuid, UUID, FromText("a UUID", PhantomData);
    Integer, INTEGER, FromNumber("an integer", |_| None);
    Decimal, DECIMAL, FromNumber("a decimal", Decimal::from_f64);
    Ratio, RATIO, FromNumber("a ratio", Ratio::from_f64);
}

/// Parses a text.
struct FromText<T>(&'static str, PhantomData<T>);

impl<'de, T: FromStr<Err = Error>> Visitor<'de> for FromText<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    /// From another format.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, other: D) -> Result<T, D::Error> {
        other.deserialize_str(self)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(|error: Error| E::custom(error.reason()))
    }
}

/// Converts a number, or its text. The function converts a float.
struct FromNumber<T>(&'static str, fn(f64) -> Option<T>);

impl<T: FromStr<Err = Error>> FromNumber<T> {
    fn of<E: de::Error>(&self, text: &str, found: Unexpected<'_>) -> Result<T, E> {
        text.parse().map_err(|error: Error| match error.reason() {
            Reason::Number { .. } => E::invalid_value(found, &self.0),
            reason => E::custom(reason),
        })
    }
}

impl<'de, T: FromStr<Err = Error>> Visitor<'de> for FromNumber<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    /// From another format.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, other: D) -> Result<T, D::Error> {
        other.deserialize_any(self)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        self.of(itoa::Buffer::new().format(number), Unexpected::Signed(number))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        self.of(itoa::Buffer::new().format(number), Unexpected::Unsigned(number))
    }

    fn visit_i128<E: de::Error>(self, number: i128) -> Result<T, E> {
        self.of(&number.to_string(), Unexpected::Other("integer"))
    }

    fn visit_u128<E: de::Error>(self, number: u128) -> Result<T, E> {
        self.of(&number.to_string(), Unexpected::Other("integer"))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        (self.1)(number).ok_or_else(|| E::invalid_value(Unexpected::Float(number), &self.0))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        self.of(text, Unexpected::Str(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        match map.next_key::<String>()? {
            Some(key) if key == NUMBER_KEY => self.visit_f64(exact_number(&mut map)?),
            _ => Err(A::Error::invalid_type(Unexpected::Map, &self)),
        }
    }
}
