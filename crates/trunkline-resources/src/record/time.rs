use jiff::Timestamp;

/// RFC 3339, in UTC, with milliseconds.
pub(crate) fn rfc3339(milliseconds: i64) -> String {
    let last = if milliseconds < 0 { Timestamp::MIN } else { Timestamp::MAX };
    let time = Timestamp::from_millisecond(milliseconds).unwrap_or(last);
    format!("{time:.3}")
}

#[cfg(test)]
mod tests {
    #[track_caller]
    fn check(milliseconds: i64, expected: &str) {
        assert_eq!(super::rfc3339(milliseconds), expected);
    }

    #[test]
    fn times_have_milliseconds_and_are_in_utc() {
        check(0, "1970-01-01T00:00:00.000Z");
        check(1, "1970-01-01T00:00:00.001Z");
        check(-1, "1969-12-31T23:59:59.999Z");
        check(1_795_346_025_123, "2026-11-22T11:13:45.123Z");
        check(1_709_208_000_500, "2024-02-29T12:00:00.500Z");
    }

    #[test]
    fn times_that_no_clock_shows_are_the_last_ones() {
        check(i64::MAX, "9999-12-30T22:00:00.999Z");
        check(i64::MIN, "-009999-01-02T01:59:59.000Z");
    }
}
