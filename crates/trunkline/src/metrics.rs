//! Counters of calls.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use trunkline_core::error::code;

/// What is counted of one method. A call that ends is counted in one place, by its end and by what it
/// took: all other counts are sums, and never contradict each other.
#[derive(Debug, Default)]
pub struct Counters {
    started: AtomicU64,
    succeeded: Buckets,
    refused: Buckets,
    failed: Buckets,
    cancelled: Buckets,
    nanos: AtomicU64,
}

/// The counts of one method, read at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MethodMetrics {
    /// The registered name, or `unknown` for all calls of methods that do not exist.
    pub method: String,
    /// Calls that have begun, notifications included.
    pub started: u64,
    /// Calls that ended with a result.
    pub succeeded: u64,
    /// Calls that ended with an error that the caller can do something about: -32602, -32601,
    /// what a database refused, or an error of the application's own.
    pub refused: u64,
    /// Calls that ended with a failure of the server: -32603, -32000, a timeout, busy. On a client also those
    /// that got no reply.
    pub failed: u64,
    /// Calls that nobody waited for any more.
    pub cancelled: u64,
    /// Calls that run now.
    pub running: u64,
    /// How long the calls took that have ended, in whichever way.
    pub durations: Histogram,
}

/// How a call ended.
#[derive(Debug, Clone, Copy)]
pub(crate) enum End {
    Succeeded,
    Refused,
    Failed,
    Cancelled,
}

impl End {
    /// That of a call with an error of this code, if with one.
    pub(crate) fn of(code: Option<i64>) -> Self {
        match code {
            None => Self::Succeeded,
            Some(code::INTERNAL_ERROR | code::APPLICATION | code::TIMEOUT | code::BUSY) => {
                Self::Failed
            }
            Some(_) => Self::Refused,
        }
    }
}

impl Counters {
    pub(crate) fn start(&self) {
        self.started.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn end(&self, end: End, took: Duration) {
        let buckets = match end {
            End::Succeeded => &self.succeeded,
            End::Refused => &self.refused,
            End::Failed => &self.failed,
            End::Cancelled => &self.cancelled,
        };
        buckets.add(took);
        self.nanos.fetch_add(took.as_nanos() as u64, Ordering::Relaxed);
    }

    pub(crate) fn read(&self, method: &str) -> MethodMetrics {
        let mut durations = Histogram::default();
        // Ends before starts: what runs is never counted below zero.
        let succeeded = self.succeeded.read_into(&mut durations);
        let refused = self.refused.read_into(&mut durations);
        let failed = self.failed.read_into(&mut durations);
        let cancelled = self.cancelled.read_into(&mut durations);
        durations.sum = Duration::from_nanos(self.nanos.load(Ordering::Relaxed));
        let started = self.started.load(Ordering::Relaxed);
        let running = started.saturating_sub(durations.count());
        let method = method.to_owned();
        MethodMetrics { method, started, succeeded, refused, failed, cancelled, running, durations }
    }
}

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
struct Buckets([AtomicU64; Histogram::BOUNDS.len() + 1]);

impl Buckets {
    fn add(&self, took: Duration) {
        // Most calls are short: the first bounds are looked at first.
        let bucket = Histogram::BOUNDS.iter().position(|bound| took <= *bound);
        self.0[bucket.unwrap_or(Histogram::BOUNDS.len())].fetch_add(1, Ordering::Relaxed);
    }

    /// Adds these counts to `histogram`, and tells how many there are.
    fn read_into(&self, histogram: &mut Histogram) -> u64 {
        let mut count = 0;
        for (bucket, own) in histogram.buckets.iter_mut().zip(&self.0) {
            let own = own.load(Ordering::Relaxed);
            *bucket += own;
            count += own;
        }
        count
    }
}
