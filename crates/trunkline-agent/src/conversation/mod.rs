//! What was said, kept: conversations in a SQLite file.
//!
//! SQLite blocks, so its one connection lives on a thread of its own. A turn is written when it is
//! over, as a whole, and durable before it is answered.

mod bounded;
mod error;
mod file;
mod reserve;
mod settings;
mod statements;
mod thread;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::model::Message;
use thread::Worker;

pub use error::{ConversationError, OpenError};
pub use settings::Settings;
pub use statements::Summary;
pub(crate) use statements::{Identity, PendingCall, Turn};

/// Conversations, each of which belongs to one caller. Cloning is cheap; the thread ends with the last clone.
#[derive(Debug, Clone)]
pub struct Conversations {
    /// The error is the reason why the file cannot be opened.
    worker: Result<Arc<Worker>, String>,
    settings: Arc<Settings>,
    /// Why the last turn could not be read or kept.
    problem: Arc<Mutex<Option<String>>>,
}

impl Conversations {
    /// Opens `agent.sqlite` in `directory`. Both are made if they are missing, for their owner only. Blocks.
    ///
    /// # Errors
    /// When the file cannot be made or opened, or is no database of conversations.
    pub fn open(directory: &Path, settings: Settings) -> Result<Self, OpenError> {
        let connection = file::open(directory, &settings)?;
        let worker = Worker::start(connection, &settings).map_err(OpenError::Thread)?;
        let worker = Ok(Arc::new(worker));
        Ok(Self { worker, settings: Arc::new(settings), problem: Arc::default() })
    }

    /// Conversations whose file cannot be opened: what needs them fails with this reason, which clients can read.
    #[must_use]
    pub fn unavailable(settings: Settings, reason: impl Into<String>) -> Self {
        let worker = Err(reason.into());
        Self { worker, settings: Arc::new(settings), problem: Arc::default() }
    }

    /// The reason why the last turns could not be read or kept. It is safe to
    /// send to a client, and looks at no file.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        match &self.worker {
            Ok(_) => self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            Err(reason) => Some(reason.clone()),
        }
    }

    /// Takes no more turns, keeps those that were taken, and waits until the file is closed. Blocks. False if
    /// that was not in time.
    #[must_use]
    pub fn close(&self, patience: Duration) -> bool {
        match &self.worker {
            Ok(worker) => worker.close(patience),
            Err(_) => true,
        }
    }

    /// The messages of a conversation; none if the caller has no such conversation.
    pub(crate) async fn messages(
        &self,
        caller: &str,
        conversation: &str,
    ) -> Result<Option<Vec<Message>>, ConversationError> {
        let (caller, conversation) = (caller.to_owned(), conversation.to_owned());
        self.run(move |connection, _| statements::messages(connection, &caller, &conversation))
            .await
    }

    /// Keeps a turn, and forgets what is too much or too old.
    pub(crate) async fn keep(&self, turn: Turn) -> Result<(), ConversationError> {
        let is_kept = self
            .run(move |connection, settings| statements::keep(connection, settings, &turn))
            .await?;
        if is_kept { Ok(()) } else { Err(ConversationError::Deleted) }
    }

    /// Takes the call that `token` confirms: the next one who asks finds none.
    pub(crate) async fn take_pending(
        &self,
        caller: &str,
        conversation: &str,
        token: &str,
    ) -> Result<Option<PendingCall>, ConversationError> {
        let place = (caller.to_owned(), conversation.to_owned(), token.to_owned());
        self.run(move |connection, settings| {
            statements::take_pending(connection, settings, (&place.0, &place.1), &place.2)
        })
        .await
    }

    /// The caller's conversations, the one with the newest turn first.
    pub(crate) async fn list(&self, caller: &str) -> Result<Vec<Summary>, ConversationError> {
        let caller = caller.to_owned();
        self.run(move |connection, settings| statements::list(connection, settings, &caller)).await
    }

    /// Deletes one of the caller's conversations; false if there is none of this id.
    pub(crate) async fn delete(
        &self,
        caller: &str,
        conversation: &str,
    ) -> Result<bool, ConversationError> {
        let (caller, conversation) = (caller.to_owned(), conversation.to_owned());
        self.run(move |connection, _| statements::delete(connection, &caller, &conversation)).await
    }

    async fn run<T: Send + 'static>(
        &self,
        mut work: impl FnMut(&mut rusqlite::Connection, &Settings) -> rusqlite::Result<T>
        + Send
        + 'static,
    ) -> Result<T, ConversationError> {
        let settings = Arc::clone(&self.settings);
        let worker = self.worker.as_ref().map_err(|reason| ConversationError::Unavailable {
            reason: reason.clone(),
            source: None,
        })?;
        let work = move |connection: &mut _| work(connection, &settings);
        let outcome = worker.run(work, self.settings.timeout).await;
        let mut problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        match &outcome {
            Ok(_) => *problem = None,
            Err(ConversationError::Unavailable { reason, .. }) => *problem = Some(reason.clone()),
            Err(error @ ConversationError::Sqlite(_)) => *problem = Some(error.to_string()),
            Err(_) => {}
        }
        outcome
    }
}
