//! Deserialising counts: whole numbers from zero, and nothing that merely looks like one.

use std::fmt;

use serde::Deserializer;
use serde::de::{Error, Visitor};

/// For `#[serde(default, deserialize_with = …)]` on an optional count. `null` is no count.
///
/// Serde's own message for `-1` is "expected u64", which tells nothing to most callers.
pub(crate) fn optional<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    deserializer.deserialize_any(Count)
}

struct Count;

impl Visitor<'_> for Count {
    type Value = Option<u64>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a whole number, zero or more")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Some(value))
    }

    /// `2.0` is an integer, for JSON Schema.
    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
        if value.fract() == 0.0 && (0.0..=MAX_EXACT).contains(&value) {
            return Ok(Some(value as u64));
        }
        Err(E::invalid_value(serde::de::Unexpected::Float(value), &self))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        u64::try_from(value)
            .map(Some)
            .map_err(|_| E::invalid_value(serde::de::Unexpected::Signed(value), &self))
    }
}
