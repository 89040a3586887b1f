//! How values, and what they are made of, are serialized: to this crate's serializer as what they are,
//! to others as what they look like.

use std::collections::HashSet;
use std::mem::discriminant;

use serde::ser::{Error as _, Serialize, SerializeStruct as _, Serializer};

use super::parts::{Kind, Part, Parts};
use super::{DEPTH, announcement, token};
use crate::decimal::Decimal;
use crate::error::{Reason, shown};
use crate::inst::Inst;
use crate::integer::Integer;
use crate::json;
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
        Nested { value: self, depth: DEPTH }.serialize(serializer)
    }
}

/// A value in others.
struct Nested<'a> {
    value: &'a Value,
    /// How many collections may still begin, where they are not taken in parts.
    depth: usize,
}

impl Serialize for Nested<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let of = match self.value {
            Value::Nil => return serializer.serialize_unit(),
            Value::Bool(bool) => return serializer.serialize_bool(*bool),
            Value::Integer(integer) => return integer.serialize(serializer),
            Value::Float(float) => return serializer.serialize_f64(*float),
            Value::Decimal(decimal) => return decimal.serialize(serializer),
            Value::Ratio(ratio) => return ratio.serialize(serializer),
            Value::Char(c) => return serializer.serialize_char(*c),
            Value::String(text) => return serializer.serialize_newtype_struct(token::STRING, text),
            Value::Symbol(symbol) => return symbol.serialize(serializer),
            Value::Keyword(keyword) => return keyword.serialize(serializer),
            Value::Inst(inst) => return inst.serialize(serializer),
            Value::Uuid(uuid) => return uuid.serialize(serializer),
            Value::List(list) => Of::Values(Kind::List, list),
            Value::Vector(vector) => Of::Values(Kind::Vector, vector),
            Value::Set(set) => Of::Values(Kind::Set, set.iter().as_slice()),
            Value::Map(map) => Of::Map(map),
            Value::Tagged(tagged) => Of::Tagged(tagged),
        };
        let collection = Collection { of, depth: self.depth };
        serializer.serialize_newtype_struct(token::VALUE, &collection)
    }
}

/// A collection, which one serializer takes in parts.
struct Collection<'a> {
    of: Of<'a>,
    depth: usize,
}

enum Of<'a> {
    Values(Kind, &'a [Value]),
    Map(&'a Map),
    Tagged(&'a Tagged),
}

impl<'a> Of<'a> {
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
        if announcement::take() {
            let mut taken = serializer.serialize_struct(token::VALUE, 0)?;
            for part in self.of.parts() {
                match &part {
                    Part::Atom(atom) => taken.serialize_field(part.name(), *atom)?,
                    Part::Collection(_, count) => taken.serialize_field(part.name(), count)?,
                    Part::Tag(tag) => taken.serialize_field(part.name(), tag.as_str())?,
                }
            }
            return taken.end();
        }
        let too_deep = || S::Error::custom(Reason::TooDeep { limit: DEPTH });
        let depth = self.depth.checked_sub(1).ok_or_else(too_deep)?;
        let nested = |value| Nested { value, depth };
        match self.of {
            Of::Values(_, values) => serializer.collect_seq(values.iter().map(nested)),
            Of::Map(map) => {
                let refused = check_keys(map).err();
                let key = |key| Key { key: nested(key), refused: refused.as_deref() };
                serializer.collect_map(map.iter().map(|(of, value)| (key(of), nested(value))))
            }
            Of::Tagged(tagged) => {
                let tag = tagged.tag();
                Err(S::Error::custom(format_args!("a value tagged #{tag} can only be EDN")))
            }
        }
    }
}

/// A key of a map.
struct Key<'a> {
    key: Nested<'a>,
    /// Why other formats cannot have the map.
    refused: Option<&'a str>,
}

impl Serialize for Key<'_> {
    /// Only here it shows whose map it is: where serde flattens it, the map's serializer is serde's.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.refused {
            None => self.key.serialize(serializer),
            Some(why) => {
                let refusable = Refusable { key: &self.key, why };
                serializer.serialize_newtype_struct(token::KEY, &refusable)
            }
        }
    }
}

/// A key that only EDN can have.
struct Refusable<'a> {
    key: &'a Nested<'a>,
    why: &'a str,
}

impl Serialize for Refusable<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if announcement::take() {
            self.key.serialize(serializer)
        } else {
            Err(S::Error::custom(self.why))
        }
    }
}

/// Whether a map is still one where keys are known by their texts, and no float is a key.
fn check_keys(map: &Map) -> Result<(), String> {
    let Some(first) = map.keys().next() else { return Ok(()) };
    if map.keys().any(|key| matches!(key, Value::Float(_))) {
        return Err("a float is a key in EDN only".to_owned());
    }
    // Of one sort, distinct values have distinct texts.
    if map.keys().all(|key| discriminant(key) == discriminant(first)) {
        return Ok(());
    }
    let mut texts = HashSet::with_capacity(map.len());
    // What has no text is for the format to take or to refuse.
    for text in map.keys().filter_map(key_text) {
        if texts.contains(&text) {
            return Err(format!("two keys have the text {:?}", &*shown(&text)));
        }
        texts.insert(text);
    }
    Ok(())
}

fn key_text(key: &Value) -> Option<String> {
    match key {
        Value::Decimal(decimal) => Some(decimal.to_string()),
        Value::Ratio(ratio) => Some(ratio.to_string()),
        key => json::key_text(key).ok(),
    }
}

macro_rules! collections {
    ($($type:ty, $this:ident => $of:expr;)*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let $this = self;
                let collection = Collection { of: $of, depth: DEPTH };
                serializer.serialize_newtype_struct(token::VALUE, &collection)
            }
        }
    )*};
}

collections! {
    List, list => Of::Values(Kind::List, list);
    Vector, vector => Of::Values(Kind::Vector, vector);
    Set, set => Of::Values(Kind::Set, set.iter().as_slice());
    Map, map => Of::Map(map);
    Tagged, tagged => Of::Tagged(tagged);
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
