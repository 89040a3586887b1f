//! Requests with an id: they act once, and can be reverted.

use serde::Serialize;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::change::{Change, Changed};
use super::{Caller, Context, Resources};
use crate::command::{Command, RecordId, RequestId};
use crate::declaration::{ResourceType, Verb};
use crate::error::Error;
use crate::record;
use crate::store::{Mark, Records, Request, Row, Standing, now};

/// The parts of a request that are compared with a repetition.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Asked<'a> {
    command: &'a str,
    resource: &'a str,
    id: Option<&'a RecordId>,
    payload: &'a Map<String, Value>,
    if_version: Option<u64>,
}

/// A change, and the request that it is made for, if that has an id.
pub(super) struct Requested {
    change: Change,
    request: Option<Named>,
}

/// A request with an id of its caller's.
struct Named {
    caller: Caller,
    request_id: RequestId,
    asked: String,
}

impl Requested {
    pub(super) fn new(
        kind: &ResourceType,
        verb: Verb,
        command: Command,
        context: &Context,
        max_bytes: usize,
    ) -> Result<Self, Error> {
        let mut request = None;
        if let Some(request_id) = command.metadata.request_id.clone() {
            let (caller, asked) = (context.caller.clone(), asked(&command));
            request = Some(Named { caller, request_id, asked });
        }
        let change = Change::new(kind, verb, command, context.mode, max_bytes)?;
        Ok(Self { change, request })
    }

    /// About how much memory it holds.
    pub(super) fn weight(&self) -> usize {
        self.change.weight() + self.request.as_ref().map_or(0, |request| request.asked.len())
    }

    /// Makes the change, unless the request was done before, and answers with its reply.
    pub(super) fn make(&self, store: &Records<'_>, max_bytes: usize) -> Result<String, Error> {
        let Self { change, request } = self;
        let Some(Named { caller, request_id, asked }) = request else {
            return Ok(change.make(store, max_bytes)?.reply);
        };
        if let Some(done) = store.request(caller.as_str(), request_id.as_str())? {
            return again(done, request_id, asked);
        }
        let (resource, command) = (change.resource().to_owned(), change.verb().as_str().to_owned());
        let Changed { id, before, after, reply } = change.make(store, max_bytes)?;
        let request = Request {
            resource,
            command,
            id: id.to_string(),
            asked: asked.clone(),
            before,
            after,
            reply: reply.clone(),
            reverted: false,
            at: now(),
        };
        store.log(caller.as_str(), request_id.as_str(), &request)?;
        Ok(reply)
    }
}

impl Resources {
    pub(super) async fn revert(
        &self,
        kind: &ResourceType,
        mut command: Command,
        context: &Context,
        cancel: &CancellationToken,
    ) -> Result<String, Error> {
        super::no_id(&command)?;
        let request_id = match command.payload.remove("requestId") {
            Some(Value::String(id)) => id,
            // A larger number is not what was sent any more.
            Some(Value::Number(id)) if !id.is_f64() => id.to_string(),
            _ => {
                let reason = "revert needs the requestId of a request, as a string";
                return Err(Error::invalid(&["requestId"], reason));
            }
        };
        super::nothing_else(&command)?;
        let request_id = RequestId::parse(request_id)
            .map_err(|reason| Error::invalid(&["requestId"], reason))?;
        let (resource, caller) = (kind.name().to_owned(), context.caller.clone());
        let write = move |connection: &_| {
            let store = Records::new(connection);
            let done = store.request(caller.as_str(), request_id.as_str())?;
            let done = done.filter(|done| done.resource == resource && !done.reverted);
            let is_undone = match done {
                Some(done) => undo(&store, done, &request_id)?,
                None => false,
            };
            // Where there was nothing to undo now, there may be later: once a delete that came after a
            // create is undone.
            if is_undone {
                store.mark_reverted(caller.as_str(), request_id.as_str())?;
            }
            let status = if is_undone { "reverted" } else { "noop" };
            Ok::<_, Error>(record::json(
                &serde_json::json!({ "status": status, "requestId": request_id }),
            ))
        };
        // It holds nothing of any size.
        self.0.store.write(cancel.cancelled(), 0, write).await
    }
}

fn asked(command: &Command) -> String {
    let Command { command, resource, id, payload, metadata } = command;
    let (id, if_version) = (id.as_ref(), metadata.if_version);
    record::json(&Asked { command, resource, id, payload, if_version })
}

/// The reply to a request that was done.
fn again(done: Request, request_id: &RequestId, asked: &str) -> Result<String, Error> {
    if done.asked != asked {
        return Err(Error::RequestReused { request_id: request_id.to_string() });
    }
    if done.reverted {
        return Err(Error::RequestReverted { request_id: request_id.to_string() });
    }
    Ok(done.reply)
}

/// Restores the record before a request, and returns whether there was anything to do. What others did
/// to the record since then is not undone.
fn undo(store: &Records<'_>, done: Request, request_id: &RequestId) -> Result<bool, Error> {
    let Request { resource, id, before, after, .. } = done;
    let current = store.standing(&resource, &id)?;
    let is_gone = matches!((current.mark(), after), (Mark::Nothing(_), Mark::Record(_)));
    if before.mark() == after || is_gone {
        return Ok(false);
    }
    if current.mark() != after {
        let request_id = request_id.to_string();
        return Err(Error::ChangedSince { resource, id, request_id });
    }
    match before {
        Standing::Nothing { state, .. } => store.remove(&resource, &id, state)?,
        Standing::Record(before) => {
            let version = current.version() + 1;
            let last = current.record().map_or(before.updated_at, |row| row.updated_at);
            let updated_at = now().max(last);
            store.put(&resource, &id, &Row { version, updated_at, ..before })?;
        }
    }
    Ok(true)
}
