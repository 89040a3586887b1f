//! How often each caller may call.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use tower::{Layer, Service};
use trunkline_access::{Identity, Principal};
use trunkline_core::call::Call;
use trunkline_core::error::{ErrorObject, code};
use trunkline_core::outcome::Outcome;

use crate::layers::RefusableFuture;
use trunkline_server::request::Peer;

/// Refuses the calls of who calls too often, with -32010 and `data.retry_after_ms`; nothing is run.
///
/// The caller is the [`Principal`], by its name and who has given it (each
/// signed token without a subject is a separate principal), or without one the address of the
/// [`Peer`], of an IPv6 address its first 64 bits, which are one customer's. Behind
/// a proxy that is the proxy. Calls of whom nothing is known are those of one caller. Each caller has
/// its own bucket (of [`Rate::burst`] calls), which all operations share that one layer wraps. A member
/// of a batch counts as any call; a notification, too.
///
/// It wraps operations, so that calls of methods that do not exist are not counted.
///
/// ```
/// # use std::time::Duration;
/// # use trunkline::Router;
/// # use trunkline::layers::RateLimitLayer;
/// # use trunkline::layers::rate_limit::Rate;
/// # fn main() -> Result<(), trunkline::BuildError> {
/// let rate = Rate { calls: 600, per: Duration::from_secs(60), burst: 20, ..Rate::default() };
/// let router = Router::new().method("ping", || "pong").layer(RateLimitLayer::new(rate));
/// # router.build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct RateLimitLayer {
    buckets: Arc<Buckets>,
}

/// How often one caller may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// So many calls come back to a bucket in the time of [`per`](Self::per). Default: 100. At least 1.
    pub calls: u32,
    /// The time in which they come back, evenly. Default: one second. None: nobody is refused.
    pub per: Duration,
    /// So many calls are in a bucket that is full: what a caller may call at once. Default: 200. At
    /// least 1.
    pub burst: u32,
    /// For so many callers there are buckets. Default: 65,536, which take 4 MiB. Full ones are forgotten
    /// when there are more callers, as they are equal to new ones. While none is full, all callers that
    /// have none share one more.
    pub callers: usize,
}

impl Default for Rate {
    fn default() -> Self {
        Self { calls: 100, per: Duration::from_secs(1), burst: 200, callers: 65_536 }
    }
}

impl RateLimitLayer {
    /// Each caller may call at this rate.
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        Self { buckets: Arc::new(Buckets::new(rate)) }
    }
}

impl<S> Layer<S> for RateLimitLayer {
    type Service = RateLimit<S>;

    fn layer(&self, inner: S) -> RateLimit<S> {
        RateLimit { inner, buckets: Arc::clone(&self.buckets) }
    }
}

/// Refuses calls that come too fast, see [`RateLimitLayer`].
#[derive(Debug, Clone)]
pub struct RateLimit<S> {
    inner: S,
    buckets: Arc<Buckets>,
}

impl<S, E> Service<Call> for RateLimit<S>
where
    S: Service<Call, Response = Outcome, Error = E>,
    S::Future: Unpin,
{
    type Response = Outcome;
    type Error = E;
    type Future = RefusableFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), E>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        match self.buckets.take(caller(&call), Instant::now()) {
            Ok(()) => RefusableFuture::running(self.inner.call(call)),
            Err(wait) => RefusableFuture::refused(too_fast(wait)),
        }
    }
}

fn caller(call: &Call) -> Caller<'_> {
    let extensions = call.extensions();
    if let Some(identity) = Principal::of(extensions).and_then(Principal::identity) {
        return Caller::Principal(identity);
    }
    match Peer::of(extensions).0 {
        Some(peer) => Caller::at(peer.ip()),
        None => Caller::Anyone,
    }
}

fn too_fast(wait: Duration) -> ErrorObject {
    // Not a millisecond too early.
    let millis = wait.as_nanos().div_ceil(1_000_000) as u64;
    let error = ErrorObject::new(code::RATE_LIMITED, "Too many calls");
    error.with_data(&json!({ "retry_after_ms": millis }))
}

/// A bucket of tokens for each caller.
///
/// What is kept of a bucket is when it will be full: each call puts that off by the time in which one
/// call comes back. It is empty when that is a whole bucket away.
struct Buckets {
    /// The time in which one call comes back.
    interval: Duration,
    /// The time in which all come back but one.
    tolerance: Duration,
    callers: usize,
    /// Keeps callers from choosing names that fall together.
    hasher: RandomState,
    state: Mutex<State>,
}

struct State {
    /// When buckets are full, by the hash of their callers: names may be long.
    full_at: HashMap<u64, Instant>,
    /// The bucket that is shared by those that have no room for one.
    shared: Option<Instant>,
    forgotten_at: Option<Instant>,
}

/// Whose calls are counted together.
#[derive(Hash)]
enum Caller<'a> {
    Principal(Identity<'a>),
    Address(IpAddr),
    Anyone,
}

/// As good as never, and with the largest of bursts not past what the clock can tell.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 3_600);

/// Looking for full buckets looks at all of them, under the lock.
const FORGETTING: Duration = Duration::from_secs(1);

impl Buckets {
    fn new(rate: Rate) -> Self {
        let interval = rate.per.min(LONGEST) / rate.calls.max(1);
        Self {
            interval,
            tolerance: interval.saturating_mul(rate.burst.saturating_sub(1)),
            callers: rate.callers,
            hasher: RandomState::new(),
            state: Mutex::new(State { full_at: HashMap::new(), shared: None, forgotten_at: None }),
        }
    }

    /// Takes one call out of the caller's bucket, or tells after which time there will be one.
    fn take(&self, caller: Caller<'_>, now: Instant) -> Result<(), Duration> {
        let key = self.hasher.hash_one(caller);
        // Nothing that can panic runs under the lock.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let known = state.full_at.get(&key).copied();
        let has_room = known.is_some() || state.has_room(self.callers, now);
        let full_at = if has_room { known } else { state.shared };
        let full_at = full_at.map_or(now, |full_at| full_at.max(now));
        let wait = (full_at - now).saturating_sub(self.tolerance);
        if !wait.is_zero() {
            return Err(wait);
        }
        let full_at = full_at + self.interval;
        if has_room {
            state.full_at.insert(key, full_at);
        } else {
            state.shared = Some(full_at);
        }
        Ok(())
    }
}

impl State {
    /// Whether there may be one more bucket, after the full ones have been forgotten.
    fn has_room(&mut self, callers: usize, now: Instant) -> bool {
        if self.full_at.len() < callers {
            return true;
        }
        if self.forgotten_at.is_some_and(|at| now < at + FORGETTING) {
            return false;
        }
        self.forgotten_at = Some(now);
        self.full_at.retain(|_, full_at| *full_at > now);
        self.full_at.len() < callers
    }
}

impl Caller<'_> {
    fn at(address: IpAddr) -> Self {
        Self::Address(match address.to_canonical() {
            IpAddr::V6(address) => {
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)))
            }
            address => address,
        })
    }
}

/// Shows no callers.
impl fmt::Debug for Buckets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buckets")
            .field("interval", &self.interval)
            .field("tolerance", &self.tolerance)
            .field("callers", &self.callers)
            .finish_non_exhaustive()
    }
}
