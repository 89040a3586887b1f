//! From Rust types to values.

use std::str::FromStr;

use serde::ser::{self, Serialize};

use super::announcement::announced;
use super::compound::{Elements, Entries, Struct, Variant};
use super::parts::Build;
use super::token;
use crate::decimal::Decimal;
use crate::error::Error;
use crate::inst::Inst;
use crate::integer::Integer;
use crate::keyword::Keyword;
use crate::ratio::Ratio;
use crate::symbol::Symbol;
use crate::uuid::Uuid;
use crate::value::Value;

/// Makes a value of what is serialized.
pub(super) struct Serializer {
    role: Role,
}

enum Role {
    Value,
    /// What is made is the key of a map: strings become keywords.
    Key,
    /// A [`Value`] hands its parts over.
    Parts,
}

impl Serializer {
    pub(super) fn new() -> Self {
        Self::of(Role::Value)
    }

    pub(super) fn of_key() -> Self {
        Self::of(Role::Key)
    }

    fn of(role: Role) -> Self {
        Self { role }
    }
}

/// What a name becomes.
pub(super) fn named(name: &str) -> Value {
    Keyword::plain(name).map_or_else(|| name.into(), Value::Keyword)
}

/// A value of a type of ours, which has said its text.
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
    type SerializeTupleVariant = Variant<Elements>;
    type SerializeMap = Entries;
    type SerializeStruct = Struct;
    type SerializeStructVariant = Variant<Entries>;

    numbers! {
        serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64) serialize_i128(i128)
        serialize_u8(u8) serialize_u16(u16) serialize_u32(u32) serialize_u64(u64) serialize_u128(u128)
        serialize_f64(f64) serialize_bool(bool) serialize_char(char)
    }

    /// By its shortest text: `0.1`, not what is nearest to that in 32 bits.
    fn serialize_f32(self, number: f32) -> Result<Value, Error> {
        let text = zmij::Buffer::new().format(number).to_owned();
        Ok(Value::Float(text.parse().unwrap_or_else(|_| number.into())))
    }

    fn serialize_str(self, text: &str) -> Result<Value, Error> {
        Ok(match self.role {
            Role::Key => named(text),
            Role::Value | Role::Parts => text.into(),
        })
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
        Ok(named(variant))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<Value, Error> {
        match name {
            token::VALUE => announced(value, Self::of(Role::Parts)),
            token::KEY => announced(value, self),
            token::STRING => value.serialize(Self::new()),
            token::KEYWORD => parsed::<Keyword>(value),
            token::SYMBOL => parsed::<Symbol>(value),
            token::INST => parsed::<Inst>(value),
            token::UUID => parsed::<Uuid>(value),
            token::INTEGER => parsed::<Integer>(value),
            token::DECIMAL => parsed::<Decimal>(value),
            // It was made before: no document can make it long.
            token::RATIO => parsed_by(|text| Ratio::parse(text, usize::MAX), value),
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
        let variant = Variant { name: variant, body: value.serialize(Self::new()) };
        variant.finish()
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Elements, Error> {
        Ok(Elements::with_capacity(length))
    }

    fn serialize_tuple(self, length: usize) -> Result<Elements, Error> {
        Ok(Elements::with_capacity(Some(length)))
    }

    fn serialize_tuple_struct(self, _name: &'static str, length: usize) -> Result<Elements, Error> {
        Ok(Elements::with_capacity(Some(length)))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Variant<Elements>, Error> {
        Ok(Variant { name: variant, body: Elements::with_capacity(Some(length)) })
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Entries, Error> {
        Ok(Entries::with_capacity(length))
    }

    fn serialize_struct(self, _name: &'static str, length: usize) -> Result<Struct, Error> {
        Ok(match self.role {
            Role::Parts => Struct::Parts(Build::default()),
            Role::Value | Role::Key => Struct::Fields(Entries::with_capacity(Some(length))),
        })
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Variant<Entries>, Error> {
        Ok(Variant { name: variant, body: Entries::with_capacity(Some(length)) })
    }
}
