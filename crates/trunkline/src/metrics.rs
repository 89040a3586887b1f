//! Counters of calls.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use trunkline_core::error::code;

/// The counters of one method. A call that ends is counted in exactly one bucket, by its outcome and its
/// duration. All other counts are sums of buckets, so they are consistent.
#[derive(Debug, Default)]
pub(crate) struct Counters {
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
    /// The number of calls that have begun, including notifications.
    pub started: u64,
    /// The number of calls that ended with a result.
    pub succeeded: u64,
    /// The number of calls that ended with an error of the caller or the application: -32602, -32601, an
    /// error of a database, or a declared error.
    pub refused: u64,
    /// The number of calls that ended with a failure of the server: -32603, -32000, timeout or busy. For a
    /// client, also calls without a reply.
    pub failed: u64,
    /// The number of calls that were dropped before they ended.
    pub cancelled: u64,
    /// The number of calls that are running.
    pub running: u64,
    /// The durations of all calls that have ended.
    pub durations: Histogram,
}

/// The way in which a call ended.
#[derive(Debug, Clone, Copy)]
pub(crate) enum End {
    Succeeded,
    Refused,
    Failed,
    Cancelled,
}

impl End {
    /// The end of a call with this error code, or with a result.
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
        // Ended calls are read before started ones, so that there are never more of them.
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

/// The durations of calls: the number of calls in each bucket, and the total time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Histogram {
    /// The number of calls that took at most the bound of [`BOUNDS`](Self::BOUNDS) with the same index, and
    /// longer than the previous bound. The last bucket has no bound.
    pub buckets: [u64; Self::BOUNDS.len() + 1],
    /// The total time of all calls.
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

    /// The number of calls.
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
        // Most calls are short, so search from the shortest bound.
        let bucket = Histogram::BOUNDS.iter().position(|bound| took <= *bound);
        self.0[bucket.unwrap_or(Histogram::BOUNDS.len())].fetch_add(1, Ordering::Relaxed);
    }

    /// Adds these counts to `histogram` and returns their sum.
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
