//! Small integers, the most frequent params: read without a parser.

use serde::de::Visitor;
use serde::{Deserializer, forward_to_deserialize_any};

/// An integer of at most [`MAX_DIGITS`] digits.
pub(super) struct Integer<'de> {
    text: &'de [u8],
    value: u64,
}

/// The number of digits that always fit in a `u64`.
const MAX_DIGITS: usize = 19;

impl<'de> Integer<'de> {
    /// The integer that a JSON value is, if it is a small one without a sign.
    #[inline]
    pub(super) fn of(text: &'de [u8]) -> Option<Self> {
        if text.is_empty() || text.len() > MAX_DIGITS {
            return None;
        }
        let mut value = 0;
        for byte in text {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            value = value * 10 + u64::from(digit);
        }
        Some(Self { text, value })
    }

    fn json(&self) -> serde_json::Deserializer<serde_json::de::SliceRead<'de>> {
        serde_json::Deserializer::from_slice(self.text)
    }
}

/// As `serde_json` deserialises it.
impl<'de> Deserializer<'de> for Integer<'de> {
    type Error = serde_json::Error;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_u64(self.value)
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_some(self)
    }

    /// `serde_json` reads its own types by the name of a newtype.
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.json().deserialize_newtype_struct(name, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.json().deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
