use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use crate::error::Error;

/// Whether a command was begun, and whether its caller has gone: each side learns what the other did first.
pub(super) struct Claim {
    state: AtomicU8,
    limit: Duration,
    deadline: Instant,
}

const BEGUN: u8 = 1;
const ABANDONED: u8 = 2;

impl Claim {
    pub(super) fn new(limit: Duration, deadline: Instant) -> Self {
        Self { state: AtomicU8::new(0), limit, deadline }
    }

    /// Begins the command, unless it is over. A thread asks once.
    pub(super) fn begin(&self) -> bool {
        Instant::now() < self.deadline
            && self.state.compare_exchange(0, BEGUN, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// The caller goes. True if the command was not begun, and so never will be.
    pub(super) fn abandon(&self) -> bool {
        self.state.fetch_or(ABANDONED, Ordering::AcqRel) & BEGUN == 0
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.state.load(Ordering::Acquire) & ABANDONED != 0
    }

    /// Whether nobody wants the outcome any more.
    pub(super) fn is_over(&self) -> bool {
        self.is_abandoned() || Instant::now() >= self.deadline
    }

    /// Why the command is over.
    pub(super) fn reason(&self) -> Error {
        if self.is_abandoned() { Error::Cancelled } else { self.timeout() }
    }

    pub(super) fn timeout(&self) -> Error {
        Error::Timeout { limit: self.limit }
    }
}
