//! HTTP requests with authorization, and event streams in replies.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use trunkline::client::http::{Bearer, Reply};
use trunkline::client::{
    Error as CallError, Failure, Http, ProtocolError, Response, TransportError,
};
use trunkline::http::{EventReader, EventTooLarge, MessageEvent};

use super::authorization::{AuthorizationError, Challenge};
use super::error::{Error, RequestError};
use super::inbox::Inbox;
use super::message::result;
use crate::lock::Lock;

/// The MCP endpoint of a server. `Debug` omits the token.
#[derive(Clone)]
pub(super) struct HttpEndpoint {
    http: Http,
    pub(super) inbox: Arc<Inbox>,
    last_token: Arc<Lock<Option<String>>>,
}

/// The maximum number of challenges to a request.
const MAX_CHALLENGES: usize = 3;

const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

impl HttpEndpoint {
    pub(super) fn new(http: Http, inbox: Arc<Inbox>) -> Self {
        Self { http, inbox, last_token: Arc::default() }
    }

    /// The scheme, the host and the port.
    pub(super) fn origin(&self) -> String {
        use trunkline::client::Transport;
        self.http.target().into_owned()
    }

    pub(super) fn url(&self) -> String {
        self.http.url()
    }

    /// Another path of the same server.
    pub(super) fn at_path(&self, path: &str) -> Result<Self, TransportError> {
        Ok(Self { http: self.http.at_path(path)?, ..self.clone() })
    }

    pub(super) async fn post(&self, mut headers: HeaderMap, body: Bytes) -> Result<Reply, Error> {
        const EITHER: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(ACCEPT, EITHER);
        self.send(&Method::POST, headers, body).await
    }

    /// Opens an event stream with GET, after the event with this id.
    pub(super) async fn get(
        &self,
        mut headers: HeaderMap,
        last_event_id: Option<&str>,
    ) -> Result<EventStream, Error> {
        headers.insert(ACCEPT, EVENTS);
        if let Some(id) = last_event_id
            && let Ok(id) = HeaderValue::from_str(id)
        {
            headers.insert(LAST_EVENT_ID, id);
        }
        let reply = self.send(&Method::GET, headers, Bytes::new()).await?;
        let status = reply.status;
        if status.is_success() && reply.media_type() == EVENTS {
            return Ok(EventStream::new(reply, self.inbox.config.message_bytes).without_end());
        }
        let media_type = reply.media_type();
        let error: CallError = match reply.json().await {
            Err(failure) => failure.into(),
            Ok(body) => body.and_then(|body| refusal(&body)).unwrap_or_else(|| {
                ProtocolError::NoEvents { media_type, beginning: String::new() }.into()
            }),
        };
        Err(RequestError::with_status(error, status).into())
    }

    pub(super) async fn delete(&self, headers: HeaderMap) -> Result<Reply, Error> {
        self.send(&Method::DELETE, headers, Bytes::new()).await
    }

    async fn send(&self, method: &Method, headers: HeaderMap, body: Bytes) -> Result<Reply, Error> {
        let mut challenges = 0;
        loop {
            let mut headers = headers.clone();
            let token = self.token().await?;
            if let Some(token) = &token {
                let bearer: Bearer = token.parse().map_err(AuthorizationError::new)?;
                headers.insert(AUTHORIZATION, bearer.header());
            }
            let reply = match *method {
                Method::GET => self.http.get(headers).await?,
                Method::DELETE => self.http.delete(headers).await?,
                _ => self.http.post(headers, body.clone()).await?,
            };
            let Some(authorization) = &self.inbox.config.authorization else { return Ok(reply) };
            let challenge = Challenge::of(self.http.url(), reply.status, &reply.headers);
            let Some(challenge) = challenge.filter(|_| challenges < MAX_CHALLENGES) else {
                return Ok(reply);
            };
            let _pause = self.inbox.pending.pause();
            if !authorization.challenged(challenge.with_token(token)).await? {
                return Ok(reply);
            }
            challenges += 1;
        }
    }

    /// The token of the next request. Cached results are removed if it has changed.
    pub(super) async fn token(&self) -> Result<Option<String>, Error> {
        let Some(authorization) = &self.inbox.config.authorization else { return Ok(None) };
        let _pause = self.inbox.pending.pause();
        let token = authorization.token().await?;
        let mut last = self.last_token.lock();
        if *last != token {
            // Results belong to the authorization context in which they were received.
            self.inbox.cache.clear();
            last.clone_from(&token);
        }
        Ok(token)
    }
}

/// The error in the body of a reply.
fn refusal(body: &Bytes) -> Option<CallError> {
    result(&Response::parse(body).ok()?.outcome).err()
}

debug_fields!(HttpEndpoint: http);

/// A reply that is a stream of events.
#[derive(Debug)]
pub(super) struct EventStream {
    reply: Reply,
    events: EventReader,
    max_bytes: usize,
    has_end: bool,
}

impl EventStream {
    pub(super) fn new(reply: Reply, max_bytes: usize) -> Self {
        Self { reply, events: EventReader::new(max_bytes), max_bytes, has_end: true }
    }

    /// A stream that may remain open: only the size of each event is limited.
    pub(super) fn without_end(self) -> Self {
        Self { has_end: false, ..self }
    }

    pub(super) fn status(&self) -> http::StatusCode {
        self.reply.status
    }

    /// The next event with data, or `None` at the end.
    ///
    /// # Cancel safety
    /// No data is lost.
    pub(super) async fn next(&mut self) -> Result<Option<MessageEvent>, Failure> {
        loop {
            let too_large =
                |error: EventTooLarge| ProtocolError::Result { reason: error.to_string() };
            while let Some(event) = self.events.next_event().map_err(too_large)? {
                if !event.data.is_empty() {
                    return Ok(Some(event));
                }
            }
            if !self.has_end {
                self.reply.set_limit(self.max_bytes);
            }
            let Some(chunk) = self.reply.chunk().await? else { return Ok(None) };
            self.events.push(&chunk);
        }
    }

    /// The next message, or `None` at the end. Events of other types are skipped.
    pub(super) async fn next_message(&mut self) -> Result<Option<Bytes>, Failure> {
        while let Some(MessageEvent { name, data, .. }) = self.next().await? {
            if name == "message" {
                return Ok(Some(data.into()));
            }
        }
        Ok(None)
    }

    /// The id to continue after, if the server has sent one.
    pub(super) fn last_event_id(&self) -> Option<&str> {
        self.events.last_event_id().filter(|id| !id.is_empty())
    }

    /// The time to wait before the stream is opened again, if the server has sent one.
    pub(super) fn retry(&self) -> Option<Duration> {
        self.events.retry()
    }
}
