//! Times as entries are serialised.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serializer;
use serde::ser::SerializeMap;

/// `2026-07-28T09:30:00.000Z` (RFC 3339).
pub(super) fn rfc3339<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&text(*time))
}

/// `ms`, with three decimals, and `duration_us`: whole microseconds.
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

/// The time that an RFC 3339 text names, from 1970 on: `2026-07-28T09:30:00Z`, with any number of
/// decimals, and an offset in place of the `Z`.
pub(super) fn parse(text: &str) -> Option<SystemTime> {
    let (date, time) = text.split_at_checked("2026-07-28".len())?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let time = time.strip_prefix(['T', 't', ' '])?;
    let (clock, rest) = time.split_at_checked("09:30:00".len())?;
    let [hour, minute, second] = numbers(clock, ':', [2, 2, 2])?;
    let (nanos, zone) = match rest.strip_prefix('.') {
        Some(rest) => decimals(rest)?,
        None => (0, rest),
    };
    // A leap second is the first of the next minute, as clocks have it.
    let is_time = hour < 24 && minute < 60 && second <= 60;
    if !is_time || !(1..=12).contains(&month) || day < 1 || day > days_of(year, month) {
        return None;
    }
    let seconds = days_before(year, month, day)? * DAY + hour * 3_600 + minute * 60 + second;
    let seconds = i64::try_from(seconds).ok()? - offset(zone)?;
    UNIX_EPOCH.checked_add(Duration::new(u64::try_from(seconds).ok()?, nanos))
}

/// Numbers of so many digits each, with a sign between them.
fn numbers(text: &str, sign: char, widths: [usize; 3]) -> Option<[u64; 3]> {
    let mut found = [0; 3];
    let mut parts = text.split(sign);
    for (number, width) in found.iter_mut().zip(widths) {
        let part = parts.next()?;
        if part.len() != width || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        *number = part.parse().ok()?;
    }
    parts.next().is_none().then_some(found)
}

/// Nanoseconds, and what follows the digits. Digits behind the ninth are dropped.
fn decimals(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let nanos = format!("{digits:0<9}");
    (!digits.is_empty()).then_some((nanos[..9].parse().ok()?, rest))
}

/// How far ahead of UTC a zone is, in seconds.
fn offset(zone: &str) -> Option<i64> {
    if zone.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let (sign, clock) = zone.split_at_checked(1)?;
    let [hours, minutes, _] = numbers(&format!("{clock}:00"), ':', [2, 2, 2])?;
    let seconds = i64::try_from(hours * 3_600 + minutes * 60).ok()?;
    match sign {
        _ if hours > 23 || minutes > 59 => None,
        "+" => Some(seconds),
        "-" => Some(-seconds),
        _ => None,
    }
}

fn days_of(year: u64, month: u64) -> u64 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 => 28 + u64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The days from the 1st of January 1970 to a date, which is no earlier.
fn days_before(year: u64, month: u64, day: u64) -> Option<u64> {
    // Years are counted from March on, as in `date`.
    let (year, month) =
        if month < 3 { (year.checked_sub(1)?, month + 9) } else { (year, month - 3) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    days.checked_sub(BEFORE_1970)
}

/// A clock that stands before 1970 has not been set.
pub(super) fn text(time: SystemTime) -> String {
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

    #[track_caller]
    fn check_read(text: &str, millis: Option<u64>) {
        let expected = millis.map(|millis| UNIX_EPOCH + Duration::from_millis(millis));
        assert_eq!(parse(text), expected, "{text}");
    }

    #[test]
    fn times_from_text() {
        check_read("1970-01-01T00:00:00Z", Some(0));
        check_read("2000-02-29T00:00:00.000Z", Some(951_782_400_000));
        check_read("2000-03-01t00:00:00z", Some(951_868_800_000));
        check_read("2026-07-28T09:30:00.123Z", Some(1_785_231_000_123));
        check_read("2026-07-28 11:30:00.1230000009+02:00", Some(1_785_231_000_123));
        check_read("2026-07-28T04:00:00-05:30", Some(1_785_231_000_000));
        check_read("2024-12-31T23:59:60Z", Some(1_735_689_600_000));
        check_read("2100-03-01T00:00:00Z", Some(4_107_542_400_000));
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
            check_read(wrong, None);
        }
    }
}
