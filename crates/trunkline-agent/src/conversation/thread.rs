use std::io;
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, SyncSender, TrySendError, channel, sync_channel,
};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::error::{ConversationError, disk_reason};
use super::reserve::{Reserve, heap_limit};
use super::settings::Settings;

/// The thread that has the connection. It ends when this is closed or dropped, behind what waits.
#[derive(Debug)]
pub(super) struct Worker {
    /// None once it is closed.
    work: Mutex<Option<SyncSender<Work>>>,
    /// Disconnected when the thread has ended.
    running: Mutex<Receiver<()>>,
}

type Work = Box<dyn FnOnce(&mut Connection, &mut Reserve) + Send>;

impl Worker {
    pub(super) fn start(mut connection: Connection, settings: &Settings) -> io::Result<Self> {
        let (work, waiting) = sync_channel::<Work>(settings.queue);
        let (ends, running) = channel();
        let thread = std::thread::Builder::new().name("conversations".to_owned());
        thread.spawn(move || {
            let mut reserve = Reserve::new();
            for work in waiting {
                work(&mut connection, &mut reserve);
            }
            // The last connection takes the log away.
            drop(connection);
            drop(ends);
        })?;
        Ok(Self { work: Mutex::new(Some(work)), running: Mutex::new(running) })
    }

    /// Takes no more work, and waits until the thread has done what waits and closed the file. Blocks.
    /// False if that was not in time.
    pub(super) fn close(&self, patience: Duration) -> bool {
        locked(&self.work).take();
        locked(&self.running).recv_timeout(patience) == Err(RecvTimeoutError::Disconnected)
    }

    /// Runs `work` after what waits, and again if memory runs out before its commit.
    ///
    /// # Cancel safety
    /// Work that has not begun is not done; what has begun is.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        mut work: impl FnMut(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
        limit: Duration,
    ) -> Result<T, ConversationError> {
        let (answer, answered) = oneshot::channel();
        let work = Box::new(move |connection: &mut Connection, reserve: &mut Reserve| {
            let mut done = None;
            reserve.support(|| {
                // A caller that has gone, or had a timeout, may have asked again.
                done = (!answer.is_closed()).then(|| work(connection));
                matches!(&done, Some(Err(error)) if is_of_memory(error))
            });
            let Some(done) = done else { return };
            let _ = answer.send(done.map_err(ConversationError::from));
        });
        self.send(work)?;
        match timeout(limit, answered).await {
            Ok(Ok(done)) => done,
            Ok(Err(_)) => Err(ConversationError::Closed),
            Err(_) => Err(ConversationError::Timeout { after: limit }),
        }
    }

    fn send(&self, work: Work) -> Result<(), ConversationError> {
        let sender = locked(&self.work);
        let sender = sender.as_ref().ok_or(ConversationError::Closed)?;
        sender.try_send(work).map_err(|error| match error {
            TrySendError::Full(_) => ConversationError::Busy,
            TrySendError::Disconnected(_) => ConversationError::Closed,
        })
    }
}

fn is_of_memory(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::OutOfMemory)
}

impl From<rusqlite::Error> for ConversationError {
    fn from(error: rusqlite::Error) -> Self {
        if is_of_memory(&error) {
            return Self::OutOfMemory { limit: heap_limit() };
        }
        match disk_reason(&error) {
            Some(reason) => {
                Self::Unavailable { reason: reason.to_owned(), source: Some(Box::new(error)) }
            }
            None => Self::Sqlite(error),
        }
    }
}

/// Nothing panics while it holds one of these locks.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
