use std::sync::Arc;

use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;
use trunkline_storage::Connection;

use super::request::ChangeRequest;
use super::{Context, RecordChange, Records, check_empty_payload, not_found, required_id};
use crate::command::{Command, RequestId};
use crate::declaration::{RecordType, Verb};
use crate::error::Error;
use crate::record;
use crate::store::Tables;

impl Records {
    /// Executes a command and returns the JSON text of its result. Changes are durable when the future completes.
    ///
    /// # Errors
    /// A command that failed had no effect, except that an
    /// [`Unconfirmed`](trunkline_storage::StoreError::Unconfirmed) one may have had.
    ///
    /// # Cancel safety
    /// Dropping the future or cancelling the token withdraws a command that has not started.
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
                let max_bytes = self.0.config.max_record_bytes;
                let request = ChangeRequest::new(kind, verb, command, context, max_bytes)?;
                let weight = request.weight();
                let write =
                    move |connection: &_| request.apply(&Tables::new(connection), max_bytes);
                self.write(cancel, weight, write).await?
            }
            Verb::Revert => self.revert(kind, command, context, cancel).await?,
        };
        RawValue::from_string(text).map_err(|_| {
            let (resource, id) = (kind.name().to_owned(), String::new());
            Error::Corrupt { what: "reply", resource, id }
        })
    }

    /// Writes, and notifies the listeners of the change, if there is one.
    pub(super) async fn write(
        &self,
        cancel: &CancellationToken,
        weight: usize,
        work: impl FnMut(&Connection) -> Result<(String, Option<RecordChange>), Error> + Send + 'static,
    ) -> Result<String, Error> {
        let listeners = Arc::clone(&self.0.listeners);
        let committed = move |(_, change): &(String, Option<RecordChange>)| {
            if let Some(change) = change {
                listeners.notify(change);
            }
        };
        let written = self.0.store.write_then(cancel.cancelled(), weight, work, committed).await?;
        Ok(written.0)
    }

    /// The record type of a request with an id, if it is known.
    ///
    /// # Errors
    /// The same as of [`execute`](Self::execute).
    pub async fn resource_of_request(
        &self,
        request_id: &RequestId,
        context: &Context,
        cancel: &CancellationToken,
    ) -> Result<Option<String>, Error> {
        let (caller, request_id) = (context.caller.clone(), request_id.clone());
        let read = move |connection: &_| {
            Tables::new(connection)
                .request(caller.as_str(), request_id.as_str())
                .map_err(Error::from)
        };
        let request = self.0.store.read(cancel.cancelled(), read).await?;
        Ok(request.map(|request| request.resource))
    }

    async fn read(
        &self,
        kind: &RecordType,
        command: Command,
        cancel: &CancellationToken,
    ) -> Result<String, Error> {
        let id = required_id(&command)?;
        check_empty_payload(&command)?;
        let kind = kind.clone();
        let read = move |connection: &_| {
            let row = Tables::new(connection).record(kind.name(), id.as_str())?;
            let row = row.ok_or_else(|| not_found(&kind, &id))?;
            record::text(&kind, &id, &row)
        };
        self.0.store.read(cancel.cancelled(), read).await
    }
}
