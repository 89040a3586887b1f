//! Sizes and periods with units.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error, Unexpected, Visitor};

/// A number of bytes: an integer, or text such as `1MiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size(pub(super) u64);

/// A period of time: text such as `5s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Period(pub(super) Duration);

const SIZES: [(&str, u64); 4] = [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];

/// In milliseconds.
const PERIODS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1_000), ("min", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

impl JsonSchema for Size {
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["integer", "string"], "minimum": 0, "pattern": "^[0-9]+ *(B|KiB|MiB|GiB)$"})
    }
}

impl JsonSchema for Period {
    fn schema_name() -> Cow<'static, str> {
        "Period".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": "^[0-9]+ *(ms|s|min|h|d)$"})
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SizeVisitor)
    }
}

struct SizeVisitor;

impl Visitor<'_> for SizeVisitor {
    type Value = Size;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of bytes, or a size such as \"64KiB\", \"1MiB\" or \"1GiB\"")
    }

    fn visit_i64<E: Error>(self, bytes: i64) -> Result<Size, E> {
        let invalid = |_| E::invalid_value(Unexpected::Signed(bytes), &self);
        u64::try_from(bytes).map(Size).map_err(invalid)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Size, E> {
        let invalid = || E::invalid_value(Unexpected::Str(text), &self);
        quantity(text, &SIZES).map(Size).ok_or_else(invalid)
    }
}

impl<'de> Deserialize<'de> for Period {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PeriodVisitor)
    }
}

struct PeriodVisitor;

impl Visitor<'_> for PeriodVisitor {
    type Value = Period;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time such as \"500ms\", \"30s\", \"5min\", \"1h\" or \"7d\"")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Period, E> {
        let invalid = || E::invalid_value(Unexpected::Str(text), &self);
        let period = quantity(text, &PERIODS).map(Duration::from_millis);
        period.map(Period).ok_or_else(invalid)
    }
}

/// A number with a unit, as a number of the smallest unit.
fn quantity(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let end = text.find(|character: char| !character.is_ascii_digit())?;
    let (number, unit) = text.split_at(end);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

/// A number of bytes with the largest unit that it is a multiple of. `None` if that is one byte.
pub(super) fn size_text(bytes: u64) -> Option<String> {
    with_unit(bytes, &SIZES[1..])
}

/// A number of milliseconds with the largest unit that it is a multiple of.
pub(super) fn period_text(milliseconds: u64) -> String {
    with_unit(milliseconds, &PERIODS).unwrap_or_else(|| format!("{milliseconds}ms"))
}

fn with_unit(number: u64, units: &[(&str, u64)]) -> Option<String> {
    let fits = |(_, factor): &&(&str, u64)| number != 0 && number.is_multiple_of(*factor);
    let (name, factor) = units.iter().rev().find(fits)?;
    Some(format!("{}{name}", number / factor))
}
