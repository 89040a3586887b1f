//! Sizes and periods with units, in the file, in flags and in variables.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Bound, RangeBounds};
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error, Unexpected, Visitor};

/// A number of bytes: an integer, or text such as `1MiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size(pub(super) u64);

/// A period of time: an integer in milliseconds, or text such as `5s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Period(pub(super) Duration);

/// A unit, and the number of bytes or milliseconds that it is.
type Unit = (&'static str, u64);

/// The units of values that are printed.
const SIZES: [Unit; 4] = [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];

/// Other units that are read. A single letter is not one: it is decimal in Kubernetes, and binary in Docker and nginx.
const OTHER_SIZES: [Unit; 6] = [
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
];

/// In milliseconds.
const PERIODS: [Unit; 5] =
    [("ms", 1), ("s", 1_000), ("min", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// Another unit that is read: that of minutes in Go, Prometheus and Docker.
const OTHER_PERIODS: [Unit; 1] = [("m", 60_000)];

const SIZE_FORMS: &str = "a number of bytes, or a size such as \"64KiB\", \"10MB\" or \"1GiB\"";
const PERIOD_FORMS: &str =
    "a number of milliseconds, or a time such as \"500ms\", \"30s\", \"5min\", \"1h\" or \"7d\"";

/// Parses a number of bytes, with or without a unit. The case of units does not matter.
pub(super) fn parse_size(text: &str) -> Option<u64> {
    let (number, unit) = split(text.trim())?;
    let units = SIZES.iter().chain(&OTHER_SIZES);
    let factor = match unit {
        "" => 1,
        unit => units.copied().find(|(name, _)| name.eq_ignore_ascii_case(unit))?.1,
    };
    number.checked_mul(factor)
}

/// Parses a period in milliseconds: a number, or numbers with units, such as `1min30s`.
pub(super) fn parse_period(text: &str) -> Option<u64> {
    let (mut total, mut rest) = (0_u64, text.trim());
    if rest.bytes().all(|byte| byte.is_ascii_digit()) {
        return rest.parse().ok();
    }
    while !rest.is_empty() {
        let (number, after) = split(rest)?;
        let end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let mut units = PERIODS.iter().chain(&OTHER_PERIODS);
        let (_, factor) = units.find(|(name, _)| *name == unit)?;
        total = total.checked_add(number.checked_mul(*factor)?)?;
        rest = after.trim_start();
    }
    Some(total)
}

/// A number, and the text after it and its blanks.
fn split(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    Some((number.parse().ok()?, unit.trim_start()))
}

/// A parser of flags with a number of bytes in a range.
pub(crate) fn bytes<T: TryFrom<u64>>(
    range: impl RangeBounds<u64> + Clone + Send + Sync + 'static,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| in_range(parse_size(text), SIZE_FORMS, &range)
}

/// A parser of flags with a number of milliseconds in a range.
pub(crate) fn milliseconds(
    range: impl RangeBounds<u64> + Clone + Send + Sync + 'static,
) -> impl Fn(&str) -> Result<u64, String> + Clone + Send + Sync + 'static {
    move |text| in_range(parse_period(text), PERIOD_FORMS, &range)
}

fn in_range<T: TryFrom<u64>>(
    number: Option<u64>,
    forms: &str,
    range: &impl RangeBounds<u64>,
) -> Result<T, String> {
    let number = number.ok_or_else(|| format!("expected {forms}"))?;
    let converted = T::try_from(number).ok().filter(|_| range.contains(&number));
    converted.ok_or_else(|| {
        let bound = |bound: Bound<&u64>| match bound {
            Bound::Included(limit) | Bound::Excluded(limit) => limit.to_string(),
            Bound::Unbounded => String::new(),
        };
        let last = bound(range.end_bound());
        let operator = if last.is_empty() { ".." } else { "..=" };
        format!("{number} is not in {}{operator}{last}", bound(range.start_bound()))
    })
}

impl JsonSchema for Size {
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let pattern = "^ *[0-9]+ *(([kKmMgG][iI]?)?[bB]|[kKmMgG][iI])? *$";
        json_schema!({"type": ["integer", "string"], "minimum": 0, "pattern": pattern})
    }
}

impl JsonSchema for Period {
    fn schema_name() -> Cow<'static, str> {
        "Period".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let pattern = "^ *([0-9]+|([0-9]+ *(ms|s|m|min|h|d) *)+) *$";
        json_schema!({"type": ["integer", "string"], "minimum": 0, "pattern": pattern})
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let visitor = QuantityVisitor { forms: SIZE_FORMS, parse: parse_size };
        deserializer.deserialize_any(visitor).map(Self)
    }
}

impl<'de> Deserialize<'de> for Period {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let visitor = QuantityVisitor { forms: PERIOD_FORMS, parse: parse_period };
        deserializer.deserialize_any(visitor).map(Duration::from_millis).map(Self)
    }
}

/// Reads a number of the smallest unit, or a text.
struct QuantityVisitor {
    forms: &'static str,
    parse: fn(&str) -> Option<u64>,
}

impl Visitor<'_> for QuantityVisitor {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.forms)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
        u64::try_from(number).map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
        (self.parse)(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

/// A number of bytes with the largest unit that it is a multiple of. `None` if that is one byte.
pub(super) fn size_text(bytes: u64) -> Option<String> {
    with_unit(bytes, &SIZES[1..])
}

/// A number of milliseconds with the largest unit that it is a multiple of.
pub(super) fn period_text(milliseconds: u64) -> String {
    with_unit(milliseconds, &PERIODS).unwrap_or_else(|| format!("{milliseconds}ms"))
}

fn with_unit(number: u64, units: &[Unit]) -> Option<String> {
    let fits = |(_, factor): &&Unit| number != 0 && number.is_multiple_of(*factor);
    let (name, factor) = units.iter().rev().find(fits)?;
    Some(format!("{}{name}", number / factor))
}

#[cfg(test)]
mod tests {
    use super::{parse_period, parse_size};

    #[track_caller]
    fn check(parse: fn(&str) -> Option<u64>, text: &str, expected: Option<u64>) {
        assert_eq!(parse(text), expected, "{text:?}");
    }

    #[test]
    fn sizes() {
        for (text, expected) in [
            ("0", Some(0)),
            ("67108864", Some(64 << 20)),
            ("64MiB", Some(64 << 20)),
            ("64Mi", Some(64 << 20)),
            ("64 MiB", Some(64 << 20)),
            ("64mib", Some(64 << 20)),
            (" 64KiB ", Some(64 << 10)),
            ("10MB", Some(10_000_000)),
            ("10kB", Some(10_000)),
            ("10KB", Some(10_000)),
            ("1GB", Some(1_000_000_000)),
            ("1GiB", Some(1 << 30)),
            ("12B", Some(12)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("18446744073709551615KiB", None),
            // Ambiguous: decimal in Kubernetes, binary in Docker.
            ("64M", None),
            ("64m", None),
            ("1.5GiB", None),
            ("-1", None),
            ("+1", None),
            ("MiB", None),
            ("1MiB2", None),
            ("1 2", None),
            ("5s", None),
            ("", None),
        ] {
            check(parse_size, text, expected);
        }
    }

    #[test]
    fn periods() {
        for (text, expected) in [
            ("5000", Some(5_000)),
            ("500ms", Some(500)),
            ("30s", Some(30_000)),
            ("30 s", Some(30_000)),
            ("5m", Some(300_000)),
            ("5min", Some(300_000)),
            ("1h", Some(3_600_000)),
            ("7d", Some(604_800_000)),
            ("1m30s", Some(90_000)),
            ("1h 30min", Some(5_400_000)),
            ("0", Some(0)),
            ("5M", None),
            ("1.5s", None),
            ("-5s", None),
            ("s", None),
            ("5s5", None),
            ("5 s s", None),
            ("5MiB", None),
            ("18446744073709551615d", None),
            ("", None),
        ] {
            check(parse_period, text, expected);
        }
    }
}
