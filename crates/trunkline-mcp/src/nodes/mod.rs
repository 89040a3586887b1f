//! The state that the servers of several nodes share.

#[cfg(feature = "nodes")]
mod stored;

use std::collections::BTreeSet;
use std::fmt;
use std::pin::Pin;

use serde::{Deserialize, Serialize};
use trunkline::BoxError;

use crate::log_level::LogLevel;

#[cfg(feature = "nodes")]
pub use self::stored::StoredNodes;

/// The state that the servers of several nodes share: the sessions of HTTP clients, the events of their streams, and
/// messages between the servers. Each method is atomic, and durable when its future completes.
pub trait Nodes: fmt::Debug + Send + Sync + 'static {
    /// Adds a session, or replaces the one with this id, and sets its [`since`](SessionRecord::since). If there are `max` already, the least recently
    /// used one of the caller who has most, including the new one, is removed, first those whose client has sent nothing
    /// since `initialize`. False if all of them are in use.
    fn create_session(
        &self,
        id: String,
        session: SessionRecord,
        max: usize,
    ) -> NodesFuture<'_, bool>;

    /// The session with this id, which is used now. `None` if it does not exist or has expired.
    fn find_session(&self, id: String) -> NodesFuture<'_, Option<SessionRecord>>;

    /// Changes a session. One that does not exist is ignored.
    fn change_session(&self, id: String, change: SessionChange) -> NodesFuture<'_, ()>;

    /// Removes a session and its events.
    fn end_session(&self, id: String) -> NodesFuture<'_, ()>;

    /// Records that these sessions are in use. Returns those that exist.
    fn keep_sessions(&self, ids: Vec<String>) -> NodesFuture<'_, Vec<String>>;

    /// Adds events to a stream, and removes the oldest ones of the session that exceed `max_bytes` in total.
    fn add_events(
        &self,
        session: String,
        stream: u64,
        events: Vec<StreamEvent>,
        max_bytes: usize,
    ) -> NodesFuture<'_, ()>;

    /// The events of a stream from a number on. Empty if they were not added yet. `None` if the stream is unknown.
    fn events(
        &self,
        session: String,
        stream: u64,
        from: u64,
    ) -> NodesFuture<'_, Option<Vec<StreamEvent>>>;

    /// Adds a message to the log.
    fn publish(&self, message: String) -> NodesFuture<'_, ()>;

    /// The first messages of the log after a number, at most [`MESSAGE_PAGE`], in the order of their numbers. A message
    /// that is added later has a greater number than those that were returned.
    fn messages(&self, after: u64) -> NodesFuture<'_, Vec<(u64, String)>>;

    /// The number of the last message, and whether the log has all messages after `since`.
    fn position(&self, since: u64) -> NodesFuture<'_, (u64, bool)>;
}

/// The maximum number of messages that [`Nodes::messages`] returns.
pub const MESSAGE_PAGE: usize = 1_000;

/// A future of a result of [`Nodes`].
pub type NodesFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, NodesError>> + Send + 'a>>;

/// The reason why the state that nodes share cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NodesError {
    /// The storage is busy or cannot be reached. Outages are logged by the implementation of [`Nodes`], and not for
    /// each call.
    #[error("the state that nodes share is currently not available")]
    Temporary(#[source] BoxError),
    /// Another error.
    #[error("the state that nodes share is not available")]
    Failed(#[source] BoxError),
}

impl NodesError {
    /// Another error than [`Temporary`](Self::Temporary).
    pub fn failed(cause: impl Into<BoxError>) -> Self {
        Self::Failed(cause.into())
    }

    /// Logs an error that is not temporary. `problem` is its consequence.
    pub(crate) fn log(&self, problem: &'static str) {
        let error = self as &dyn std::error::Error;
        match self {
            Self::Temporary(_) => tracing::debug!(error, "{problem}"),
            Self::Failed(_) => tracing::warn!(error, "{problem}"),
        }
    }
}

/// A session.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SessionRecord {
    /// The key of the caller that has opened it. `None` without authentication.
    pub owner: Option<String>,
    /// The key of the caller in whose share of the sessions it is: the owner, or else the address.
    #[serde(default)]
    pub caller: String,
    /// The revision of the protocol. `None` for a stream of HTTP+SSE.
    pub version: Option<String>,
    /// The capabilities of the client, as JSON.
    pub capabilities: String,
    /// The name and version of the client. `None` if it has none, or was stored by a version that did not store them.
    #[serde(default)]
    pub client: Option<[String; 2]>,
    /// The minimum level of log messages.
    pub level: LogLevel,
    /// The URIs of the resources to whose changes the client subscribes.
    pub resources: BTreeSet<String>,
    /// The number of the last message in the log when the session was created.
    pub since: u64,
    /// Whether its client has ended the session. The store of a single server remembers that, since ids open sessions
    /// again.
    #[serde(default)]
    pub is_ended: bool,
}

/// A change of a session.
#[derive(Debug, Clone)]
pub enum SessionChange {
    /// Sets the minimum level of log messages.
    Level(LogLevel),
    /// Adds a subscription to a resource.
    Subscribe(String),
    /// Removes a subscription to a resource.
    Unsubscribe(String),
}

impl SessionRecord {
    /// Applies a change.
    pub fn apply(&mut self, change: &SessionChange) {
        match change {
            SessionChange::Level(level) => self.level = *level,
            SessionChange::Subscribe(uri) => {
                self.resources.insert(uri.clone());
            }
            SessionChange::Unsubscribe(uri) => {
                self.resources.remove(uri);
            }
        }
    }
}

/// An event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamEvent {
    /// Its number in the stream.
    pub number: u64,
    /// The content.
    pub content: EventContent,
}

/// The content of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventContent {
    /// A message as JSON text.
    Message(String),
    /// The connection is closed here, and the client reconnects.
    Close,
    /// The end of the stream, which is not an event for the client.
    End,
}
