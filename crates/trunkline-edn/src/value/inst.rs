use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::SignedDuration;
use jiff::civil::{DateTime, Time};
use jiff::fmt::temporal::DateTimeParser;

use crate::error::{Error, Reason, quoted};

/// An instant, to the nanosecond, of the years 0000 to 9999 in UTC: `#inst "2024-02-29T23:59:00Z"`.
///
/// The timestamps of jiff end a day earlier.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Inst(DateTime);

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

impl Inst {
    /// An instant of seconds after 1970 (before, if negative), and nanoseconds after that.
    ///
    /// # Errors
    /// [`Reason::Inst`] outside of the years 0000 to 9999, or when a second has fewer nanoseconds.
    pub fn new(seconds: i64, nanos: u32) -> Result<Self, Error> {
        let whole = Self::after(EPOCH, SignedDuration::from_secs(seconds));
        let nanos = SignedDuration::from_nanos(nanos.into());
        let inst =
            whole.filter(|_| nanos.as_secs() == 0).and_then(|inst| Self::after(inst.0, nanos));
        inst.ok_or_else(|| {
            let nanos = nanos.as_nanos();
            Error::from(Reason::Inst { text: format!("{seconds}.{nanos:09} s").into() })
        })
    }

    fn after(time: DateTime, duration: SignedDuration) -> Option<Self> {
        let time = time.checked_add(duration).ok()?;
        (time.year() >= 0).then_some(Self(time))
    }

    /// The seconds since 1970, negative before.
    #[must_use]
    pub fn seconds(self) -> i64 {
        let since = self.0.duration_since(EPOCH);
        since.as_secs() - i64::from(since.subsec_nanos() < 0)
    }

    /// The nanoseconds of the second.
    #[must_use]
    pub fn nanos(self) -> u32 {
        self.0.subsec_nanosecond().unsigned_abs()
    }

    /// Each part of the timestamp can be missing together with the following parts, which jiff does not support.
    fn parse(text: &str) -> Option<Self> {
        const FULL: [u8; 19] = *b"0000-01-01T00:00:00";
        let mut ends = [19, 16, 13, 10, 7, 4].into_iter();
        let (clock, rest) = ends.find_map(|end| {
            let (given, rest) = text.split_at_checked(end)?;
            let mut clock = FULL;
            clock[..end].copy_from_slice(given.as_bytes());
            let is_zone = rest.is_empty() || rest.starts_with(['Z', '+', '-']);
            let fits = has_shape(&clock, &FULL) && (is_zone || end == 19);
            fits.then_some((clock, rest))
        })?;
        let (nanos, zone) = match rest.strip_prefix('.') {
            Some(rest) => fraction(rest)?,
            None => (0, rest),
        };
        let time = DateTimeParser::new().parse_datetime(clock).ok()?;
        // jiff reads a leap second as the second before.
        let leap = i64::from(clock.ends_with(b":60"));
        let fits = leap == 0 || time.minute() == 59;
        let since = SignedDuration::new(leap, nanos) - offset(zone)?;
        fits.then(|| Self::after(time, since))?
    }
}

/// Whether a text has digits where the pattern has them, and is equal to it elsewhere.
fn has_shape(text: &[u8], pattern: &[u8]) -> bool {
    let fits = |(byte, expected): (&u8, &u8)| {
        if expected.is_ascii_digit() { byte.is_ascii_digit() } else { byte == expected }
    };
    text.len() == pattern.len() && text.iter().zip(pattern).all(fits)
}

/// The digits after the point, as nanoseconds, and the rest. More than nine are truncated.
fn fraction(text: &str) -> Option<(i32, &str)> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(end);
    let value = |at| digits.as_bytes().get(at).map_or(0, |digit| i32::from(digit - b'0'));
    (end > 0).then(|| ((0..9).fold(0, |sum, at| sum * 10 + value(at)), rest))
}

/// The offset of a time zone. UTC without one.
fn offset(zone: &str) -> Option<SignedDuration> {
    let Some(clock) = zone.strip_prefix(['+', '-']) else {
        return matches!(zone, "" | "Z").then_some(SignedDuration::ZERO);
    };
    let clock: Time = has_shape(clock.as_bytes(), b"00:00").then(|| clock.parse().ok())??;
    let offset = clock.duration_since(Time::midnight());
    Some(if zone.starts_with('-') { -offset } else { offset })
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
        let digits = match self.nanos() {
            0 => 0,
            nanos if nanos % 1_000_000 == 0 => 3,
            nanos if nanos % 1_000 == 0 => 6,
            _ => 9,
        };
        write!(f, "{:.digits$}Z", self.0)
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
        let since = SignedDuration::system_until(UNIX_EPOCH, time).unwrap_or(SignedDuration::MAX);
        Self::after(EPOCH, since).ok_or_else(|| {
            Error::from(Reason::Inst { text: format!("{} s", since.as_secs()).into() })
        })
    }
}

/// Fails if the instant is out of the range of the system clock, such as before 1601 on Windows.
impl TryFrom<Inst> for SystemTime {
    type Error = Error;

    fn try_from(inst: Inst) -> Result<Self, Error> {
        let since = inst.0.duration_since(EPOCH);
        let time = match since.is_negative() {
            true => UNIX_EPOCH.checked_sub(since.unsigned_abs()),
            false => UNIX_EPOCH.checked_add(since.unsigned_abs()),
        };
        time.ok_or_else(|| Error::from(Reason::OutOfRange { range: "SystemTime" }))
    }
}
