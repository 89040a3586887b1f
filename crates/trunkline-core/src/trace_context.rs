//! Trace contexts of calls (W3C Trace Context, level 1).

use std::cell::{Cell, RefCell};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::num::{NonZeroU64, NonZeroU128};
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

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

/// The decision which traces are recorded. The default records all, except those that the caller does not record.
///
/// A process has one sampler, as it has one subscriber of spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampler {
    /// Traces are recorded whose lower 63 bits are below this number, like the sampler `traceidratio` of OpenTelemetry.
    below: u64,
    follows_parent: bool,
}

static PROCESS_SAMPLER: OnceLock<Sampler> = OnceLock::new();

impl Sampler {
    const ALL: Self = Self { below: 1 << 63, follows_parent: true };

    /// Records this share of the traces that begin here, from 0 to 1. Other traces are recorded if the caller records
    /// them.
    #[must_use]
    pub fn new(ratio: f64) -> Self {
        Self {
            below: (ratio.clamp(0.0, 1.0) * Self::ALL.below as f64) as u64,
            follows_parent: true,
        }
    }

    /// Applies the ratio to all traces, also to those of callers.
    #[must_use]
    pub fn ignoring_parents(self) -> Self {
        Self { follows_parent: false, ..self }
    }

    /// Makes this the sampler of the process. Returns whether it has none yet, except the default.
    pub fn set_for_process(self) -> bool {
        PROCESS_SAMPLER.set(self).is_ok()
    }

    fn of_process() -> Self {
        PROCESS_SAMPLER.get().copied().unwrap_or(Self::ALL)
    }

    fn samples(self, trace: TraceId) -> bool {
        (trace.number() as u64) >> 1 < self.below
    }
}

impl Default for Sampler {
    fn default() -> Self {
        Self::ALL
    }
}

/// A text is not a valid `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid `traceparent`: expected `00-`, then 32, 16 and 2 hexadecimal digits, separated by `-`"
)]
pub struct TraceContextError;

/// The vendor data of a trace: the header `tracestate`. It is passed on unchanged. The default is empty. Cloning is
/// cheap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraceState(Arc<str>);

thread_local! {
    static CURRENT: Cell<Option<TraceContext>> = const { Cell::new(None) };
    static CURRENT_STATE: RefCell<Option<TraceState>> = const { RefCell::new(None) };
}

impl TraceState {
    /// The maximum size in bytes. Longer ones are ignored.
    pub const MAX_BYTES: usize = 512;

    /// The value of a header. `None` if it is empty, too long, or not visible ASCII.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_valid = !text.is_empty()
            && text.len() <= Self::MAX_BYTES
            && text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
        is_valid.then(|| Self(text.into()))
    }

    /// The value of the header.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The vendor data of the call whose handler currently runs on this thread. Clients send it with their calls.
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT_STATE.with_borrow(Clone::clone)
    }

    /// Runs `work` with this vendor data as the current one.
    pub fn scope<T>(&self, work: impl FnOnce() -> T) -> T {
        /// Restores the previous value, even if `work` panics.
        struct Restore(Option<TraceState>);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT_STATE.replace(self.0.take());
            }
        }
        let _restore = Restore(CURRENT_STATE.replace(Some(self.clone())));
        work()
    }
}

impl TraceContext {
    /// The root span of a new trace, with the decision of the [`Sampler`] of the process.
    #[must_use]
    pub fn root() -> Self {
        Self::start(None)
    }

    /// A new span, with the decision of the [`Sampler`] of the process.
    #[must_use]
    pub fn start(parent: Option<Self>) -> Self {
        Self::sampled_by(Sampler::of_process(), parent)
    }

    fn sampled_by(sampler: Sampler, parent: Option<Self>) -> Self {
        if let Some(parent) = parent
            && sampler.follows_parent
        {
            return parent.child();
        }
        let context = parent.map_or_else(
            || {
                let trace = NonZeroU128::from(random()) | (u128::from(random().get()) << 64);
                Self { trace, span: random(), flags: 0 }
            },
            Self::child,
        );
        let is_sampled = u8::from(sampler.samples(context.trace_id()));
        Self { flags: (context.flags & !1) | is_sampled, ..context }
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

    /// The id of the span, as a number.
    #[must_use]
    pub fn span_number(self) -> u64 {
        self.span.get()
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
    /// The id as a number.
    #[must_use]
    pub fn number(self) -> u128 {
        self.0.get()
    }

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
    fn parses_vendor_data() {
        for (text, expected) in [
            ("a=1,b=2", Some("a=1,b=2")),
            (" a=1 ", Some("a=1")),
            ("", None),
            ("a=\u{e9}", None),
            ("a=1\nb", None),
        ] {
            let found = TraceState::parse(text);
            assert_eq!(found.as_ref().map(TraceState::as_str), expected, "{text:?}");
        }
        assert_eq!(TraceState::parse(&"a".repeat(TraceState::MAX_BYTES + 1)), None);
    }

    #[test]
    fn samples_traces() {
        let sent = |flags: &str| {
            format!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-{flags}").parse().ok()
        };
        let is_sampled = |parent, sampler| TraceContext::sampled_by(sampler, parent).is_sampled();
        for (ratio, expected) in [(0.0, false), (1.0, true), (0.6, false), (0.7, true)] {
            let sampler = Sampler::new(ratio);
            assert!(is_sampled(sent("01"), sampler), "{ratio}");
            assert!(!is_sampled(sent("00"), sampler), "{ratio}");
            // The lower 63 bits of the trace are 0.64 of their maximum.
            assert_eq!(is_sampled(sent("01"), sampler.ignoring_parents()), expected, "{ratio}");
            assert_eq!(is_sampled(sent("00"), sampler.ignoring_parents()), expected, "{ratio}");
        }
        let sampled = (0..1000).filter(|_| is_sampled(None, Sampler::new(0.5))).count();
        assert!((350..650).contains(&sampled), "{sampled}");
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
