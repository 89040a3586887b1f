//! How values, and what they are made of, are serialized: to this crate's serializer as what they are,
//! to others as what they look like.

use serde::ser::{Error as _, Serialize, SerializeMap as _, SerializeStruct as _, Serializer};

use super::parts::{Kind, Part, Parts};
use super::serializer::Serializer as Ours;
use super::token;
use crate::decimal::Decimal;
use crate::inst::Inst;
use crate::integer::Integer;
use crate::keyword::Keyword;
use crate::list::List;
use crate::map::Map;
use crate::ratio::Ratio;
use crate::set::Set;
use crate::symbol::Symbol;
use crate::tagged::Tagged;
use crate::uuid::Uuid;
use crate::value::Value;
use crate::vector::Vector;

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nil => serializer.serialize_unit(),
            Self::Bool(bool) => serializer.serialize_bool(*bool),
            Self::Integer(integer) => integer.serialize(serializer),
            Self::Float(float) => serializer.serialize_f64(*float),
            Self::Decimal(decimal) => decimal.serialize(serializer),
            Self::Ratio(ratio) => ratio.serialize(serializer),
            Self::Char(c) => serializer.serialize_char(*c),
            Self::String(text) => serializer.serialize_newtype_struct(token::STRING, text),
            Self::Symbol(symbol) => symbol.serialize(serializer),
            Self::Keyword(keyword) => keyword.serialize(serializer),
            Self::Inst(inst) => inst.serialize(serializer),
            Self::Uuid(uuid) => uuid.serialize(serializer),
            Self::List(list) => list.serialize(serializer),
            Self::Vector(vector) => vector.serialize(serializer),
            Self::Map(map) => map.serialize(serializer),
            Self::Set(set) => set.serialize(serializer),
            Self::Tagged(tagged) => tagged.serialize(serializer),
        }
    }
}

/// A collection, which one serializer takes in parts.
enum Collection<'a> {
    Values(Kind, &'a [Value]),
    Map(&'a Map),
    Tagged(&'a Tagged),
}

impl<'a> Collection<'a> {
    fn parts(&self) -> Parts<'a> {
        match self {
            Self::Values(kind, values) => Parts::of_values(*kind, values),
            Self::Map(map) => Parts::of_map(map),
            Self::Tagged(tagged) => Parts::of_tagged(tagged),
        }
    }
}

impl Serialize for Collection<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if Ours::takes_parts(&serializer) {
            let mut taken = serializer.serialize_struct(token::VALUE, 0)?;
            for part in self.parts() {
                match &part {
                    Part::Atom(atom) => taken.serialize_field(part.name(), *atom)?,
                    Part::Collection(_, count) => taken.serialize_field(part.name(), count)?,
                    Part::Tag(tag) => taken.serialize_field(part.name(), tag.as_str())?,
                }
            }
            return taken.end();
        }
        match self {
            Self::Values(_, values) => serializer.collect_seq(*values),
            Self::Map(map) => {
                let mut entries = serializer.serialize_map(Some(map.len()))?;
                map.iter().try_for_each(|(key, value)| entries.serialize_entry(key, value))?;
                entries.end()
            }
            Self::Tagged(tagged) => {
                let tag = tagged.tag();
                Err(S::Error::custom(format_args!("a value tagged #{tag} can only be EDN")))
            }
        }
    }
}

macro_rules! collections {
    ($($type:ty, $this:ident => $collection:expr;)*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let $this = self;
                serializer.serialize_newtype_struct(token::VALUE, &$collection)
            }
        }
    )*};
}

collections! {
    List, list => Collection::Values(Kind::List, list);
    Vector, vector => Collection::Values(Kind::Vector, vector);
    Set, set => Collection::Values(Kind::Set, set.iter().as_slice());
    Map, map => Collection::Map(map);
    Tagged, tagged => Collection::Tagged(tagged);
}

macro_rules! texts {
    ($($type:ty, $token:ident, $this:ident => $text:expr;)*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let $this = self;
                serializer.serialize_newtype_struct(token::$token, $text)
            }
        }
    )*};
}

texts! {
    Keyword, KEYWORD, keyword => keyword.as_str();
    Symbol, SYMBOL, symbol => symbol.as_str();
    Inst, INST, inst => &inst.to_string();
    Uuid, UUID, uuid => &uuid.to_string();
    Decimal, DECIMAL, decimal => &decimal.to_string();
    Ratio, RATIO, ratio => &ratio.to_string();
}

impl Serialize for Integer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(number) = self.as_i64() {
            serializer.serialize_i64(number)
        } else if let Ok(number) = u64::try_from(self) {
            serializer.serialize_u64(number)
        } else if let Ok(number) = i128::try_from(self) {
            serializer.serialize_i128(number)
        } else if let Ok(number) = u128::try_from(self) {
            serializer.serialize_u128(number)
        } else {
            serializer.serialize_newtype_struct(token::INTEGER, &self.to_string())
        }
    }
}
