use std::io;
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, SyncSender, TrySendError, channel, sync_channel,
};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::error::ConversationError;
use super::settings::Settings;

/// The thread that has the connection. It ends when this is closed or dropped, behind what waits.
#[derive(Debug)]
pub(super) struct Worker {
    /// None once it is closed.
    work: Mutex<Option<SyncSender<Work>>>,
    /// Disconnected when the thread has ended.
    running: Mutex<Receiver<()>>,
}

type Work = Box<dyn FnOnce(&mut Connection) + Send>;

impl Worker {
    pub(super) fn start(mut connection: Connection, settings: &Settings) -> io::Result<Self> {
        let (work, waiting) = sync_channel::<Work>(settings.queue);
        let (ends, running) = channel();
        let thread = std::thread::Builder::new().name("conversations".to_owned());
        thread.spawn(move || {
            for work in waiting {
                work(&mut connection);
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

    /// Runs `work` behind what waits.
    ///
    /// # Cancel safety
    /// Work that has not begun is not done; what has begun is.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
        limit: Duration,
    ) -> Result<T, ConversationError> {
        let (answer, answered) = oneshot::channel();
        let work = Box::new(move |connection: &mut Connection| {
            // Whoever has gone, or was told that it takes too long, may have asked again.
            if !answer.is_closed() {
                let _ = answer.send(work(connection));
            }
        });
        self.send(work)?;
        match timeout(limit, answered).await {
            Ok(Ok(done)) => Ok(done?),
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

/// Nothing panics while it holds one of these locks.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
