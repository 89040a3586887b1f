//! The limits that hold for calls, whatever door they come through.

use std::time::Duration;

use super::MemoryBudget;

/// Limits of calls. Every limit is on by default; `None` switches one off where that is possible.
#[derive(Debug, Clone)]
pub struct Limits {
    /// How deep a body's arrays and objects may nest, 1 to [`Limits::MAX_DEPTH`]. Default 128.
    /// Deeper is -32700.
    pub depth: usize,
    /// How many requests a batch may hold. Default 1,000. A longer one is -32600 as a whole.
    pub batch_requests: usize,
    /// How many calls of one batch run at the same time. Default 16.
    pub batch_parallelism: usize,
    /// How many bytes the replies to one body may have. Default 16 MiB. What does not fit is
    /// replaced by -32006; calls of a batch that have not started by then are not run.
    pub reply_bytes: usize,
    /// The budget of bytes that are held for all clients together. Default 256 MiB.
    pub memory: MemoryBudget,
    /// How long a call may take, waiting for its turn included, unless its operation says
    /// [otherwise](crate::operation::Operation::timeout). Default 30 s. Then it is dropped,
    /// and its reply is -32004. A handler that is not async cannot be dropped: it runs to its end.
    /// Members of a batch that could not be started in this time are not run, notifications
    /// included.
    pub call_timeout: Option<Duration>,
    /// How many calls run at the same time, without those of handlers that are not async. Default
    /// 1,024. More wait for their turn.
    pub concurrent_calls: Option<usize>,
    /// How many `blocking`) handlers run at the same time. Default 16.
    pub blocking_threads: usize,
    /// How many blocking calls may wait for their turn. Default 256. More are -32005.
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
    /// The deepest nesting that can be set: what a thread's stack carries for sure.
    pub const MAX_DEPTH: usize = 1_024;

    /// Checks that the limits can work.
    ///
    /// # Errors
    /// The first limit that cannot.
    pub fn check(&self) -> Result<(), LimitError> {
        let fail = |limit, reason| Err(LimitError { limit, reason });
        if self.depth == 0 || self.depth > Self::MAX_DEPTH {
            return fail("depth", "from 1 to 1,024");
        }
        if self.batch_parallelism == 0 {
            return fail("batch_parallelism", "at least 1, or no batch would ever end");
        }
        if self.concurrent_calls == Some(0) {
            return fail("concurrent_calls", "at least 1, or no call would ever run");
        }
        if self.blocking_threads == 0 {
            return fail("blocking_threads", "at least 1, or no blocking call would ever run");
        }
        Ok(())
    }
}

/// A limit that has a value that cannot work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("limit `{limit}`: {reason}")]
pub struct LimitError {
    /// The field of [`Limits`].
    pub limit: &'static str,
    /// What would be right.
    pub reason: &'static str,
}
