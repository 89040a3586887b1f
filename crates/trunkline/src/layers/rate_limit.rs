//! A rate limit for each caller.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use trunkline_access::{Identity, Principal};
use trunkline_core::call::{Call, CallFuture};
use trunkline_core::error::{ErrorObject, code};
use trunkline_core::outcome::Outcome;
use trunkline_server::request::Peer;

use super::layered::{CallLayer, CallService, layer};

/// Refuses the calls of a caller over the rate limit, with -32010 and `data.retry_after_ms`.
///
/// The caller is the [`Principal`], identified by its name and issuer (each signed token without a subject
/// is a separate principal). Without a principal it is the address of the [`Peer`]: all of an IPv4 address,
/// the first 64 bits of an IPv6 address. Behind a proxy that is the address of the proxy. All calls with
/// neither share one caller. Each caller has one bucket (of [`Rate::burst`] calls) for all operations that one
/// layer wraps. Members of batches and notifications count as calls.
///
/// [`Router::rate_limit`](crate::Router::rate_limit) counts all calls, also those of unknown methods and those that access
/// rules refuse. As a layer, it counts the calls that it wraps, after the rules are checked.
///
/// ```
/// # use std::time::Duration;
/// # use trunkline::Router;
/// # use trunkline::layers::RateLimitLayer;
/// # use trunkline::layers::rate_limit::Rate;
/// # fn main() -> Result<(), trunkline::BuildError> {
/// let rate = Rate { calls: 600, per: Duration::from_secs(60), burst: 20, ..Rate::default() };
/// let router = Router::new().method("ping", || "pong").rate_limit(RateLimitLayer::new(rate));
/// # router.build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct RateLimitLayer {
    limits: Arc<CallerLimits>,
}

/// The limits of all callers.
#[derive(Debug)]
struct CallerLimits {
    rates: Rates,
    buckets: Buckets,
}

/// The rate of a caller.
type RateFn = dyn Fn(Option<&Principal>) -> Option<Rate> + Send + Sync;

enum Rates {
    Same(Pace),
    ByCaller(Box<RateFn>),
}

/// The rate limit of one caller: a token bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// The number of calls that a bucket gains in the time [`per`](Self::per). Default: 100. At least 1.
    pub calls: u32,
    /// The time in which a bucket gains `calls`, evenly. Default: one second. Zero: no limit.
    pub per: Duration,
    /// The capacity of a bucket: the maximum number of calls at once. Default: 200. At least 1.
    pub burst: u32,
    /// The maximum number of buckets. Default: 65,536, which take 4 MiB. When there are more callers, full
    /// buckets are removed, which are equal to new ones. While none is full, all callers without a bucket
    /// share one.
    pub callers: usize,
}

impl Default for Rate {
    fn default() -> Self {
        Self { calls: 100, per: Duration::from_secs(1), burst: 200, callers: 65_536 }
    }
}

impl RateLimitLayer {
    /// Limits each caller to this rate.
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        Self::with(Rates::Same(rate.into()), rate.callers)
    }

    /// Limits each caller to the rate that the function returns; `None` means no limit. It may change while calls are
    /// made. [`Rate::callers`] is ignored; the maximum number of buckets is the default one.
    #[must_use]
    pub fn by_caller(
        rate: impl Fn(Option<&Principal>) -> Option<Rate> + Send + Sync + 'static,
    ) -> Self {
        Self::with(Rates::ByCaller(Box::new(rate)), Rate::default().callers)
    }

    /// Counts a call, or refuses it.
    pub(crate) fn check(&self, call: &Call) -> Result<(), ErrorObject> {
        self.limits.check(call).map_err(too_fast)
    }

    fn with(rates: Rates, callers: usize) -> Self {
        Self { limits: Arc::new(CallerLimits { rates, buckets: Buckets::new(callers) }) }
    }
}

layer!(RateLimitLayer);

impl CallLayer for RateLimitLayer {
    fn call<S: CallService>(&self, call: Call, inner: &mut S) -> CallFuture<S::Error> {
        match self.check(&call) {
            Ok(()) => inner.run(call),
            Err(error) => CallFuture::value(Ok(Outcome::error(error))),
        }
    }
}

impl CallerLimits {
    /// Counts a call, or returns the time until it is allowed.
    fn check(&self, call: &Call) -> Result<(), Duration> {
        let pace = match &self.rates {
            Rates::Same(pace) => *pace,
            Rates::ByCaller(rate) => match rate(Principal::of(call.extensions())) {
                Some(rate) => rate.into(),
                None => return Ok(()),
            },
        };
        self.buckets.take(caller(call), pace, Instant::now())
    }
}

fn caller(call: &Call) -> Caller<'_> {
    let extensions = call.extensions();
    if let Some(identity) = Principal::of(extensions).and_then(Principal::identity) {
        return Caller::Principal(identity);
    }
    Peer::of(extensions).network().map_or(Caller::Anyone, Caller::Address)
}

fn too_fast(wait: Duration) -> ErrorObject {
    // Rounded up, so that a retry after this time succeeds.
    let millis = wait.as_nanos().div_ceil(1_000_000) as u64;
    let error = ErrorObject::new(code::RATE_LIMITED, "Too many calls");
    error.with_data(&json!({ "retry_after_ms": millis }))
}

/// A token bucket for each caller.
///
/// A bucket is stored as the time at which it will be full. Each call adds the interval of one call to it.
/// The bucket is empty when that time is the interval of all its calls ahead.
struct Buckets {
    callers: usize,
    /// Randomly keyed, so that callers cannot choose names with the same hash.
    hasher: RandomState,
    state: Mutex<State>,
}

/// The speed and the size of a bucket.
#[derive(Debug, Clone, Copy)]
struct Pace {
    /// The time in which a bucket gains one call.
    interval: Duration,
    /// The time in which a bucket gains all calls but one.
    tolerance: Duration,
}

impl From<Rate> for Pace {
    fn from(rate: Rate) -> Self {
        let interval = rate.per.min(LONGEST) / rate.calls.max(1);
        Self { interval, tolerance: interval.saturating_mul(rate.burst.saturating_sub(1)) }
    }
}

struct State {
    /// The time at which each bucket is full, by the hash of the caller: names may be long.
    full_at: HashMap<u64, Instant>,
    /// The bucket that callers without one share.
    shared: Option<Instant>,
    cleaned_at: Option<Instant>,
}

/// The key of a bucket.
#[derive(Hash)]
enum Caller<'a> {
    Principal(Identity<'a>),
    Address(IpAddr),
    Anyone,
}

/// The maximum of [`Rate::per`]. With the largest burst, times still fit into an [`Instant`].
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 3_600);

/// The minimum time between two removals of full buckets, which visit all buckets under the lock.
const CLEANING_INTERVAL: Duration = Duration::from_secs(1);

impl Buckets {
    fn new(callers: usize) -> Self {
        Self {
            callers,
            hasher: RandomState::new(),
            state: Mutex::new(State { full_at: HashMap::new(), shared: None, cleaned_at: None }),
        }
    }

    /// Takes one call from the caller's bucket, or returns the time until there is one.
    fn take(&self, caller: Caller<'_>, pace: Pace, now: Instant) -> Result<(), Duration> {
        let key = self.hasher.hash_one(caller);
        // Nothing that can panic runs under the lock.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let known = state.full_at.get(&key).copied();
        let has_capacity = known.is_some() || state.has_capacity(self.callers, now);
        let full_at = if has_capacity { known } else { state.shared };
        let full_at = full_at.map_or(now, |full_at| full_at.max(now));
        let wait = (full_at - now).saturating_sub(pace.tolerance);
        if !wait.is_zero() {
            return Err(wait);
        }
        let full_at = full_at + pace.interval;
        if has_capacity {
            state.full_at.insert(key, full_at);
        } else {
            state.shared = Some(full_at);
        }
        Ok(())
    }
}

impl State {
    /// Whether one more bucket fits, after full ones are removed.
    fn has_capacity(&mut self, callers: usize, now: Instant) -> bool {
        if self.full_at.len() < callers {
            return true;
        }
        if self.cleaned_at.is_some_and(|at| now < at + CLEANING_INTERVAL) {
            return false;
        }
        self.cleaned_at = Some(now);
        self.full_at.retain(|_, full_at| *full_at > now);
        self.full_at.len() < callers
    }
}

/// Shows no callers.
impl fmt::Debug for Buckets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buckets").field("callers", &self.callers).finish_non_exhaustive()
    }
}

impl fmt::Debug for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Same(pace) => pace.fmt(f),
            Self::ByCaller(_) => f.write_str("ByCaller"),
        }
    }
}
