//! Conversations in a database file. A turn is written when it is over, as a whole, and durable before it is answered.

mod bounded;
mod config;
mod statements;

use std::future::pending;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use trunkline_storage::{Schema, Store, StoreConfig, StoreError};

use crate::model::Message;

pub use config::ConversationConfig;
pub use statements::Summary;
pub(crate) use statements::{Identity, PendingCall, Turn};
pub use trunkline_storage::OpenError;

/// The reason why conversations could not be read or kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConversationError {
    /// The conversation was deleted while its turn ran, or had to give way to newer ones. It stays deleted.
    #[error("the conversation was deleted meanwhile")]
    Deleted,
    /// The storage failed, had no time, or was closed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

const SCHEMA: Schema = Schema {
    file: "agent.sqlite",
    // `tlag`.
    application_id: 0x746c_6167,
    migrations: &["
        CREATE TABLE conversation (
            id TEXT PRIMARY KEY,
            caller TEXT NOT NULL,
            title TEXT NOT NULL,
            created_ms INTEGER NOT NULL,
            updated_ms INTEGER NOT NULL,
            pending TEXT,
            pending_until_ms INTEGER
        ) STRICT;
        CREATE INDEX conversation_of_caller ON conversation (caller, updated_ms);
        CREATE INDEX conversation_of_time ON conversation (updated_ms);
        CREATE TABLE turn (
            conversation TEXT NOT NULL REFERENCES conversation ON DELETE CASCADE,
            number INTEGER NOT NULL,
            messages TEXT NOT NULL,
            count INTEGER NOT NULL,
            bytes INTEGER NOT NULL,
            PRIMARY KEY (conversation, number)
        ) STRICT;
    "],
};

/// Conversations, each of which belongs to one caller. Cloning is cheap; the threads end with the last clone.
#[derive(Debug, Clone)]
pub struct Conversations {
    store: Store,
    config: Arc<ConversationConfig>,
}

impl Conversations {
    /// Opens `agent.sqlite` in `directory`. Both are created if they are missing, for their owner only. Blocks.
    ///
    /// # Errors
    /// When the file cannot be created or opened, or is another program's database.
    pub fn open(directory: &Path, config: ConversationConfig) -> Result<Self, OpenError> {
        let store = StoreConfig {
            timeout: config.timeout,
            confirm_wait: Duration::ZERO,
            readers: 1,
            read_queue: config.queue,
            write_queue: config.queue,
            lock_wait: config.timeout / 2,
            erase_deleted: true,
            ..StoreConfig::default()
        };
        let max_age = config.max_age;
        let maintain =
            move |connection: &Connection, _| statements::delete_old(connection, max_age);
        let store = Store::open(directory, SCHEMA, store, maintain)?;
        Ok(Self { store, config: Arc::new(config) })
    }

    /// Conversations whose file cannot be opened: what needs them fails with this reason, which clients can read.
    #[must_use]
    pub fn unavailable(config: ConversationConfig, reason: impl Into<String>) -> Self {
        Self { store: Store::unavailable(reason), config: Arc::new(config) }
    }

    /// The reason why the last turns could not be read or kept. It is safe to
    /// send to a client, and looks at no file.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        self.store.problem()
    }

    /// Takes no more turns, keeps those that were taken, and waits until the file is closed. Blocks. False if
    /// that was not in time.
    #[must_use]
    pub fn close(&self, patience: Duration) -> bool {
        self.store.close(patience)
    }

    /// The messages of a conversation; none if the caller has no such conversation.
    pub(crate) async fn messages(
        &self,
        caller: &str,
        conversation: &str,
    ) -> Result<Option<Vec<Message>>, ConversationError> {
        let (caller, conversation) = (caller.to_owned(), conversation.to_owned());
        self.read(move |connection, _| statements::messages(connection, &caller, &conversation))
            .await
    }

    /// Keeps a turn, and deletes the turns and conversations that exceed the limits.
    pub(crate) async fn keep(&self, turn: Turn) -> Result<(), ConversationError> {
        let bytes = turn.messages.iter().map(Message::bytes).sum();
        let is_kept = self
            .write(bytes, move |connection, config| statements::keep(connection, config, &turn))
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
        self.write(0, move |connection, config| {
            statements::take_pending(connection, config, (&place.0, &place.1), &place.2)
        })
        .await
    }

    /// The caller's conversations, the one with the newest turn first.
    pub(crate) async fn list(&self, caller: &str) -> Result<Vec<Summary>, ConversationError> {
        let caller = caller.to_owned();
        self.read(move |connection, config| statements::list(connection, config, &caller)).await
    }

    /// Deletes one of the caller's conversations; false if there is none of this id.
    pub(crate) async fn delete(
        &self,
        caller: &str,
        conversation: &str,
    ) -> Result<bool, ConversationError> {
        let (caller, conversation) = (caller.to_owned(), conversation.to_owned());
        self.write(0, move |connection, _| statements::delete(connection, &caller, &conversation))
            .await
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl Fn(&Connection, &ConversationConfig) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, ConversationError> {
        let config = Arc::clone(&self.config);
        let work = move |connection: &_| work(connection, &config).map_err(StoreError::from);
        Ok(self.store.read(pending(), work).await?)
    }

    async fn write<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl Fn(&Connection, &ConversationConfig) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, ConversationError> {
        let config = Arc::clone(&self.config);
        let work = move |connection: &_| work(connection, &config).map_err(StoreError::from);
        Ok(self.store.write(pending(), bytes, work).await?)
    }
}
