//! Turns of work that keeps a thread busy.

use std::num::NonZeroUsize;

use tokio::sync::{Semaphore, SemaphorePermit};

/// As many turns as there are processors, given in the order in which they are asked for.
///
/// Any number of batches can wait, and at most one for each processor runs, so that other tasks of the
/// runtime wait for a few batches and not for all.
#[derive(Debug)]
pub(crate) struct Turns(Semaphore);

/// A turn, until it is dropped.
pub(crate) type Turn<'a> = Option<SemaphorePermit<'a>>;

impl Turns {
    pub(crate) fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self(Semaphore::new(processors))
    }

    /// Waits for a turn.
    pub(crate) async fn next(&self) -> Turn<'_> {
        // The semaphore is never closed.
        self.0.acquire().await.ok()
    }
}
