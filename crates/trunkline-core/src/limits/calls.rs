//! Limits of calls, for all transports.

use std::time::Duration;

use super::MemoryBudget;

/// Limits of calls. All limits are enabled by default; `None` disables one.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Maximum nesting depth of arrays and objects in a body, 1 to [`Limits::MAX_DEPTH`]. Default 128. A deeper
    /// body fails with -32700.
    pub depth: usize,
    /// Maximum number of requests in a batch. Default 1,000. A larger batch fails with -32600 as a whole.
    pub batch_requests: usize,
    /// Maximum number of calls of one batch that run concurrently. Default 16.
    pub batch_parallelism: usize,
    /// Maximum size of the reply to one body, in bytes. Default 16 MiB. A result that exceeds it is replaced by
    /// -32006, and calls of the batch that have not started are not run.
    pub reply_bytes: usize,
    /// Memory budget for the requests and replies of all clients. Default 256 MiB.
    pub memory: MemoryBudget,
    /// Timeout of a call, including the time in the queue. Default 30 s. An operation may have
    /// [another](crate::operation::Operation::timeout). After the timeout, the call is dropped and fails with -32004.
    /// A handler that is not async cannot be dropped and runs to completion. Calls and notifications of a batch
    /// that have not started within the timeout are not run.
    pub call_timeout: Option<Duration>,
    /// Maximum number of concurrent calls, not counting handlers that are not async. Default 1,024. Further calls
    /// wait.
    pub concurrent_calls: Option<usize>,
    /// Maximum number of blocking handlers that run concurrently. Default 16.
    pub blocking_threads: usize,
    /// Maximum number of waiting blocking calls. Default 256. Further calls fail with -32005.
    pub blocking_queue: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth: 128,
            batch_requests: 1_000,
            batch_parallelism: 16,
            reply_bytes: 16 << 20,
            memory: MemoryBudget::default(),
            call_timeout: Some(Duration::from_secs(30)),
            concurrent_calls: Some(1_024),
            blocking_threads: 16,
            blocking_queue: 256,
        }
    }
}

impl Limits {
    /// The maximum of [`depth`](Self::depth), which fits the stack of a thread.
    pub const MAX_DEPTH: usize = 1_024;

    /// Validates the limits.
    ///
    /// # Errors
    /// The first invalid limit.
    pub fn check(&self) -> Result<(), LimitError> {
        let fail = |limit, reason| Err(LimitError { limit, reason });
        if self.depth == 0 || self.depth > Self::MAX_DEPTH {
            return fail("depth", "from 1 to 1,024");
        }
        if self.batch_parallelism == 0 {
            return fail("batch_parallelism", "at least 1");
        }
        if self.concurrent_calls == Some(0) {
            return fail("concurrent_calls", "at least 1");
        }
        if self.blocking_threads == 0 {
            return fail("blocking_threads", "at least 1");
        }
        Ok(())
    }
}

/// A limit has an invalid value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("limit `{limit}` must be {reason}")]
pub struct LimitError {
    /// The field of [`Limits`].
    pub limit: &'static str,
    /// The valid values.
    pub reason: &'static str,
}
