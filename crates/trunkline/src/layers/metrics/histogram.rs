use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long calls took: how many fell into each bucket, and the time of all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Histogram {
    /// Calls that took no longer than the bound of [`BOUNDS`](Self::BOUNDS) at the same place, and
    /// longer than the one before. The last bucket has no bound.
    pub buckets: [u64; Self::BOUNDS.len() + 1],
    /// The time of all calls together.
    pub sum: Duration,
}

impl Histogram {
    /// The upper bounds of the buckets: from 100 microseconds to 10 seconds.
    pub const BOUNDS: [Duration; 16] = [
        Duration::from_micros(100),
        Duration::from_micros(250),
        Duration::from_micros(500),
        Duration::from_millis(1),
        Duration::from_micros(2_500),
        Duration::from_millis(5),
        Duration::from_millis(10),
        Duration::from_millis(25),
        Duration::from_millis(50),
        Duration::from_millis(100),
        Duration::from_millis(250),
        Duration::from_millis(500),
        Duration::from_secs(1),
        Duration::from_millis(2_500),
        Duration::from_secs(5),
        Duration::from_secs(10),
    ];

    /// How many calls there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }
}

/// The buckets of calls that ended in one way.
#[derive(Debug, Default)]
pub(super) struct Buckets([AtomicU64; Histogram::BOUNDS.len() + 1]);

impl Buckets {
    pub(super) fn add(&self, took: Duration) {
        // Most calls are short: the first bounds are looked at first.
        let bucket = Histogram::BOUNDS.iter().position(|bound| took <= *bound);
        self.0[bucket.unwrap_or(Histogram::BOUNDS.len())].fetch_add(1, Ordering::Relaxed);
    }

    /// Adds these counts to `histogram`, and tells how many there are.
    pub(super) fn read_into(&self, histogram: &mut Histogram) -> u64 {
        let mut count = 0;
        for (bucket, own) in histogram.buckets.iter_mut().zip(&self.0) {
            let own = own.load(Ordering::Relaxed);
            *bucket += own;
            count += own;
        }
        count
    }
}
