//! The field names of a struct, obtained from its derived `Deserialize`.

use std::fmt;

use serde::de::{Deserialize, Visitor};
use serde::forward_to_deserialize_any;

/// The field names of `T`. Empty if `T` is not a struct.
#[must_use]
pub fn fields<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    match T::deserialize(Probe) {
        Err(Answer::Fields(fields)) => fields,
        _ => &[],
    }
}

/// A deserializer without data that returns the requested fields as an error.
struct Probe;

#[derive(Debug)]
enum Answer {
    Fields(&'static [&'static str]),
    Other,
}

impl<'de> serde::Deserializer<'de> for Probe {
    type Error = Answer;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Answer> {
        Err(Answer::Fields(fields))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Answer> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Answer> {
        visitor.visit_some(self)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Answer> {
        Err(Answer::Other)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the probe has no data")
    }
}

impl std::error::Error for Answer {}

impl serde::de::Error for Answer {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::Other
    }
}
