//! Converts calls to messages and replies to outcomes.

use std::borrow::Cow;
use std::collections::HashMap;

use bytes::Bytes;
use http::HeaderMap;
use trunkline_core::call::Call;
use trunkline_core::error::excerpt;
use trunkline_core::id::Id;
use trunkline_core::outcome::Outcome;

use super::batch_queue::QueueHandle;
use super::error::{Failure, ProtocolError};
use super::response::{self, Body, Response, malformed, shortened};
use super::transport::{Message, Transport};
use crate::frame::Key;

/// The innermost service, below all layers: sends messages over the transport.
pub(super) struct Wire {
    transport: Box<dyn Transport>,
}

impl Wire {
    pub(super) fn new(transport: impl Transport) -> Self {
        Self { transport: Box::new(transport) }
    }

    /// The name of the server in error messages.
    pub(super) fn target(&self) -> Cow<'_, str> {
        self.transport.target()
    }

    /// Sends a call, or queues it if it is a member of a batch.
    pub(super) async fn call(&self, call: Call) -> Result<Outcome, Failure> {
        match call.extensions().get::<QueueHandle>().cloned() {
            Some(handle) if handle.claim() => handle.enqueue(call).await,
            // A layer repeats the call while an earlier attempt is in flight: it is sent alone.
            _ => self.send(call).await,
        }
    }

    async fn send(&self, call: Call) -> Result<Outcome, Failure> {
        let Some(id) = call.id() else {
            return self.notify(&call).await;
        };
        let message = message(call.message(), vec![id.clone()], [&call]);
        let Some(body) = self.transport.send(message).await? else {
            return Err(ProtocolError::Missing { id: id.to_string() }.into());
        };
        Ok(Response::parse(&body)?.outcome_of(&id)?)
    }

    async fn notify(&self, call: &Call) -> Result<Outcome, Failure> {
        let message = message(call.message(), Vec::new(), [call]);
        match self.transport.send(message).await? {
            None => Ok(Outcome::result(&())),
            // Notifications that are invalid or refused do get a reply.
            Some(body) => unexpected(&body).map_err(Failure::from),
        }
    }

    /// Sends calls in one message. Returns the outcomes in the order of the calls; `null` for notifications.
    pub(super) async fn send_batch(
        &self,
        calls: &[&Call],
    ) -> Result<Vec<Result<Outcome, Failure>>, Failure> {
        let ids: Vec<Id> = calls.iter().filter_map(|call| call.id()).collect();
        let message = message(joined(calls), ids.clone(), calls.iter().copied());
        let found = match (self.transport.send(message).await?, ids.is_empty()) {
            (None, _) => Vec::new(),
            (Some(body), true) => {
                let outcome = unexpected(&body)?;
                return Ok(calls.iter().map(|_| Ok(outcome.duplicate())).collect());
            }
            (Some(body), false) => match response::parse(&body)? {
                Body::Batch(responses) => responses,
                // The server could not parse the batch and returned a single error.
                Body::Single(Response { id: None, outcome }) => {
                    return Ok(calls.iter().map(|_| Ok(outcome.duplicate())).collect());
                }
                Body::Single(_) => {
                    return Err(malformed("not an array, in reply to a batch", &body).into());
                }
            },
        };
        Ok(matched(found, &ids)?.in_order_of(calls))
    }
}

/// The replies to the calls of a batch.
struct Matched {
    /// The outcomes by the position of their ids.
    outcomes: Vec<Option<Outcome>>,
    /// An error without an id, for a call that the server could not parse.
    error_without_id: Option<Outcome>,
}

fn matched(responses: Vec<Response>, ids: &[Id]) -> Result<Matched, ProtocolError> {
    let positions: HashMap<Key, usize> =
        ids.iter().enumerate().map(|(position, id)| (Key::from(id), position)).collect();
    let mut found =
        Matched { outcomes: ids.iter().map(|_| None).collect(), error_without_id: None };
    for response in responses {
        let Some(id) = &response.id else {
            found.error_without_id.get_or_insert(response.outcome);
            continue;
        };
        let Some(&position) = Key::from(id).find_in(&positions) else {
            let expected = ids.iter().map(Id::as_raw).collect::<Vec<_>>().join(", ");
            let expected = excerpt(&expected, 200).into_owned();
            return Err(ProtocolError::WrongId { expected, found: shortened(id) });
        };
        if found.outcomes[position].replace(response.outcome).is_some() {
            return Err(ProtocolError::Duplicate { id: ids[position].to_string() });
        }
    }
    Ok(found)
}

impl Matched {
    fn in_order_of(self, calls: &[&Call]) -> Vec<Result<Outcome, Failure>> {
        let Self { outcomes, error_without_id } = self;
        let mut outcomes = outcomes.into_iter();
        let outcome = |call: &&Call| match call.id() {
            None => Ok(Outcome::result(&())),
            Some(id) => {
                let found = outcomes.next().flatten();
                let found = found.or_else(|| error_without_id.as_ref().map(Outcome::duplicate));
                found.ok_or_else(|| ProtocolError::Missing { id: id.to_string() }.into())
            }
        };
        calls.iter().map(outcome).collect()
    }
}

/// The reply to a message of notifications: the error that refuses it.
fn unexpected(body: &Bytes) -> Result<Outcome, ProtocolError> {
    match response::parse(body)? {
        Body::Single(Response { id: None, outcome }) => Ok(outcome),
        Body::Single(Response { id: Some(id), .. }) => {
            Err(ProtocolError::Unexpected { id: shortened(&id) })
        }
        Body::Batch(_) => Err(malformed("array in reply to a notification", body)),
    }
}

fn message<'c>(body: Bytes, ids: Vec<Id>, calls: impl IntoIterator<Item = &'c Call>) -> Message {
    let mut headers = HeaderMap::new();
    for added in calls.into_iter().filter_map(|call| call.extensions().get::<HeaderMap>()) {
        headers.extend(added.clone());
    }
    Message { body, ids, headers }
}

fn joined(calls: &[&Call]) -> Bytes {
    let mut body = vec![b'['];
    for call in calls {
        if body.len() > 1 {
            body.push(b',');
        }
        body.extend_from_slice(&call.message());
    }
    body.push(b']');
    Bytes::from(body)
}
