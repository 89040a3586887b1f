use std::sync::atomic::{AtomicU8, Ordering};

use super::deadline::Deadline;
use crate::error::Error;

/// Whether a command was begun, and whether its caller has gone: each side learns what the other did first.
pub(super) struct Claim {
    state: AtomicU8,
    deadline: Deadline,
}

const BEGUN: u8 = 1;
const ABANDONED: u8 = 2;

impl Claim {
    pub(super) fn new(deadline: Deadline) -> Self {
        Self { state: AtomicU8::new(0), deadline }
    }

    /// Begins the command, unless it is over. A thread asks once.
    pub(super) fn begin(&self) -> bool {
        !self.deadline.is_over()
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
        self.is_abandoned() || self.deadline.is_over()
    }

    /// Why the command is over.
    pub(super) fn reason(&self) -> Error {
        if self.is_abandoned() { Error::Cancelled } else { self.deadline.timeout() }
    }
}
