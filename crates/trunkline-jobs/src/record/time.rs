use std::time::SystemTime;

use jiff::Timestamp;

/// Milliseconds since 1970.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// RFC 3339, in UTC, with milliseconds.
pub(crate) fn rfc3339(milliseconds: i64) -> String {
    let bounds = [Timestamp::MIN, Timestamp::MAX].map(Timestamp::as_millisecond);
    let milliseconds = milliseconds.clamp(bounds[0], bounds[1]);
    let time = Timestamp::from_millisecond(milliseconds).unwrap_or(Timestamp::UNIX_EPOCH);
    format!("{time:.3}")
}
