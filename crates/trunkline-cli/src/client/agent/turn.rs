//! A turn of an agent, as a stream of events.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use serde_json::value::RawValue;
use tokio::time::timeout;
use trunkline::client::http::{HttpClientConfig, Reply};
use trunkline::client::{Cause, Error, ProtocolError, Response, TransportError};
use trunkline::http::{EventReader, MessageEvent};
use trunkline::{Id, Outcome};

use super::event::{Answer, Event, TurnEvent, result};
use crate::client::CallError;

/// A turn in progress. Dropping it closes the connection, which cancels the turn.
#[derive(Debug)]
pub(crate) struct Turn {
    reply: Option<Reply>,
    status: StatusCode,
    id: Id,
    target: String,
    events: EventReader,
    /// Events that were received together.
    waiting: VecDeque<TurnEvent>,
    /// Whether a part of the answer arrived before the response.
    has_events: bool,
    is_done: bool,
}

/// The timeout of a silent connection. Servers send comments more often.
const SILENCE: Duration = Duration::from_secs(60);

impl Turn {
    pub(super) fn new(reply: Reply, id: Id, target: String) -> Self {
        let status = reply.status;
        let events = EventReader::new(HttpClientConfig::default().max_reply);
        let waiting = VecDeque::new();
        let (has_events, is_done) = (false, false);
        Self { reply: Some(reply), status, id, target, events, waiting, has_events, is_done }
    }

    /// Waits for the next event. Returns `None` at the end, after [`Event::Done`].
    ///
    /// # Errors
    ///
    /// When the turn fails, the connection breaks, or the reply is not a turn. No event follows.
    ///
    /// # Cancel safety
    ///
    /// No event of a stream is lost. A reply that is not a stream is lost.
    pub(crate) async fn next(&mut self) -> Result<Option<TurnEvent>, CallError> {
        let next = self.read().await;
        if !matches!(next, Ok(Some(_))) {
            self.reply = None;
        }
        next.map_err(|error| CallError::new(error, Some(self.status)))
    }

    async fn read(&mut self) -> Result<Option<TurnEvent>, Error> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Ok(Some(event));
            }
            let event = self.events.next_event().map_err(|error| {
                let target = self.target.clone();
                TransportError::TooLarge { target, limit: error.limit }
            })?;
            if let Some(event) = event {
                self.take(event)?;
                continue;
            }
            let Some(reply) = &mut self.reply else { return Ok(None) };
            if self.status != StatusCode::OK || reply.media_type() != "text/event-stream" {
                let reply = self.reply.take().expect("the branch above has matched it");
                self.take_whole(reply).await?;
                continue;
            }
            let Ok(chunk) = timeout(SILENCE, reply.chunk()).await else {
                return Err(silent(&self.target));
            };
            match chunk? {
                Some(chunk) => self.events.push(&chunk),
                None if self.is_done => return Ok(None),
                None => {
                    let target = self.target.clone();
                    return Err(TransportError::Broken { target, source: None }.into());
                }
            }
        }
    }

    fn take(&mut self, event: MessageEvent) -> Result<(), Error> {
        let MessageEvent { name, data, .. } = event;
        if data.is_empty() {
            return Ok(());
        }
        if name == "response" {
            let response = Response::parse(&Bytes::from(data))?;
            let answer = raw(&response.outcome_of(&self.id)?)?;
            // The response is the last event.
            self.reply = None;
            return if self.is_done { Ok(()) } else { self.add_answer(&answer) };
        }
        let malformed =
            |error: serde_json::Error| ProtocolError::Result { reason: error.to_string() };
        let event = Event::read(&name, &data).map_err(malformed)?;
        self.has_events |= matches!(event, Event::Token(_) | Event::Call(_) | Event::Result(_));
        self.is_done |= matches!(event, Event::Done(_));
        self.waiting.push_back(TurnEvent { event, json: Some(data) });
        Ok(())
    }

    /// Reads a reply without events: an error, or the answer of a server that does not stream.
    async fn take_whole(&mut self, reply: Reply) -> Result<(), Error> {
        let status = self.status;
        let Ok(body) = timeout(SILENCE, reply.json()).await else {
            return Err(silent(&self.target));
        };
        let body = body?.ok_or(ProtocolError::Empty { status })?;
        let answer = raw(&Response::parse(&body)?.outcome_of(&self.id)?)?;
        self.add_answer(&answer)
    }

    fn add_answer(&mut self, json: &RawValue) -> Result<(), Error> {
        let answer: Answer = result(json).map_err(|failed| failed.error)?;
        self.is_done = true;
        let is_new = |event: &TurnEvent| !self.has_events || matches!(event.event, Event::Done(_));
        self.waiting.extend(answer.into_events(json).filter(is_new));
        Ok(())
    }
}

/// The error of a silent connection. It is not a timeout: a longer one would not help.
fn silent(target: &str) -> Error {
    let reason = format!("no data for {} s", SILENCE.as_secs());
    let source: Cause = Arc::new(io::Error::new(io::ErrorKind::TimedOut, reason));
    TransportError::Broken { target: target.to_owned(), source: Some(source) }.into()
}

/// The JSON text of the result.
fn raw(outcome: &Outcome) -> Result<Box<RawValue>, Error> {
    let json = outcome.as_result().map_err(|error| Error::Rpc(error.clone()))?;
    let malformed = |error: serde_json::Error| ProtocolError::Result { reason: error.to_string() };
    Ok(serde_json::from_slice(json).map_err(malformed)?)
}
