//! Serialization of values: to this crate's serializer with their exact types, to other formats as strings, numbers,
//! sequences and maps.

use std::borrow::Cow;
use std::collections::HashSet;
use std::mem::discriminant;

use serde::ser::{Error as _, Serialize, Serializer};

use super::error::{MAX_DEPTH, deeper};
use super::handoff;
use crate::error::quoted;
use crate::value::{
    Decimal, Inst, Integer, Keyword, List, Map, Ratio, Set, Symbol, Tagged, Uuid, Value, Vector,
};

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Nested { value: self, depth: MAX_DEPTH }.serialize(serializer)
    }
}

/// A value in collections.
struct Nested<'a> {
    value: &'a Value,
    /// The remaining depth of collections in another format.
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
            Value::String(text) => {
                return serializer.serialize_newtype_struct(handoff::STRING, text);
            }
            Value::Symbol(symbol) => return symbol.serialize(serializer),
            Value::Keyword(keyword) => return keyword.serialize(serializer),
            Value::Inst(inst) => return inst.serialize(serializer),
            Value::Uuid(uuid) => return uuid.serialize(serializer),
            Value::List(list) => Of::List(list),
            Value::Vector(vector) => Of::Vector(vector),
            Value::Set(set) => Of::Set(set),
            Value::Map(map) => Of::Map(map),
            Value::Tagged(tagged) => Of::Tagged(tagged),
        };
        let collection = Collection { of, depth: self.depth };
        serializer.serialize_newtype_struct(handoff::VALUE, &collection)
    }
}

/// A collection, which is passed to this crate's serializer as a whole.
struct Collection<'a> {
    of: Of<'a>,
    depth: usize,
}

enum Of<'a> {
    List(&'a List),
    Vector(&'a Vector),
    Set(&'a Set),
    Map(&'a Map),
    Tagged(&'a Tagged),
}

impl Of<'_> {
    fn to_value(&self) -> Value {
        match *self {
            Self::List(list) => list.clone().into(),
            Self::Vector(vector) => vector.clone().into(),
            Self::Set(set) => set.clone().into(),
            Self::Map(map) => map.clone().into(),
            Self::Tagged(tagged) => tagged.clone().into(),
        }
    }
}

impl Serialize for Collection<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if handoff::take_request() {
            handoff::answer(self.of.to_value());
            return serializer.serialize_unit();
        }
        let depth = deeper(self.depth).map_err(S::Error::custom)?;
        let nested = |value| Nested { value, depth };
        match self.of {
            Of::List(list) => serializer.collect_seq(list.iter().map(nested)),
            Of::Vector(vector) => serializer.collect_seq(vector.iter().map(nested)),
            Of::Set(set) => serializer.collect_seq(set.iter().map(nested)),
            Of::Map(map) => {
                let rejected = check_keys(map).err();
                let key = |key| Key { key: nested(key), rejected: rejected.as_deref() };
                serializer.collect_map(map.iter().map(|(of, value)| (key(of), nested(value))))
            }
            Of::Tagged(tagged) => {
                let tag = tagged.tag();
                Err(S::Error::custom(format_args!(
                    "a value tagged #{tag} can only be serialized as EDN"
                )))
            }
        }
    }
}

/// A key of a map.
struct Key<'a> {
    key: Nested<'a>,
    /// The reason for which other formats reject the map.
    rejected: Option<&'a str>,
}

impl Serialize for Key<'_> {
    /// The serializer of the key is known here only: where serde flattens a map, the map's serializer is serde's.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.rejected {
            None => self.key.serialize(serializer),
            Some(why) => {
                let edn_key = EdnKey { key: &self.key, why };
                serializer.serialize_newtype_struct(handoff::KEY, &edn_key)
            }
        }
    }
}

/// A key that is valid in EDN only.
struct EdnKey<'a> {
    key: &'a Nested<'a>,
    why: &'a str,
}

impl Serialize for EdnKey<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if handoff::take_request() {
            self.key.serialize(serializer)
        } else {
            Err(S::Error::custom(self.why))
        }
    }
}

/// Checks that keys have distinct texts, and are not floats.
fn check_keys(map: &Map) -> Result<(), String> {
    let Some(first) = map.keys().next() else { return Ok(()) };
    if map.keys().any(|key| matches!(key, Value::Float(_))) {
        return Err("a float can be a key only in EDN".to_owned());
    }
    // Distinct values of one type have distinct texts.
    if map.keys().all(|key| discriminant(key) == discriminant(first)) {
        return Ok(());
    }
    let mut texts = HashSet::with_capacity(map.len());
    // The format decides on keys without text.
    for text in map.keys().filter_map(key_text) {
        if texts.contains(&text) {
            return Err(format!("two keys have the text {:?}", &*quoted(&text)));
        }
        texts.insert(text);
    }
    Ok(())
}

fn key_text(key: &Value) -> Option<String> {
    match key {
        Value::Decimal(decimal) => Some(decimal.to_string()),
        Value::Ratio(ratio) => Some(ratio.to_string()),
        key => key.key_text().map(Cow::into_owned),
    }
}

macro_rules! collections {
    ($($type:ty, $this:ident => $of:expr;)*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let $this = self;
                let collection = Collection { of: $of, depth: MAX_DEPTH };
                serializer.serialize_newtype_struct(handoff::VALUE, &collection)
            }
        }
    )*};
}

collections! {
    List, list => Of::List(list);
    Vector, vector => Of::Vector(vector);
    Set, set => Of::Set(set);
    Map, map => Of::Map(map);
    Tagged, tagged => Of::Tagged(tagged);
}

macro_rules! texts {
    ($($type:ty, $token:ident, $this:ident => $text:expr;)*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let $this = self;
                serializer.serialize_newtype_struct(handoff::$token, $text)
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
            serializer.serialize_newtype_struct(handoff::INTEGER, &self.to_string())
        }
    }
}
