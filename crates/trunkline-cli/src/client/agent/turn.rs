//! A turn as it comes.

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

/// A turn that is not over. Dropped, it is cancelled: the connection is closed.
#[derive(Debug)]
pub(crate) struct Turn {
    reply: Option<Reply>,
    status: StatusCode,
    id: Id,
    target: String,
    events: EventReader,
    /// What was received in one, and is told in pieces.
    waiting: VecDeque<TurnEvent>,
    /// Whether a part of the answer was told before the response.
    has_told: bool,
    is_done: bool,
}

/// Servers show life more often. One that is silent for so long is taken for gone.
const SILENCE: Duration = Duration::from_secs(60);

impl Turn {
    pub(super) fn new(reply: Reply, id: Id, target: String) -> Self {
        let status = reply.status;
        let events = EventReader::new(HttpClientConfig::default().max_reply);
        let waiting = VecDeque::new();
        let (has_told, is_done) = (false, false);
        Self { reply: Some(reply), status, id, target, events, waiting, has_told, is_done }
    }

    /// What happens next; none at the end, behind [`Event::Done`].
    ///
    /// # Errors
    ///
    /// When the turn has failed, and when it breaks off or what comes is no turn. Nothing follows.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost of a stream of events. An answer that is none is lost.
    pub(crate) async fn next(&mut self) -> Result<Option<TurnEvent>, CallError> {
        let next = self.read().await;
        if !matches!(next, Ok(Some(_))) {
            self.reply = None;
        }
        next.map_err(|error| CallError::new(error, Some(self.status)))
    }

    async fn read(&mut self) -> Result<Option<TurnEvent>, Error> {
        loop {
            if let Some(told) = self.waiting.pop_front() {
                return Ok(Some(told));
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
                let reply = self.reply.take().expect("it was there");
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
            // The response is the last one.
            self.reply = None;
            return if self.is_done { Ok(()) } else { self.retell(&answer) };
        }
        let malformed =
            |error: serde_json::Error| ProtocolError::Result { reason: error.to_string() };
        let event = Event::read(&name, &data).map_err(malformed)?;
        self.has_told |= matches!(event, Event::Token(_) | Event::Call(_) | Event::Result(_));
        self.is_done |= matches!(event, Event::Done(_));
        self.waiting.push_back(TurnEvent { event, json: Some(data) });
        Ok(())
    }

    /// An answer without events: of a server that has none, or a refusal.
    async fn take_whole(&mut self, reply: Reply) -> Result<(), Error> {
        let status = self.status;
        let Ok(body) = timeout(SILENCE, reply.json()).await else {
            return Err(silent(&self.target));
        };
        let body = body?.ok_or(ProtocolError::Empty { status })?;
        let answer = raw(&Response::parse(&body)?.outcome_of(&self.id)?)?;
        self.retell(&answer)
    }

    fn retell(&mut self, json: &RawValue) -> Result<(), Error> {
        let answer: Answer = result(json).map_err(|failed| failed.error)?;
        self.is_done = true;
        let is_new = |told: &TurnEvent| !self.has_told || matches!(told.event, Event::Done(_));
        self.waiting.extend(answer.into_events(json).filter(is_new));
        Ok(())
    }
}

/// It had begun to answer: more time to begin would not help.
fn silent(target: &str) -> Error {
    let reason = format!("nothing more has come for {} s", SILENCE.as_secs());
    let source: Cause = Arc::new(io::Error::new(io::ErrorKind::TimedOut, reason));
    TransportError::Broken { target: target.to_owned(), source: Some(source) }.into()
}

/// The result, as it was received.
fn raw(outcome: &Outcome) -> Result<Box<RawValue>, Error> {
    let json = outcome.as_result().map_err(|error| Error::Rpc(error.clone()))?;
    let malformed = |error: serde_json::Error| ProtocolError::Result { reason: error.to_string() };
    Ok(serde_json::from_slice(json).map_err(malformed)?)
}
