//! The threads that read, and how a future gets one.
//!
//! SQLite blocks, so each connection lives on a thread of its own and never meets the async runtime. A
//! semaphore counts the free readers; whoever holds a permit finds one in the idle stack. The reader gives
//! the permit back when SQLite has truly let go, which may be later than the caller's answer: one long
//! opcode cannot be interrupted. So stuck readers are bounded by their number, and the calls that find
//! none are answered `Busy`.

mod reader;
mod stop;
mod task;

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit, oneshot};
use tokio::time::timeout_at;
use tokio_util::sync::CancellationToken;

use crate::error::{Error, OpenError};
use crate::file::DatabaseFile;
use crate::session::Session;
use crate::settings::Settings;
use reader::Job;
use stop::Stop;
use task::Work;

pub(crate) struct Readers {
    settings: Arc<Settings>,
    idle: Arc<IdleStack>,
    free: Arc<Semaphore>,
    /// One permit for each call that may wait.
    queue: Semaphore,
}

/// The inboxes of the readers that have no job. The last one in is the first one out: its page cache and
/// statements are the warmest.
type IdleStack = Mutex<Vec<Sender<Job>>>;

/// A reader taken out of the idle stack. Dropped, it goes back.
pub(super) struct Seat {
    inbox: Sender<Job>,
    idle: Arc<IdleStack>,
    _permit: OwnedSemaphorePermit,
}

impl Readers {
    pub(crate) fn start(file: DatabaseFile, settings: Settings) -> Result<Self, OpenError> {
        let file = Arc::new(file);
        let settings = Arc::new(settings);
        let mut idle = Vec::with_capacity(settings.readers);
        for number in 0..settings.readers {
            idle.push(reader::start(number, Arc::clone(&file), Arc::clone(&settings))?);
        }
        Ok(Self {
            free: Arc::new(Semaphore::new(settings.readers)),
            queue: Semaphore::new(settings.queue),
            idle: Arc::new(Mutex::new(idle)),
            settings,
        })
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Runs `work` on a reader. The work may run more than once, if the file changed under it.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future interrupts the work.
    pub(crate) async fn call<T, F>(
        &self,
        timeout: Duration,
        cancel: &CancellationToken,
        work: F,
    ) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnMut(&mut Session<'_>) -> Result<T, Error> + Send + 'static,
    {
        let started = Instant::now();
        let patience = stop::moment(started, timeout.min(self.settings.queue_wait));
        let seat = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Error::Cancelled),
            seat = self.seat(patience) => seat?,
        };

        let stop = Arc::new(Stop::new(started, timeout));
        let (reply, answer) = oneshot::channel();
        let inbox = seat.inbox.clone();
        let job = Job::new(Box::new(Work::new(work, reply)), Arc::clone(&stop), seat);
        // Dropping this future, or leaving it early, stops the work.
        let _stop_when_dropped = stop::Guard::new(&stop);
        inbox.send(job).map_err(|_| Error::ReaderLost)?;

        tokio::select! {
            biased;
            answer = answer => answer.unwrap_or(Err(Error::ReaderLost)),
            () = cancel.cancelled() => Err(Error::Cancelled),
            () = tokio::time::sleep_until(stop.deadline().into()) => Err(stop.timeout_error()),
        }
    }

    async fn seat(&self, patience: Instant) -> Result<Seat, Error> {
        let permit = match Arc::clone(&self.free).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => self.wait_for_reader(patience).await?,
        };
        let inbox = lock(&self.idle).pop().ok_or(Error::ReaderLost)?;
        Ok(Seat { inbox, idle: Arc::clone(&self.idle), _permit: permit })
    }

    async fn wait_for_reader(&self, patience: Instant) -> Result<OwnedSemaphorePermit, Error> {
        let _place: SemaphorePermit<'_> = self.queue.try_acquire().map_err(|_| Error::Busy)?;
        let free = Arc::clone(&self.free).acquire_owned();
        match timeout_at(patience.into(), free).await {
            Ok(permit) => permit.map_err(|_| Error::ReaderLost),
            Err(_) => Err(Error::Busy),
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        lock(&self.idle).push(self.inbox.clone());
    }
}

/// Nothing panics while it holds one of this module's locks.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
