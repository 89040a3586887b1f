//! Commands, executed on what is stored.

mod change;
mod page;
mod request;
mod status;
mod weight;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::command::{Command, RecordId, RequestId};
use crate::declaration::{ResourceType, ResourceTypes, Verb};
use crate::error::{Error, OpenError, StorageError};
use crate::excerpt::excerpt;
use crate::record;
use crate::settings::Settings;
use crate::store::{Reading, Store, Writing};
use request::Requested;

/// The records of some resource types, kept in a SQLite database of their own. Clones are the same
/// records.
#[derive(Clone)]
pub struct Resources(Arc<Inner>);

struct Inner {
    types: ResourceTypes,
    store: Store,
    settings: Settings,
}

/// For whom a command is executed, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Context {
    /// Whose the command is. Requests of different callers may have the same `requestId`.
    pub caller: Caller,
    /// Whether it may have been executed before.
    pub mode: Mode,
}

/// Whose a command is: a name that tells callers apart. The default is that of all whom nobody knows.
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

/// Whether a command may have been executed before: it may or it may not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// It is executed, or it fails.
    #[default]
    Execute,
    /// What is done already is not done again: a record that is there need not be created, one that has
    /// the values is not changed, one that is gone need not be deleted.
    Repeat,
}

impl Resources {
    /// Opens the records in `directory`, which is made if it is missing. The futures of these resources
    /// need a tokio runtime with its timer enabled.
    ///
    /// # Errors
    /// What is wrong with the directory, or with the database in it.
    pub fn open(
        directory: impl AsRef<Path>,
        types: ResourceTypes,
        settings: Settings,
    ) -> Result<Self, OpenError> {
        let store = Store::open(directory.as_ref(), &settings)?;
        Ok(Self(Arc::new(Inner { types, store, settings })))
    }

    /// Records whose file cannot be opened: each command fails with this reason, which clients can read.
    #[must_use]
    pub fn unavailable(
        types: ResourceTypes,
        settings: Settings,
        reason: impl Into<String>,
    ) -> Self {
        let store = Store::unavailable(reason.into());
        Self(Arc::new(Inner { types, store, settings }))
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
    pub(crate) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// Executes a command, and answers with the JSON text of its result. What it changed is durable
    /// then.
    ///
    /// # Errors
    /// Why it had no effect; only an [`Unconfirmed`](Error::Unconfirmed) one may have had it.
    ///
    /// # Cancel safety
    /// Dropping the future, or cancelling the token, takes the command back if it was not begun.
    pub async fn execute(
        &self,
        command: Command,
        context: &Context,
        cancel: &CancellationToken,
    ) -> Result<Box<RawValue>, Error> {
        let kind = self.0.types.get(&command.resource);
        let Some((kind, verb)) = kind.zip(Verb::parse(&command.command)) else {
            let Command { resource, command, .. } = command;
            return Err(Error::UnknownCommand { resource, command });
        };
        tracing::debug!(
            resource = kind.name(),
            command = verb.as_str(),
            protocol = ?command.metadata.protocol,
            jsonrpc_id = command.metadata.jsonrpc_id.as_deref().map(RawValue::get),
            request_id = command.metadata.request_id.as_ref().map(RequestId::as_str),
            "execute"
        );
        let text = match verb {
            Verb::Read => self.read(kind, command, cancel).await?,
            Verb::List => self.list(kind, command, cancel).await?,
            Verb::Filter => self.filter(kind, command, cancel).await?,
            Verb::Status => self.status(kind, command, cancel).await?,
            Verb::Create | Verb::Update | Verb::Delete => {
                let max_bytes = self.0.settings.max_record_bytes;
                let requested = Requested::new(kind, verb, command, context, max_bytes)?;
                let weight = requested.weight();
                let write = move |store: &Writing<'_>| requested.make(store, max_bytes);
                self.0.store.write(cancel, weight, write).await?
            }
            Verb::Revert => self.revert(kind, command, context, cancel).await?,
        };
        RawValue::from_string(text).map_err(|_| {
            let (resource, id) = (kind.name().to_owned(), String::new());
            Error::Storage(StorageError::Corrupt { what: "reply", resource, id })
        })
    }

    /// The resource that a request was made to, if it is known.
    ///
    /// # Errors
    /// As of [`execute`](Self::execute).
    pub async fn requested(
        &self,
        request_id: &RequestId,
        context: &Context,
        cancel: &CancellationToken,
    ) -> Result<Option<String>, Error> {
        let (caller, request_id) = (context.caller.clone(), request_id.clone());
        let read = move |store: &Reading<'_>| store.request(caller.as_str(), request_id.as_str());
        let request = self.0.store.read(cancel, read).await?;
        Ok(request.map(|request| request.resource))
    }

    /// Takes no more commands, ends those that were taken, and tells whether that came to be in time.
    /// Blocks.
    #[must_use]
    pub fn close(&self, patience: Duration) -> bool {
        self.0.store.close(patience)
    }

    async fn read(
        &self,
        kind: &ResourceType,
        command: Command,
        cancel: &CancellationToken,
    ) -> Result<String, Error> {
        let id = addressed(&command)?;
        nothing_else(&command)?;
        let kind = kind.clone();
        let read = move |store: &Reading<'_>| {
            let row = store.record(kind.name(), id.as_str())?;
            let row = row.ok_or_else(|| not_found(&kind, &id))?;
            record::text(&kind, &id, &row)
        };
        self.0.store.read(cancel, read).await
    }
}

impl fmt::Debug for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resources").field("types", &self.0.types).finish_non_exhaustive()
    }
}

/// The id of a command that has to have one.
fn addressed(command: &Command) -> Result<RecordId, Error> {
    let missing =
        || Error::invalid(&["id"], format!("{} needs the id of a record", command.command));
    command.id.clone().ok_or_else(missing)
}

fn no_id(command: &Command) -> Result<(), Error> {
    let told = || Error::invalid(&["id"], format!("{} takes no id", command.command));
    command.id.is_none().then_some(()).ok_or_else(told)
}

/// What is left in the payload is not known to the command.
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
