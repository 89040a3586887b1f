use std::io;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::error::ConversationError;
use super::settings::Settings;

/// The thread that has the connection. It ends when this is dropped, behind what waits.
#[derive(Debug)]
pub(super) struct Worker {
    work: SyncSender<Work>,
}

type Work = Box<dyn FnOnce(&mut Connection) + Send>;

impl Worker {
    pub(super) fn start(mut connection: Connection, settings: &Settings) -> io::Result<Self> {
        let (work, waiting) = sync_channel::<Work>(settings.queue);
        let thread = std::thread::Builder::new().name("conversations".to_owned());
        thread.spawn(move || {
            for work in waiting {
                work(&mut connection);
            }
        })?;
        Ok(Self { work })
    }

    /// Runs `work` behind what waits.
    ///
    /// # Cancel safety
    /// Work that was taken is done all the same.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
        limit: Duration,
    ) -> Result<T, ConversationError> {
        let (answer, answered) = oneshot::channel();
        let work = Box::new(move |connection: &mut Connection| {
            // Whoever asked may have gone.
            let _ = answer.send(work(connection));
        });
        self.work.try_send(work).map_err(|error| match error {
            TrySendError::Full(_) => ConversationError::Busy,
            TrySendError::Disconnected(_) => ConversationError::Closed,
        })?;
        match timeout(limit, answered).await {
            Ok(Ok(done)) => Ok(done?),
            Ok(Err(_)) => Err(ConversationError::Closed),
            Err(_) => Err(ConversationError::Timeout { after: limit }),
        }
    }
}
