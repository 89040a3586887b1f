use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::error::{Error, Reason, quoted};

/// An instant, to the nanosecond, of the years 0000 to 9999 in UTC: `#inst "2024-02-29T23:59:00Z"`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Inst {
    /// Since 1970, negative before.
    seconds: i64,
    nanos: u32,
}

const DAY: i64 = 86_400;
/// The seconds of the years 0000 to 9999.
const RANGE: std::ops::Range<i64> = days(0, 1, 1) * DAY..days(10_000, 1, 1) * DAY;

impl Inst {
    /// An instant of seconds after 1970 (before, if negative), and nanoseconds after that.
    ///
    /// # Errors
    /// [`Reason::Inst`] outside of the years 0000 to 9999, or when a second has fewer nanoseconds.
    pub fn new(seconds: i64, nanos: u32) -> Result<Self, Error> {
        if RANGE.contains(&seconds) && nanos < 1_000_000_000 {
            return Ok(Self { seconds, nanos });
        }
        Err(Error::from(Reason::Inst { text: format!("{seconds}.{nanos:09} s").into() }))
    }

    /// The seconds since 1970, negative before.
    #[must_use]
    pub fn seconds(self) -> i64 {
        self.seconds
    }

    /// The nanoseconds of the second.
    #[must_use]
    pub fn nanos(self) -> u32 {
        self.nanos
    }

    fn parse(text: &str) -> Option<Self> {
        let mut rest = Fields(text.as_bytes());
        let year = rest.digits(4)?;
        let (mut month, mut day) = (1, 1);
        let (mut hour, mut minute, mut second, mut nanos) = (0, 0, 0, 0);
        // Each part can be missing together with the parts after it.
        if rest.take_dash() {
            month = rest.digits(2)?;
            if rest.take_dash() {
                day = rest.digits(2)?;
                if rest.take(b'T') {
                    hour = rest.digits(2)?;
                    if rest.take(b':') {
                        minute = rest.digits(2)?;
                        if rest.take(b':') {
                            second = rest.digits(2)?;
                            if rest.take(b'.') {
                                nanos = rest.fraction()?;
                            }
                        }
                    }
                }
            }
        }
        let offset = rest.offset()?;
        let fits = (1..=12).contains(&month)
            && (1..=days_of(year, month)).contains(&day)
            && hour < 24
            && minute < 60
            // A leap second.
            && (second < 60 || (second == 60 && minute == 59));
        let seconds = days(year, month, day) * DAY + hour * 3_600 + minute * 60 + second - offset;
        fits.then(|| Self::new(seconds, nanos).ok())?
    }
}

/// The rest of a timestamp.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn digits(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        let is_number = digits.iter().all(u8::is_ascii_digit);
        is_number.then(|| digits.iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0')))
    }

    fn take(&mut self, byte: u8) -> bool {
        match self.0.strip_prefix(&[byte]) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    /// The dash before a month or a day, unless it begins a zone: that of `2024-01`, not `2024-01:00`.
    fn take_dash(&mut self) -> bool {
        let is_zone = self.0.get(3) == Some(&b':');
        !is_zone && self.take(b'-')
    }

    /// The digits after the point, as nanoseconds. More than nine are truncated.
    fn fraction(&mut self) -> Option<u32> {
        let count = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.0.split_at(count);
        self.0 = rest;
        let value = |at| digits.get(at).map_or(0, |digit: &u8| u32::from(digit - b'0'));
        (count > 0).then(|| (0..9).fold(0, |sum, at| sum * 10 + value(at)))
    }

    /// The seconds that the zone is before UTC. Without one, it is UTC.
    fn offset(&mut self) -> Option<i64> {
        if self.0.is_empty() || self.0 == b"Z" {
            return Some(0);
        }
        let sign = if self.take(b'-') { -1 } else { self.take(b'+').then_some(1)? };
        let hours = self.digits(2)?;
        let minutes = self.take(b':').then(|| self.digits(2))??;
        let fits = self.0.is_empty() && hours < 24 && minutes < 60;
        fits.then_some(sign * (hours * 3_600 + minutes * 60))
    }
}

/// The days from 1970 to a day of the proleptic Gregorian calendar.
const fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years from March: the leap day is their last.
    let year = if month > 2 { year } else { year - 1 };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The year, month and day of a number of days after 1970.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = (year + era * 400, month + 3);
    if month > 12 { (year + 1, month - 12, day) } else { (year, month, day) }
}

/// Parses a timestamp of RFC 3339, which may end after the year, the month, the day, and so on. Without a zone it is
/// in UTC. Digits after nanoseconds are ignored.
impl FromStr for Inst {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text).ok_or_else(|| Error::from(Reason::Inst { text: quoted(text) }))
    }
}

/// In UTC; the fraction has three, six or nine digits, or is omitted if it is zero.
impl fmt::Display for Inst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = date(self.seconds.div_euclid(DAY));
        let seconds = self.seconds.rem_euclid(DAY);
        let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        match self.nanos {
            0 => {}
            nanos if nanos % 1_000_000 == 0 => write!(f, ".{:03}", nanos / 1_000_000)?,
            nanos if nanos % 1_000 == 0 => write!(f, ".{:06}", nanos / 1_000)?,
            nanos => write!(f, ".{nanos:09}")?,
        }
        f.write_str("Z")
    }
}

impl fmt::Debug for Inst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#inst \"{self}\"")
    }
}

impl TryFrom<SystemTime> for Inst {
    type Error = Error;

    fn try_from(time: SystemTime) -> Result<Self, Error> {
        let of = |seconds: Option<i64>, nanos| Self::new(seconds.unwrap_or(i64::MAX), nanos);
        match time.duration_since(UNIX_EPOCH) {
            Ok(after) => of(i64::try_from(after.as_secs()).ok(), after.subsec_nanos()),
            Err(error) => {
                let before = error.duration();
                // Nanoseconds count from the second before.
                let whole = i64::try_from(before.as_secs()).ok().map(|seconds| -seconds);
                match before.subsec_nanos() {
                    0 => of(whole, 0),
                    nanos => of(whole.map(|seconds| seconds - 1), 1_000_000_000 - nanos),
                }
            }
        }
    }
}

/// An error where the clock of the system does not reach that far, as that of Windows before 1601.
impl TryFrom<Inst> for SystemTime {
    type Error = Error;

    fn try_from(inst: Inst) -> Result<Self, Error> {
        let seconds = Duration::from_secs(inst.seconds.unsigned_abs());
        let whole = match inst.seconds {
            ..0 => UNIX_EPOCH.checked_sub(seconds),
            _ => UNIX_EPOCH.checked_add(seconds),
        };
        whole
            .and_then(|whole| whole.checked_add(Duration::from_nanos(inst.nanos.into())))
            .ok_or_else(|| Error::from(Reason::OutOfRange { range: "SystemTime" }))
    }
}
