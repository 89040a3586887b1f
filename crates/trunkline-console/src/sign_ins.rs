//! The limit of failed sign-ins.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The failed sign-ins of each address, as token buckets. A bucket is stored as the time at which it will be full.
pub(crate) struct FailedSignIns {
    /// The time in which a bucket gains one attempt.
    interval: Duration,
    /// The time in which it gains all attempts but one.
    tolerance: Duration,
    full_at: Mutex<HashMap<Option<IpAddr>, Instant>>,
}

/// The time in which a bucket gains all attempts.
const WINDOW: Duration = Duration::from_secs(60);

/// The maximum number of buckets.
const MAX_ADDRESSES: usize = 4_096;

impl FailedSignIns {
    /// At most `max` failures per minute for each address.
    pub(crate) fn new(max: u32) -> Self {
        let interval = WINDOW / max.max(1);
        let tolerance = interval.saturating_mul(max.saturating_sub(1));
        Self { interval, tolerance, full_at: Mutex::default() }
    }

    /// Counts a sign-in as failed before its token is verified, so that concurrent ones do not exceed the limit.
    /// Returns the time until one is allowed if there were too many.
    pub(crate) fn count(&self, address: Option<IpAddr>) -> Result<(), Duration> {
        let now = Instant::now();
        let mut buckets = self.buckets();
        let full_at = buckets.get(&address).map_or(now, |full_at| *full_at.max(&now));
        let wait = (full_at - now).saturating_sub(self.tolerance);
        if !wait.is_zero() {
            return Err(wait);
        }
        if buckets.len() >= MAX_ADDRESSES && !buckets.contains_key(&address) {
            buckets.retain(|_, full_at| *full_at > now);
        }
        if buckets.len() >= MAX_ADDRESSES && !buckets.contains_key(&address) {
            // A shared bucket would block addresses without failures.
            let fewest = buckets.iter().min_by_key(|(_, full_at)| **full_at);
            if let Some(fewest) = fewest.map(|(address, _)| *address) {
                buckets.remove(&fewest);
            }
        }
        buckets.insert(address, full_at + self.interval);
        Ok(())
    }

    /// Removes the count of a sign-in that has succeeded.
    pub(crate) fn succeeded(&self, address: Option<IpAddr>) {
        if let Some(full_at) = self.buckets().get_mut(&address) {
            *full_at = full_at.checked_sub(self.interval).unwrap_or(*full_at);
        }
    }

    fn buckets(&self) -> MutexGuard<'_, HashMap<Option<IpAddr>, Instant>> {
        self.full_at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn address(number: u32) -> Option<IpAddr> {
        Some(Ipv4Addr::from_bits(number).into())
    }

    #[tokio::test(start_paused = true)]
    async fn failures_are_limited_for_each_address() {
        let limit = FailedSignIns::new(3);
        let one = address(1);
        // Sign-ins that succeed do not count.
        for _ in 0..10 {
            assert_eq!(limit.count(one), Ok(()));
            limit.succeeded(one);
        }
        let found: Vec<_> = (0..5).map(|_| limit.count(one).is_ok()).collect();
        assert_eq!(found, [true, true, true, false, false]);
        assert_eq!(limit.count(one), Err(Duration::from_secs(20)));
        assert_eq!(limit.count(address(2)), Ok(()), "another address");
        tokio::time::advance(Duration::from_secs(20)).await;
        assert_eq!((limit.count(one).is_ok(), limit.count(one).is_ok()), (true, false));
    }

    #[tokio::test(start_paused = true)]
    async fn many_addresses_neither_grow_the_memory_nor_block_others() {
        let limit = FailedSignIns::new(2);
        let attacker = address(0);
        assert!(limit.count(attacker).is_ok() && limit.count(attacker).is_ok());
        for number in 1..=MAX_ADDRESSES as u32 + 100 {
            assert!(limit.count(address(number)).is_ok(), "{number}");
        }
        assert_eq!(limit.buckets().len(), MAX_ADDRESSES);
        assert!(limit.count(attacker).is_err(), "the bucket with most failures stays");
        tokio::time::advance(WINDOW).await;
        assert!(limit.count(address(u32::MAX)).is_ok());
        assert_eq!(limit.buckets().len(), 1, "full buckets are removed");
    }
}
