//! Times as entries are serialised.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serializer;

/// `2026-07-28T09:30:00.000Z` (RFC 3339).
pub(super) fn rfc3339<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&text(*time))
}

/// Whole microseconds.
pub(super) fn micros<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
}

/// A clock that stands before 1970 has not been set.
fn text(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, seconds) = (since.as_secs() / DAY, since.as_secs() % DAY);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let millis = since.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

const DAY: u64 = 86_400;
const DAYS_OF_4_YEARS: u64 = 4 * 365 + 1;
const DAYS_OF_100_YEARS: u64 = 25 * DAYS_OF_4_YEARS - 1;
const DAYS_OF_400_YEARS: u64 = 4 * DAYS_OF_100_YEARS + 1;
/// From the 1st of March of the year 0 to the 1st of January 1970.
const BEFORE_1970: u64 = 719_468;

/// The date so many days after the 1st of January 1970, in the Gregorian calendar.
///
/// Years are counted from March on, so that the day that not all years have is their last.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + BEFORE_1970;
    let (cycles, days) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    // The last day of a cycle belongs to its fourth century, and that of four years to the fourth.
    let centuries = (days / DAYS_OF_100_YEARS).min(3);
    let days = days - centuries * DAYS_OF_100_YEARS;
    let (fours, days) = (days / DAYS_OF_4_YEARS, days % DAYS_OF_4_YEARS);
    let years = (days / 365).min(3);
    let day_of_year = days - years * 365;
    // Five months from March on have 153 days, and so do the next five.
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let year = 400 * cycles + 100 * centuries + 4 * fours + years;
    if month < 10 { (year, month + 3, day) } else { (year + 1, month - 9, day) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(millis: u64, expected: &str) {
        assert_eq!(text(UNIX_EPOCH + Duration::from_millis(millis)), expected);
    }

    #[test]
    fn times_as_text() {
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
}
