//! The text form of times in entries.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use jiff::civil::{DateTime, Time};
use serde::Serializer;
use serde::ser::SerializeMap;

/// Serialises a time as RFC 3339 text: `2026-07-28T09:30:00.000Z`.
pub(super) fn rfc3339<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&text(*time))
}

/// Serialises a duration as `ms` (three decimals) and `duration_us` (whole microseconds).
pub(super) fn millis_and_micros<S: Serializer>(
    time: &Duration,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let mut map = serializer.serialize_map(Some(2))?;
    map.serialize_entry("ms", &millis(micros))?;
    map.serialize_entry("duration_us", &micros)?;
    map.end()
}

/// Microseconds as milliseconds.
pub(super) fn millis(micros: u64) -> f64 {
    micros as f64 / 1_000.0
}

/// Parses an RFC 3339 time from 1970 on: `2026-07-28T09:30:00Z`, with any number of decimals, and an offset
/// in place of the `Z`.
pub(super) fn parse(text: &str) -> Option<SystemTime> {
    let (clock, rest) = text.split_at_checked("2026-07-28T09:30:00".len())?;
    let end = match rest.strip_prefix('.') {
        Some(rest) => 1 + rest.bytes().take_while(u8::is_ascii_digit).count(),
        None => 0,
    };
    let (fraction, zone) = rest.split_at(end);
    // jiff also accepts shorter forms.
    let is_utc = matches!(zone, "Z" | "z");
    let has_shapes =
        has_shape(clock, "0000-00-00T00:00:00") && (is_utc || has_shape(zone, "+00:00"));
    if fraction == "." || !has_shapes {
        return None;
    }
    let time: DateTime = clock.parse().ok()?;
    let offset: Time = if is_utc { Time::midnight() } else { zone[1..].parse().ok()? };
    let offset = offset.duration_since(Time::midnight()).as_secs();
    let offset = if zone.starts_with('-') { -offset } else { offset };
    // jiff parses a leap second as the preceding second, and at most nine decimals. Its timestamps end a day before
    // the year 10000.
    let leap = i64::from(clock.ends_with(":60"));
    let seconds = time.duration_since(EPOCH).as_secs() + leap - offset;
    let nanos = format!("{fraction:0<10.10}")[1..].parse().ok()?;
    UNIX_EPOCH.checked_add(Duration::new(u64::try_from(seconds).ok()?, nanos))
}

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// Whether a text has digits and separators at the positions of the pattern.
fn has_shape(text: &str, pattern: &str) -> bool {
    let matches = |(found, expected): (u8, u8)| match expected {
        b'0' => found.is_ascii_digit(),
        b'T' => matches!(found, b'T' | b't' | b' '),
        b'+' => matches!(found, b'+' | b'-'),
        _ => found == expected,
    };
    text.len() == pattern.len() && text.bytes().zip(pattern.bytes()).all(matches)
}

/// Formats a time. A time before 1970 is formatted as 1970, since the clock has not been set.
pub(super) fn text(time: SystemTime) -> String {
    let time = Timestamp::try_from(time.max(UNIX_EPOCH)).unwrap_or(Timestamp::MAX);
    format!("{time:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(millis: u64, expected: &str) {
        assert_eq!(text(UNIX_EPOCH + Duration::from_millis(millis)), expected);
    }

    #[test]
    fn formats_times() {
        check(0, "1970-01-01T00:00:00.000Z");
        check(951_782_399_999, "2000-02-28T23:59:59.999Z");
        check(951_782_400_000, "2000-02-29T00:00:00.000Z");
        check(951_868_800_000, "2000-03-01T00:00:00.000Z");
        check(1_709_164_800_000, "2024-02-29T00:00:00.000Z");
        check(1_735_689_599_000, "2024-12-31T23:59:59.000Z");
        check(1_785_231_000_123, "2026-07-28T09:30:00.123Z");
        check(4_107_542_400_000, "2100-03-01T00:00:00.000Z");
        check(4_107_456_000_000, "2100-02-28T00:00:00.000Z");
    }

    #[track_caller]
    fn check_parsed(text: &str, millis: Option<u64>) {
        let expected = millis.map(|millis| UNIX_EPOCH + Duration::from_millis(millis));
        assert_eq!(parse(text), expected, "{text}");
    }

    #[test]
    fn parses_times() {
        check_parsed("1970-01-01T00:00:00Z", Some(0));
        check_parsed("2000-02-29T00:00:00.000Z", Some(951_782_400_000));
        check_parsed("2000-03-01t00:00:00z", Some(951_868_800_000));
        check_parsed("2026-07-28T09:30:00.123Z", Some(1_785_231_000_123));
        check_parsed("2026-07-28 11:30:00.1230000009+02:00", Some(1_785_231_000_123));
        check_parsed("2026-07-28T04:00:00-05:30", Some(1_785_231_000_000));
        check_parsed("2024-12-31T23:59:60Z", Some(1_735_689_600_000));
        check_parsed("2100-03-01T00:00:00Z", Some(4_107_542_400_000));
        for wrong in [
            "",
            "now",
            "2026-07-28",
            "2026-07-28T09:30:00",
            "2026-07-28T09:30Z",
            "2026-7-28T09:30:00Z",
            "2026-02-29T09:30:00Z",
            "2026-13-01T09:30:00Z",
            "2026-00-01T09:30:00Z",
            "2026-07-28T24:00:00Z",
            "2026-07-28T09:30:00.Z",
            "2026-07-28T09:30:00+2:00",
            "2026-07-28T09:30:00+24:00",
            "2026-07-28T09:30:00Z ",
            "1969-12-31T23:59:59Z",
            "1970-01-01T00:00:00+00:01",
            "+026-07-28T09:30:00Z",
            "2026-07-28T09:30:00ä",
        ] {
            check_parsed(wrong, None);
        }
    }
}
