use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::layer::Rate;
use crate::access::Identity;

/// A bucket of tokens for each caller.
///
/// What is kept of a bucket is when it will be full: each call puts that off by the time in which one
/// call comes back. It is empty when that is a whole bucket away.
pub(super) struct Buckets {
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
pub(super) enum Caller<'a> {
    Principal(Identity<'a>),
    Address(IpAddr),
    Anyone,
}

/// As good as never, and with the largest of bursts not past what the clock can tell.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 3_600);

/// Looking for full buckets looks at all of them, under the lock.
const FORGETTING: Duration = Duration::from_secs(1);

impl Buckets {
    pub(super) fn new(rate: Rate) -> Self {
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
    pub(super) fn take(&self, caller: Caller<'_>, now: Instant) -> Result<(), Duration> {
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
    pub(super) fn at(address: IpAddr) -> Self {
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
