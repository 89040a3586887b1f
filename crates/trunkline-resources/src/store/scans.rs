use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::deadline::Deadline;
use crate::error::Error;
use crate::settings::Settings;

/// Lets fewer scans run than there are readers: what reads one record does not wait behind those that look
/// at many.
pub(super) struct Scans {
    running: Arc<Semaphore>,
    waiting: Semaphore,
}

/// Held while a scan runs.
pub(super) type Turn = OwnedSemaphorePermit;

impl Scans {
    pub(super) fn new(settings: &Settings) -> Self {
        let bound = |number: usize| Semaphore::new(number.min(Semaphore::MAX_PERMITS));
        Self {
            running: Arc::new(bound(settings.readers.saturating_sub(1).max(1))),
            waiting: bound(settings.read_queue),
        }
    }

    /// Waits until fewer scans run than may, unless too many wait already.
    pub(super) async fn turn(
        &self,
        deadline: Deadline,
        cancel: &CancellationToken,
    ) -> Result<Turn, Error> {
        let _place = self.waiting.try_acquire().map_err(|_| Error::Busy)?;
        let turn = deadline.in_time(cancel, Arc::clone(&self.running).acquire_owned()).await?;
        turn.map_err(|_| Error::Closed)
    }
}
