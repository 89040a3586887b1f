//! Conversations in a database. A turn is written as a whole when it ends, and is durable before the reply.

mod config;
mod statements;
mod truncate;

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use trunkline_storage::{Connection, Location, Schema, Store, StoreConfig, StoreError};

use crate::model::Message;

pub use config::ConversationConfig;
use statements::SaveOutcome;
pub use statements::Summary;
pub(crate) use statements::{Identity, PendingCall, SavedTurn, Transcript};
pub use trunkline_storage::OpenError;

/// The reason why conversations could not be read or saved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConversationError {
    /// The conversation was deleted during the turn, by its owner or in favour of newer ones. It stays deleted.
    #[error("the conversation was deleted during the turn")]
    Deleted,
    /// Another process has saved a turn of the conversation during the turn.
    #[error("another turn of this conversation was saved first; send the message again")]
    Changed,
    /// The storage failed, timed out, or was closed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ConversationError {
    /// Whether the store cannot reach its server, which it has logged.
    pub(crate) fn is_outage(&self) -> bool {
        matches!(self, Self::Store(StoreError::Unreachable(_)))
    }
}

const SCHEMA: Schema = Schema {
    name: "conversations",
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
    postgres: &[r#"
        CREATE TABLE conversation (
            id text COLLATE "C" PRIMARY KEY,
            caller text COLLATE "C" NOT NULL,
            title text NOT NULL,
            created_ms bigint NOT NULL,
            updated_ms bigint NOT NULL,
            pending text,
            pending_until_ms bigint
        );
        CREATE INDEX conversation_of_caller ON conversation (caller, updated_ms);
        CREATE INDEX conversation_of_time ON conversation (updated_ms);
        CREATE TABLE turn (
            conversation text COLLATE "C" NOT NULL REFERENCES conversation ON DELETE CASCADE,
            number bigint NOT NULL,
            messages text NOT NULL,
            count bigint NOT NULL,
            bytes bigint NOT NULL,
            PRIMARY KEY (conversation, number)
        );
    "#],
};

/// Conversations, each of which belongs to one caller. Cloning is cheap; the threads end with the last clone.
#[derive(Debug, Clone)]
pub struct Conversations {
    store: Store,
    config: Arc<ConversationConfig>,
}

impl Conversations {
    /// Opens `agent.sqlite` in a directory, or a PostgreSQL database. A directory and its file are created if they are
    /// missing, for their owner only. Blocks.
    ///
    /// # Errors
    /// If the database cannot be created or opened, or is another program's.
    pub fn open(
        location: impl Into<Location>,
        config: ConversationConfig,
    ) -> Result<Self, OpenError> {
        let store = Store::open(location, SCHEMA, store_config(&config), maintain(&config))?;
        Ok(Self { store, config: Arc::new(config) })
    }

    /// Conversations whose file is created by the first turn, and opened by the first request if it exists.
    #[must_use]
    pub fn deferred(location: impl Into<Location>, config: ConversationConfig) -> Self {
        let store = Store::deferred(location, SCHEMA, store_config(&config), maintain(&config));
        Self { store, config: Arc::new(config) }
    }

    /// Opens the file of [deferred](Self::deferred) conversations if it exists. Otherwise checks that it could be
    /// created, and creates nothing. Blocks.
    ///
    /// # Errors
    /// Those of [`open`](Self::open). Requests try again.
    pub fn prepare(&self) -> Result<(), OpenError> {
        self.store.prepare()
    }

    /// The reason why the last turns could not be read or saved, without access to the file. It is safe to send to
    /// clients.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        self.store.problem()
    }

    /// Rejects new turns, saves the queued ones, and waits until the file is closed. Blocks. Returns false on a
    /// timeout.
    #[must_use]
    pub fn close(&self, patience: Duration) -> bool {
        self.store.close(patience)
    }

    /// The messages of a conversation; `None` if the caller has no such conversation.
    pub(crate) async fn transcript(
        &self,
        caller: &str,
        conversation: &str,
    ) -> Result<Option<Transcript>, ConversationError> {
        let (caller, conversation) = (caller.to_owned(), conversation.to_owned());
        self.read(move |connection, _| statements::transcript(connection, &caller, &conversation))
            .await
    }

    /// Saves a turn if no other one has been saved since it began, and deletes the turns and conversations that exceed
    /// the limits.
    pub(crate) async fn save(&self, turn: SavedTurn) -> Result<(), ConversationError> {
        let bytes = turn.messages.iter().map(Message::bytes).sum();
        let outcome = self
            .write(bytes, move |connection, config| statements::save(connection, config, &turn))
            .await?;
        match outcome {
            SaveOutcome::Saved => Ok(()),
            SaveOutcome::Deleted => Err(ConversationError::Deleted),
            SaveOutcome::Changed => Err(ConversationError::Changed),
        }
    }

    /// Takes the pending call that `token` confirms. A token works once.
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

    /// The caller's conversations, most recently updated first.
    pub(crate) async fn list(&self, caller: &str) -> Result<Vec<Summary>, ConversationError> {
        let caller = caller.to_owned();
        self.read(move |connection, config| statements::list(connection, config, &caller)).await
    }

    /// Deletes one of the caller's conversations; false if it does not exist.
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
        work: impl Fn(&Connection, &ConversationConfig) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, ConversationError> {
        let config = Arc::clone(&self.config);
        let work = move |connection: &_| work(connection, &config);
        Ok(self.store.read(pending(), work).await?)
    }

    async fn write<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl Fn(&Connection, &ConversationConfig) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, ConversationError> {
        let config = Arc::clone(&self.config);
        let work = move |connection: &_| work(connection, &config);
        Ok(self.store.write(pending(), bytes, work).await?)
    }
}

fn store_config(config: &ConversationConfig) -> StoreConfig {
    StoreConfig {
        timeout: config.timeout,
        confirm_wait: Duration::ZERO,
        readers: 1,
        read_queue: config.queue,
        write_queue: config.queue,
        lock_wait: config.timeout / 2,
        erase_deleted: true,
        ..StoreConfig::default()
    }
}

/// Deletes old conversations.
fn maintain(
    config: &ConversationConfig,
) -> impl FnMut(&Connection, Duration) -> Result<(), StoreError> + use<> {
    let max_age = config.max_age;
    move |connection, _| statements::delete_old(connection, max_age)
}
