//! Trace contexts of calls (W3C Trace Context, level 1).

use std::cell::Cell;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::num::{NonZeroU64, NonZeroU128};
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// The trace and the span of a call: the content of the header `traceparent`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceContext {
    trace: NonZeroU128,
    span: NonZeroU64,
    flags: u8,
}

/// The id of a trace: 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceId(NonZeroU128);

/// A text is not a valid `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid `traceparent`: expected `00-`, then 32, 16 and 2 hexadecimal digits, separated by `-`"
)]
pub struct TraceContextError;

thread_local! {
    static CURRENT: Cell<Option<TraceContext>> = const { Cell::new(None) };
}

impl TraceContext {
    /// The root span of a new trace, which is sampled.
    #[must_use]
    pub fn root() -> Self {
        let trace = NonZeroU128::from(random()) | (u128::from(random().get()) << 64);
        Self { trace, span: random(), flags: 1 }
    }

    /// A new span of the same trace.
    #[must_use]
    pub fn child(self) -> Self {
        Self { span: random(), ..self }
    }

    /// The context of the call whose handler currently runs on this thread. Clients send it with their calls.
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT.get()
    }

    /// Runs `work` with this context as the current one.
    pub fn scope<T>(self, work: impl FnOnce() -> T) -> T {
        /// Restores the previous context, even if `work` panics.
        struct Restore(Option<TraceContext>);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.set(self.0);
            }
        }
        let _restore = Restore(CURRENT.replace(Some(self)));
        work()
    }

    /// The id of the trace.
    #[must_use]
    pub fn trace_id(self) -> TraceId {
        TraceId(self.trace)
    }

    /// The id of the span: 16 hexadecimal digits.
    #[must_use]
    pub fn span_id(self) -> String {
        format!("{:016x}", self.span)
    }

    /// Whether the caller records the trace.
    #[must_use]
    pub fn is_sampled(self) -> bool {
        self.flags & 1 == 1
    }
}

/// A random id other than zero.
///
/// Uses SplitMix64 with a random seed per thread, since ids must be unique but not secret.
fn random() -> NonZeroU64 {
    thread_local! {
        static STATE: Cell<u64> = Cell::new(RandomState::new().hash_one(0_u8));
    }
    let state = STATE.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
    STATE.set(state);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    NonZeroU64::new(mixed ^ (mixed >> 31)).unwrap_or(NonZeroU64::MIN)
}

impl TraceId {
    /// The digits, in ASCII.
    #[must_use]
    pub fn digits(self) -> [u8; 32] {
        let bytes = self.0.get().to_be_bytes();
        let mut digits = [0; 32];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 0xf)];
        }
        digits
    }
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

impl FromStr for TraceContext {
    type Err = TraceContextError;

    /// Parses a `traceparent`. Versions above 00 may have further fields, which are ignored (section 3.2.4).
    fn from_str(text: &str) -> Result<Self, TraceContextError> {
        let mut parts = text.split('-');
        let mut next = |digits: usize| {
            let part = parts.next().filter(|part| part.len() == digits);
            part.and_then(hexadecimal).ok_or(TraceContextError)
        };
        let (version, trace, span, flags) = (next(2)?, next(32)?, next(16)?, next(2)?);
        let has_more = parts.next().is_some();
        if version == 0xff || (version == 0 && has_more) {
            return Err(TraceContextError);
        }
        let trace = NonZeroU128::new(trace).ok_or(TraceContextError)?;
        let span = NonZeroU64::new(span as u64).ok_or(TraceContextError)?;
        Ok(Self { trace, span, flags: flags as u8 })
    }
}

/// Parses up to 32 lower-case digits.
fn hexadecimal(digits: &str) -> Option<u128> {
    digits.bytes().try_fold(0, |number, digit| {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some((number << 4) | u128::from(value))
    })
}

/// Formats the value of the header.
impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace, self.span, self.flags)
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TraceId({self})")
    }
}

/// Serialises as the digits.
impl Serialize for TraceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Debug for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TraceContext({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: bool) {
        let found = text.parse::<TraceContext>();
        assert_eq!(found.is_ok(), expected, "{text}");
        if let Ok(found) = found {
            assert_eq!(found.to_string()[3..], text[3..55], "{text}");
        }
    }

    #[test]
    fn parses_traceparents() {
        check("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true);
        check("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", true);
        check("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", true);
        check("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", false);
        check("ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false);
        check("00-00000000000000000000000000000000-00f067aa0ba902b7-01", false);
        check("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", false);
        check("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", false);
        check("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7", false);
        check("00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false);
        check("", false);
    }

    #[test]
    fn scope_restores_the_previous_context() {
        let (outer, inner) = (TraceContext::root(), TraceContext::root().child());
        assert_eq!(TraceContext::current(), None);
        outer.scope(|| {
            inner.scope(|| assert_eq!(TraceContext::current(), Some(inner)));
            assert_eq!(TraceContext::current(), Some(outer));
        });
        assert_eq!(TraceContext::current(), None);
    }
}
