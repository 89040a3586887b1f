//! Fast deserialization of small integers, the most frequent params.

use serde::de::Visitor;
use serde::{Deserializer, forward_to_deserialize_any};

/// An integer of at most [`MAX_DIGITS`] digits.
pub(super) struct Integer<'de> {
    text: &'de [u8],
    value: u64,
}

/// The maximum number of digits that always fit in a `u64`.
const MAX_DIGITS: usize = 19;

impl<'de> Integer<'de> {
    /// The integer, if the JSON value is a small one without a sign.
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

/// Delegates hints of other types to `serde_json`, which rejects numbers for most of them.
macro_rules! as_json {
    ($($method:ident($($argument:ident: $type:ty),*))*) => {$(
        fn $method<V: Visitor<'de>>(
            self,
            $($argument: $type,)*
            visitor: V,
        ) -> Result<V::Value, Self::Error> {
            self.json().$method($($argument,)* visitor)
        }
    )*};
}

/// Behaves like `serde_json`.
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

    as_json! {
        deserialize_bool()
        deserialize_i128()
        deserialize_u128()
        deserialize_char()
        deserialize_str()
        deserialize_string()
        deserialize_bytes()
        deserialize_byte_buf()
        deserialize_unit()
        deserialize_unit_struct(name: &'static str)
        // serde_json recognises its own types by the name of a newtype.
        deserialize_newtype_struct(name: &'static str)
        deserialize_seq()
        deserialize_tuple(len: usize)
        deserialize_tuple_struct(name: &'static str, len: usize)
        deserialize_map()
        deserialize_struct(name: &'static str, fields: &'static [&'static str])
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
        deserialize_identifier()
        deserialize_ignored_any()
    }

    forward_to_deserialize_any! { i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use serde::Deserialize;
    use serde::de::{DeserializeOwned, IgnoredAny};
    use serde_json::value::RawValue;
    use serde_json::{Number, Value};

    use super::Integer;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "compared by Debug")]
    struct Newtype(Option<u8>);

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "compared by Debug")]
    #[serde(untagged)]
    enum Untagged {
        Text(String),
        Small(i8),
        Float(f32),
    }

    #[derive(Debug, Deserialize)]
    enum Unit {
        A,
    }

    #[derive(Debug, Deserialize)]
    #[serde(field_identifier, rename_all = "lowercase")]
    enum Column {
        Id,
        Name,
    }

    /// Checks that `T` deserializes from integers as with `serde_json`, or fails with the same message.
    #[track_caller]
    fn check<T: DeserializeOwned + Debug>() {
        for text in
            ["0", "7", "255", "256", "4294967296", "9223372036854775808", "9999999999999999999"]
        {
            let integer = Integer::of(text.as_bytes()).unwrap();
            let found = T::deserialize(integer).map_err(|error| error.to_string());
            let expected = serde_json::from_str::<T>(text).map_err(|error| {
                let error = error.to_string();
                error.split(" at line ").next().unwrap_or_default().to_owned()
            });
            let found = found
                .map_err(|error| error.split(" at line ").next().unwrap_or_default().to_owned());
            assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{text}");
        }
    }

    #[test]
    fn deserializes_like_serde_json() {
        check::<u8>();
        check::<i8>();
        check::<i64>();
        check::<u64>();
        check::<i128>();
        check::<f32>();
        check::<f64>();
        check::<Option<i64>>();
        check::<Option<Option<u64>>>();
        check::<Newtype>();
        check::<Untagged>();
        check::<Unit>();
        check::<Column>();
        check::<u128>();
        check::<Value>();
        check::<Number>();
        check::<Box<RawValue>>();
        check::<IgnoredAny>();
        check::<String>();
        check::<bool>();
        check::<char>();
        check::<()>();
        check::<Vec<u8>>();
        check::<(u8,)>();
        check::<std::collections::BTreeMap<String, u8>>();
    }

    #[test]
    fn rejects_other_texts() {
        for text in ["", "-1", "1.0", "1e3", "\"1\"", "null", "18446744073709551615"] {
            assert!(Integer::of(text.as_bytes()).is_none(), "{text}");
        }
    }
}
