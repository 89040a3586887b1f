//! Requests with an id, which are idempotent and can be reverted.

use serde::Serialize;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::change::{Change, ChangeOutcome};
use super::{Caller, Context, RecordChange, Records};
use crate::command::{Command, RecordId, RequestId};
use crate::declaration::{RecordType, Verb};
use crate::error::Error;
use crate::record;
use crate::store::{IdState, Request, Row, StateId, Tables, now};

/// The content of a request, which is compared with repetitions.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Content<'a> {
    command: &'a str,
    resource: &'a str,
    id: Option<&'a RecordId>,
    payload: &'a Map<String, Value>,
    if_version: Option<u64>,
}

/// A change, and the id of its request if there is one.
pub(super) struct ChangeRequest {
    change: Change,
    identity: Option<Identity>,
}

/// The identity of a request, and its content.
struct Identity {
    caller: Caller,
    request_id: RequestId,
    content: String,
}

impl ChangeRequest {
    pub(super) fn new(
        kind: &RecordType,
        verb: Verb,
        command: Command,
        context: &Context,
        max_bytes: usize,
    ) -> Result<Self, Error> {
        let identity = command.metadata.request_id.clone().map(|request_id| Identity {
            caller: context.caller.clone(),
            request_id,
            content: content(&command),
        });
        let change = Change::new(kind, verb, command, context.mode, max_bytes)?;
        Ok(Self { change, identity })
    }

    /// The approximate memory that the request holds, in bytes.
    pub(super) fn weight(&self) -> usize {
        self.change.weight() + self.identity.as_ref().map_or(0, |identity| identity.content.len())
    }

    /// Applies the change, unless the request was executed before, and returns the reply, with the changed record if
    /// there is one.
    pub(super) fn apply(
        &self,
        store: &Tables<'_>,
        max_bytes: usize,
    ) -> Result<(String, Option<RecordChange>), Error> {
        let Self { change, identity } = self;
        let Some(Identity { caller, request_id, content }) = identity else {
            let outcome = change.apply(store, max_bytes)?;
            let changed = outcome.record_change(change.resource());
            return Ok((outcome.reply, changed));
        };
        if let Some(done) = store.request(caller.as_str(), request_id.as_str())? {
            return Ok((stored_reply(done, request_id, content)?, None));
        }
        let (resource, command) = (change.resource().to_owned(), change.verb().as_str().to_owned());
        let outcome = change.apply(store, max_bytes)?;
        let changed = outcome.record_change(change.resource());
        let ChangeOutcome { id, before, after, reply } = outcome;
        let request = Request {
            resource,
            command,
            id: id.to_string(),
            content: content.clone(),
            before,
            after,
            reply: reply.clone(),
            reverted: false,
            at: now(),
        };
        store.log(caller.as_str(), request_id.as_str(), &request)?;
        Ok((reply, changed))
    }
}

impl Records {
    pub(super) async fn revert(
        &self,
        kind: &RecordType,
        mut command: Command,
        context: &Context,
        cancel: &CancellationToken,
    ) -> Result<String, Error> {
        super::check_no_id(&command)?;
        let request_id = match command.payload.remove("requestId") {
            Some(Value::String(id)) => id,
            // A float has lost digits of the id.
            Some(Value::Number(id)) if !id.is_f64() => id.to_string(),
            _ => {
                let reason = "revert needs a requestId as a string";
                return Err(Error::invalid(&["requestId"], reason));
            }
        };
        super::check_empty_payload(&command)?;
        let request_id = RequestId::parse(request_id)
            .map_err(|reason| Error::invalid(&["requestId"], reason))?;
        let (resource, caller) = (kind.name().to_owned(), context.caller.clone());
        let write = move |connection: &_| {
            let store = Tables::new(connection);
            let done = store.request(caller.as_str(), request_id.as_str())?;
            let done = done.filter(|done| done.resource == resource && !done.reverted);
            let id = done.as_ref().map(|done| done.id.clone());
            let is_undone = match done {
                Some(done) => undo(&store, done, &request_id)?,
                None => false,
            };
            let changed = id.filter(|_| is_undone);
            let changed = changed.map(|id| RecordChange { resource: resource.clone(), id });
            // A request with nothing to undo is not marked: there may be later, for a create once a later delete is
            // reverted.
            if is_undone {
                store.mark_reverted(caller.as_str(), request_id.as_str())?;
            }
            let status = if is_undone { "reverted" } else { "noop" };
            let reply = serde_json::json!({ "status": status, "requestId": request_id });
            Ok((record::json(&reply), changed))
        };
        // The memory that it holds is negligible.
        self.write(cancel, 0, write).await
    }
}

fn content(command: &Command) -> String {
    let Command { command, resource, id, payload, metadata } = command;
    let (id, if_version) = (id.as_ref(), metadata.if_version);
    record::json(&Content { command, resource, id, payload, if_version })
}

/// The reply to a request that was executed before.
fn stored_reply(done: Request, request_id: &RequestId, content: &str) -> Result<String, Error> {
    if done.content != content {
        return Err(Error::RequestReused { request_id: request_id.to_string() });
    }
    if done.reverted {
        return Err(Error::RequestReverted { request_id: request_id.to_string() });
    }
    Ok(done.reply)
}

/// Restores the record to its state before a request, and returns whether it changed. Fails if other requests have
/// changed the record since.
fn undo(store: &Tables<'_>, done: Request, request_id: &RequestId) -> Result<bool, Error> {
    let Request { resource, id, before, after, .. } = done;
    let current = store.state(&resource, &id)?;
    let is_gone = matches!((current.state_id(), after), (StateId::Absent(_), StateId::Record(_)));
    if before.state_id() == after || is_gone {
        return Ok(false);
    }
    if current.state_id() != after {
        let request_id = request_id.to_string();
        return Err(Error::ChangedSince { resource, id, request_id });
    }
    match before {
        IdState::Absent { state, .. } => store.remove(&resource, &id, state)?,
        IdState::Record(before) => {
            let version = current.version() + 1;
            let last = current.record().map_or(before.updated_at, |row| row.updated_at);
            let updated_at = now().max(last);
            store.put(&resource, &id, &Row { version, updated_at, ..before })?;
        }
    }
    Ok(true)
}
