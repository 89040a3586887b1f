use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::code;

/// What is counted of one method.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    started: AtomicU64,
    succeeded: AtomicU64,
    refused: AtomicU64,
    failed: AtomicU64,
    cancelled: AtomicU64,
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
    /// Calls that ended with a failure of the server: -32603, a timeout, busy.
    pub failed: u64,
    /// Calls that nobody waited for any more.
    pub cancelled: u64,
    /// Calls that run now.
    pub running: u64,
}

impl Counters {
    pub(super) fn start(&self) {
        self.started.fetch_add(1, Ordering::Relaxed);
    }

    /// A call has ended, with an error of this code if with one.
    pub(super) fn end(&self, code: Option<i64>) {
        let counter = match code {
            None => &self.succeeded,
            Some(code::INTERNAL_ERROR | code::TIMEOUT | code::BUSY) => &self.failed,
            Some(_) => &self.refused,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn cancel(&self) {
        self.cancelled.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn read(&self, method: &str) -> MethodMetrics {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        // Ends before starts: what runs is never counted below zero.
        let (succeeded, refused) = (read(&self.succeeded), read(&self.refused));
        let (failed, cancelled) = (read(&self.failed), read(&self.cancelled));
        let started = read(&self.started);
        let running = started.saturating_sub(succeeded + refused + failed + cancelled);
        let method = method.to_owned();
        MethodMetrics { method, started, succeeded, refused, failed, cancelled, running }
    }
}
