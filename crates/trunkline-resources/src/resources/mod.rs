//! Commands, executed on what is stored.

mod change;
mod execute;
mod page;
mod request;
mod status;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::command::{Command, RecordId};
use crate::config::ResourcesConfig;
use crate::declaration::{ResourceType, ResourceTypes};
use crate::error::Error;
use crate::excerpt::excerpt;
use crate::store;
use trunkline_storage::{OpenError, Store};

/// The records of some resource types, in a dedicated SQLite database. Clones are the same records.
#[derive(Clone)]
pub struct Resources(Arc<Inner>);

struct Inner {
    types: ResourceTypes,
    store: Store,
    config: ResourcesConfig,
}

impl Resources {
    /// Opens the records in `directory`, which is made if it is missing. The futures of these resources
    /// need a tokio runtime with its timer enabled.
    ///
    /// # Errors
    /// The problem of the directory, or of the database in it.
    pub fn open(
        directory: impl AsRef<Path>,
        types: ResourceTypes,
        config: ResourcesConfig,
    ) -> Result<Self, OpenError> {
        let store = store::open(directory.as_ref(), &config)?;
        Ok(Self(Arc::new(Inner { types, store, config })))
    }

    /// Records whose file cannot be opened: each command fails with this reason, which clients can read.
    #[must_use]
    pub fn unavailable(
        types: ResourceTypes,
        config: ResourcesConfig,
        reason: impl Into<String>,
    ) -> Self {
        let store = Store::unavailable(reason);
        Self(Arc::new(Inner { types, store, config }))
    }

    /// The reason why the last commands could not read or change records. It is safe
    /// to send to a client, and looks at no file.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        self.0.store.problem()
    }

    /// The types of the records.
    #[must_use]
    pub fn types(&self) -> &ResourceTypes {
        &self.0.types
    }

    /// How they are kept and asked.
    pub(crate) fn config(&self) -> &ResourcesConfig {
        &self.0.config
    }

    /// Takes no more commands, finishes those that were taken, and returns whether that was in time.
    /// Blocks.
    #[must_use]
    pub fn close(&self, patience: Duration) -> bool {
        self.0.store.close(patience)
    }
}

impl fmt::Debug for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resources").field("types", &self.0.types).finish_non_exhaustive()
    }
}

/// The caller of a command, and the mode of its execution.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Context {
    /// The caller. Requests of different callers may have the same `requestId`.
    pub caller: Caller,
    /// Whether it may have been executed before.
    pub mode: Mode,
}

/// The caller of a command: a name that distinguishes callers. The default is that of all unknown callers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Caller(String);

impl Caller {
    /// The caller of this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// Its name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether a command may have been executed before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// It is executed, or it fails.
    #[default]
    Execute,
    /// A change that has been made is not made again: a record that is there need not be created, one that has
    /// the values is not changed, one that is gone need not be deleted.
    Repeat,
}

/// The id of a command that has to have one.
fn addressed(command: &Command) -> Result<RecordId, Error> {
    let missing =
        || Error::invalid(&["id"], format!("{} needs the id of a record", command.command));
    command.id.clone().ok_or_else(missing)
}

fn no_id(command: &Command) -> Result<(), Error> {
    let unexpected = || Error::invalid(&["id"], format!("{} takes no id", command.command));
    command.id.is_none().then_some(()).ok_or_else(unexpected)
}

/// Refuses what is left in the payload, which the command does not know.
fn nothing_else(command: &Command) -> Result<(), Error> {
    match command.payload.keys().next() {
        Some(name) => {
            let reason = format!("{} knows no {:?}: leave it out", command.command, excerpt(name));
            Err(Error::invalid(&[name], reason))
        }
        None => Ok(()),
    }
}

fn not_found(kind: &ResourceType, id: &RecordId) -> Error {
    Error::NotFound { resource: kind.name().to_owned(), id: id.to_string() }
}
