//! Turns of batches, which keep a thread busy.

use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::Semaphore;

use trunkline_core::batch;

/// As many turns as there are processors, given in the order in which they are asked for.
///
/// Any number of batches can wait, and at most one for each processor runs, so that other tasks of the
/// runtime wait for a few batches and not for all.
#[derive(Debug)]
pub(crate) struct Turns(Arc<Semaphore>);

impl Turns {
    pub(crate) fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self(Arc::new(Semaphore::new(processors)))
    }
}

impl batch::Turns for Turns {
    fn next(&self) -> Pin<Box<dyn Future<Output = batch::Turn> + Send + '_>> {
        // The semaphore is never closed.
        let turn = Arc::clone(&self.0).acquire_owned();
        Box::pin(async { Box::new(turn.await.ok()) as batch::Turn })
    }
}
