//! The scheduler of batches.

use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::Semaphore;

use trunkline_core::batch;

/// A scheduler that grants one permit per processor, in the order of requests.
///
/// At most one batch per processor starts calls at a time, so that other tasks of the runtime wait for few
/// batches.
#[derive(Debug)]
pub(crate) struct SemaphoreScheduler(Arc<Semaphore>);

impl SemaphoreScheduler {
    pub(crate) fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self(Arc::new(Semaphore::new(processors)))
    }
}

impl batch::BatchScheduler for SemaphoreScheduler {
    fn acquire(&self) -> Pin<Box<dyn Future<Output = batch::BatchPermit> + Send + '_>> {
        // The semaphore is never closed.
        let permit = Arc::clone(&self.0).acquire_owned();
        Box::pin(async { Box::new(permit.await.ok()) as batch::BatchPermit })
    }
}
