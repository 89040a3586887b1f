//! How what values are made of is deserialized: of its text, or of a number that looks like it.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{self, Deserialize, Deserializer, Unexpected, Visitor};

use super::token;
use crate::decimal::Decimal;
use crate::error::{Error, Reason};
use crate::inst::Inst;
use crate::integer::Integer;
use crate::keyword::Keyword;
use crate::ratio::Ratio;
use crate::symbol::Symbol;
use crate::uuid::Uuid;

macro_rules! atoms {
    ($($type:ty, $token:ident, $of:ident, $expected:literal;)*) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let visitor = $of($expected, PhantomData);
                deserializer.deserialize_newtype_struct(token::$token, visitor)
            }
        }
    )*};
}

atoms! {
    Keyword, KEYWORD, Text, "a keyword";
    Symbol, SYMBOL, Text, "a symbol";
    Inst, INST, Text, "an inst";
    Uuid, UUID, Text, "a UUID";
    Integer, INTEGER, Number, "an integer";
    Decimal, DECIMAL, Number, "a decimal";
    Ratio, RATIO, Number, "a ratio";
}

/// What is made of a text.
struct Text<T>(&'static str, PhantomData<T>);

impl<'de, T: FromStr<Err = Error>> Visitor<'de> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    /// Not of this crate's deserializer.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, other: D) -> Result<T, D::Error> {
        other.deserialize_str(self)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(|error: Error| E::custom(error.reason()))
    }
}

/// What is made of a number or of its text.
struct Number<T>(&'static str, PhantomData<T>);

impl<T: OfNumber> Number<T> {
    fn of<E: de::Error>(&self, text: &str, found: Unexpected<'_>) -> Result<T, E> {
        text.parse().map_err(|error: Error| match error.reason() {
            Reason::Number { .. } => E::invalid_value(found, &self.0),
            reason => E::custom(reason),
        })
    }
}

impl<'de, T: OfNumber> Visitor<'de> for Number<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    /// Not of this crate's deserializer.
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
        T::of_f64(number).ok_or_else(|| E::invalid_value(Unexpected::Float(number), &self.0))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        self.of(text, Unexpected::Str(text))
    }
}

/// What a number can be made into.
trait OfNumber: FromStr<Err = Error> {
    fn of_f64(number: f64) -> Option<Self>;
}

impl OfNumber for Integer {
    fn of_f64(_number: f64) -> Option<Self> {
        None
    }
}

impl OfNumber for Decimal {
    fn of_f64(number: f64) -> Option<Self> {
        Self::of_f64(number)
    }
}

impl OfNumber for Ratio {
    fn of_f64(number: f64) -> Option<Self> {
        Self::of_f64(number)
    }
}
