//! The threads that read, and how a future gets one.
//!
//! SQLite blocks, so each connection lives on a thread of its own and never meets the async runtime. A
//! semaphore counts the free readers; whoever holds a permit finds one in the idle stack. The reader is
//! free again when SQLite has truly let go, which may be later than the caller's answer: one long opcode
//! cannot be interrupted, nor can its thread be ended. A reader that is stuck in one is replaced, as soon
//! as a call finds no free one, up to a bound; beyond it, calls that find none are answered `Busy`.

mod reader;
mod seats;
mod stop;
mod task;

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, SemaphorePermit, oneshot};
use tokio::time::timeout_at;
use tokio_util::sync::CancellationToken;

use crate::error::{Error, OpenError};
use crate::file::DatabaseFile;
use crate::session::Session;
use crate::settings::Settings;
use reader::Job;
use seats::{Seat, Seats};
use stop::Stop;
use task::Work;

pub(crate) struct Readers {
    file: Arc<DatabaseFile>,
    settings: Arc<Settings>,
    seats: Arc<Seats>,
    /// One permit for each call that may wait.
    queue: Semaphore,
}

impl Readers {
    pub(crate) fn start(file: DatabaseFile, settings: Settings) -> Result<Self, OpenError> {
        let file = Arc::new(file);
        let settings = Arc::new(settings);
        let mut idle = Vec::with_capacity(settings.readers);
        for _ in 0..settings.readers {
            idle.push(reader::start(Arc::clone(&file), Arc::clone(&settings))?);
        }
        Ok(Self {
            seats: Arc::new(Seats::new(idle)),
            queue: Semaphore::new(settings.queue),
            file,
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
        let stop = Arc::new(Stop::new(started, timeout));
        let seat = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Error::Cancelled),
            seat = self.seat(&stop, patience) => seat?,
        };

        let (reply, answer) = oneshot::channel();
        let inbox = seat.inbox();
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

    async fn seat(&self, stop: &Arc<Stop>, patience: Instant) -> Result<Seat, Error> {
        let permit = match self.seats.free().try_acquire() {
            Ok(permit) => permit,
            Err(_) => self.wait_for_reader(patience).await?,
        };
        self.seats.take(permit, stop).ok_or(Error::ReaderLost)
    }

    async fn wait_for_reader(&self, patience: Instant) -> Result<SemaphorePermit<'_>, Error> {
        let mut next_look = self.replace_stuck();
        if let Ok(permit) = self.seats.free().try_acquire() {
            return Ok(permit);
        }
        let _place = self.queue.try_acquire().map_err(|_| Error::Busy)?;
        let mut free = pin!(self.seats.free().acquire());
        loop {
            let until = next_look.map_or(patience, |look| look.min(patience));
            match timeout_at(until.into(), &mut free).await {
                Ok(permit) => return permit.map_err(|_| Error::ReaderLost),
                Err(_) if until == patience => return Err(Error::Busy),
                Err(_) => next_look = self.replace_stuck(),
            }
        }
    }

    fn replace_stuck(&self) -> Option<Instant> {
        self.seats.replace_stuck(self.settings.stuck_readers, || {
            let started = reader::start(Arc::clone(&self.file), Arc::clone(&self.settings));
            started.inspect_err(|error| tracing::error!(%error, "no reader for a stuck one")).ok()
        })
    }
}

/// Nothing panics while it holds one of this module's locks.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
