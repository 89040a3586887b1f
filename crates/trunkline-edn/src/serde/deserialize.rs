//! How values and collections are deserialized: from this crate's deserializer as what they are, from
//! others as what they look like.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{
    Deserialize, Deserializer, EnumAccess, Error as _, MapAccess, SeqAccess, VariantAccess as _,
    Visitor,
};

use super::error::unexpected;
use super::parts::{Build, Kind, Part};
use super::serializer::named;
use super::token;
use crate::error::Error;
use crate::list::List;
use crate::map::Map;
use crate::set::Set;
use crate::tagged::Tagged;
use crate::value::Value;
use crate::vector::Vector;

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(token::VALUE, AnyValue)
    }
}

struct AnyValue;

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

    /// Not of this crate's deserializer.
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
        Value::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<Value, A::Error> {
        values(elements).map(|values| Value::Vector(values.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Value, A::Error> {
        Entries.visit_map(entries).map(Value::Map)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<Value, A::Error> {
        let (name, parts) = access.variant::<String>()?;
        if name == token::VALUE {
            return parts.struct_variant(&[], Whole);
        }
        Err(A::Error::custom("an enum of another format is no value"))
    }
}

/// A value in parts.
struct Whole;

impl<'de> Visitor<'de> for Whole {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the parts of a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut parts: A) -> Result<Value, A::Error> {
        let mut build = Build::default();
        while let Some(name) = parts.next_key::<&str>()? {
            let atom = match name {
                "nil" => parts.next_value().map(|()| Value::Nil)?,
                "boolean" => Value::Bool(parts.next_value()?),
                "integer" => Value::Integer(parts.next_value()?),
                "float" => Value::Float(parts.next_value()?),
                "decimal" => Value::Decimal(parts.next_value()?),
                "ratio" => Value::Ratio(parts.next_value()?),
                "character" => Value::Char(parts.next_value()?),
                "string" => Value::String(parts.next_value()?),
                "symbol" => Value::Symbol(parts.next_value()?),
                "keyword" => Value::Keyword(parts.next_value()?),
                "inst" => Value::Inst(parts.next_value()?),
                "uuid" => Value::Uuid(parts.next_value()?),
                Part::TAG => {
                    build.tag(parts.next_value()?).map_err(A::Error::custom)?;
                    continue;
                }
                name => {
                    let unknown = || A::Error::custom("a value has no such part");
                    let kind = Kind::of(name).ok_or_else(unknown)?;
                    build.collection(kind, parts.next_value()?).map_err(A::Error::custom)?;
                    continue;
                }
            };
            build.atom(atom);
        }
        build.finish().map_err(A::Error::custom)
    }
}

fn values<'de, A: SeqAccess<'de>>(mut elements: A) -> Result<Vec<Value>, A::Error> {
    let mut values = Vec::new();
    while let Some(value) = elements.next_element()? {
        values.push(value);
    }
    Ok(values)
}

/// A list, a vector or a set: of whatever sequence.
struct Sequence<T>(PhantomData<T>);

impl<'de, T: OfValues> Visitor<'de> for Sequence<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::NAME)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<T, A::Error> {
        T::of(values(elements)?).map_err(A::Error::custom)
    }
}

trait OfValues: Sized {
    const NAME: &str;

    fn of(values: Vec<Value>) -> Result<Self, Error>;
}

macro_rules! sequences {
    ($($type:ty, $name:literal, $of:expr;)*) => {$(
        impl OfValues for $type {
            const NAME: &str = $name;

            fn of(values: Vec<Value>) -> Result<Self, Error> {
                $of(values)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_seq(Sequence(PhantomData))
            }
        }
    )*};
}

sequences! {
    List, "a list", |values: Vec<Value>| Ok(List::from(values));
    Vector, "a vector", |values: Vec<Value>| Ok(Vector::from(values));
    Set, "a set", Set::of_values;
}

impl<'de> Deserialize<'de> for Map {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries)
    }
}

struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = Map;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Map, A::Error> {
        let mut made = Vec::new();
        while let Some((MapKey(key), value)) = entries.next_entry()? {
            made.push((key, value));
        }
        Map::of_entries(made).map_err(A::Error::custom)
    }
}

/// A key: of text from another format, which has no keywords, the keyword if there is one.
struct MapKey(Value);

impl<'de> Deserialize<'de> for MapKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(token::VALUE, AnyKey).map(Self)
    }
}

struct AnyKey;

impl<'de> Visitor<'de> for AnyKey {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, other: D) -> Result<Value, D::Error> {
        other.deserialize_any(AnyValue).map(|key| match key {
            Value::String(text) => named(&text),
            key => key,
        })
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<Value, A::Error> {
        AnyValue.visit_enum(access)
    }
}

/// A tagged value, which only EDN has.
impl<'de> Deserialize<'de> for Tagged {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Tagged(tagged) => Ok(tagged),
            other => Err(D::Error::custom(unexpected(&other, &"a tagged value"))),
        }
    }
}
