//! Execution of commands on the store.

mod change;
mod execute;
mod listeners;
mod page;
mod request;
mod status;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::command::{Command, RecordId};
use crate::config::RecordsConfig;
use crate::declaration::{RecordType, RecordTypes};
use crate::error::Error;
use crate::excerpt::excerpt;
use crate::store;
use listeners::Listeners;
pub use listeners::RecordChange;
use trunkline_storage::{Location, OpenError, Store};

/// The records of the declared record types, in a dedicated SQLite database or in PostgreSQL. Clones share the database.
#[derive(Clone)]
pub struct Records(Arc<Inner>);

struct Inner {
    types: RecordTypes,
    store: Store,
    config: RecordsConfig,
    listeners: Arc<Listeners>,
}

impl Records {
    /// Opens the database in a directory, and creates both if they are missing, or a PostgreSQL database. The methods of this type need a tokio
    /// runtime with its timer enabled.
    ///
    /// # Errors
    /// If the directory or the database cannot be opened.
    pub fn open(
        location: impl Into<Location>,
        types: RecordTypes,
        config: RecordsConfig,
    ) -> Result<Self, OpenError> {
        Ok(Self::new(types, store::open(location.into(), &config)?, config))
    }

    /// Records whose database is created by the first change, or opened by the first command if it exists. Before that,
    /// commands find no records.
    #[must_use]
    pub fn deferred(
        location: impl Into<Location>,
        types: RecordTypes,
        config: RecordsConfig,
    ) -> Self {
        Self::new(types, store::deferred(location.into(), &config), config)
    }

    fn new(types: RecordTypes, store: Store, config: RecordsConfig) -> Self {
        Self(Arc::new(Inner { types, store, config, listeners: Arc::default() }))
    }

    /// Calls `listener` after each durable change of a record, before its command returns, on the thread of the store.
    /// The listener must not block, nor add listeners.
    pub fn on_change(&self, listener: impl Fn(&RecordChange) + Send + Sync + 'static) {
        self.0.listeners.add(listener);
    }

    /// Opens the database of [deferred](Self::deferred) records if it exists. Otherwise checks that it could be
    /// created, and creates nothing. Blocks.
    ///
    /// # Errors
    /// Those of [`open`](Self::open). Commands try again.
    pub fn prepare(&self) -> Result<(), OpenError> {
        self.0.store.prepare()
    }

    /// The reason why the last commands could not access the database. Safe to send to a client. Does not access files.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        self.0.store.problem()
    }

    /// The types of the records.
    #[must_use]
    pub fn types(&self) -> &RecordTypes {
        &self.0.types
    }

    /// The configuration.
    pub(crate) fn config(&self) -> &RecordsConfig {
        &self.0.config
    }

    /// Rejects new commands, finishes those that were accepted, and returns whether they finished within `timeout`.
    /// Blocks.
    #[must_use]
    pub fn close(&self, timeout: Duration) -> bool {
        self.0.store.close(timeout)
    }
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records").field("types", &self.0.types).finish_non_exhaustive()
    }
}

/// The caller of a command, and the mode of its execution.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Context {
    /// The caller. Different callers can use the same `requestId`.
    pub caller: Caller,
    /// Whether the command may have been executed before.
    pub mode: Mode,
}

/// The caller of a command, identified by name. The default is the name of unauthenticated callers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Caller(String);

impl Caller {
    /// A caller with this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The name of the caller.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether a command may have been executed before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// The command is executed.
    #[default]
    Execute,
    /// A change that is already in effect succeeds without a further change: creating an existing record, updating
    /// fields to their present values, deleting a missing record.
    Repeat,
}

/// The id of a command that requires one.
fn required_id(command: &Command) -> Result<RecordId, Error> {
    let missing =
        || Error::invalid(&["id"], format!("{} needs the id of a record", command.command));
    command.id.clone().ok_or_else(missing)
}

fn check_no_id(command: &Command) -> Result<(), Error> {
    let unexpected = || Error::invalid(&["id"], format!("{} takes no id", command.command));
    command.id.is_none().then_some(()).ok_or_else(unexpected)
}

/// Rejects the rest of the payload, which the command does not use.
fn check_empty_payload(command: &Command) -> Result<(), Error> {
    match command.payload.keys().next() {
        Some(name) => {
            let reason = format!("{} has no param {:?}; remove it", command.command, excerpt(name));
            Err(Error::invalid(&[name], reason))
        }
        None => Ok(()),
    }
}

fn not_found(kind: &RecordType, id: &RecordId) -> Error {
    Error::NotFound { resource: kind.name().to_owned(), id: id.to_string() }
}
