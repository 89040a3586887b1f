//! Streamable HTTP.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};
use trunkline::Id;
use trunkline::client::http::Reply;
use trunkline::client::{Failure, ProtocolError, Response};

use super::error::{Error, RequestError};
use super::http_endpoint::{EventStream, HttpEndpoint};
use super::inbox::Inbox;
use super::message::{Incoming, result, split};
use super::request::{Answer, Outgoing};
use super::session::Session;
use crate::model::notification;
use crate::on_drop::OnDrop;
use crate::param_headers::encode;
use crate::protocol::{header, method};

/// A connection over Streamable HTTP. Each request has its own exchange.
#[derive(Debug, Clone)]
pub(super) struct HttpLink {
    pub(super) endpoint: HttpEndpoint,
}

/// The time to wait before a stream is opened again, if the server names none.
const RETRY: Duration = Duration::from_secs(1);
/// The shortest time, whatever the server names.
const MIN_RETRY: Duration = Duration::from_millis(50);
/// The maximum number of attempts to continue a stream without a new event.
const MAX_RESUMPTIONS: usize = 5;
/// The time limit for messages without a waiting caller.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

impl HttpLink {
    pub(super) fn new(endpoint: HttpEndpoint) -> Self {
        Self { endpoint }
    }

    fn inbox(&self) -> &Arc<Inbox> {
        &self.endpoint.inbox
    }

    /// Sends a request, and waits for its result.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the request: it closes the connection, and in the legacy era sends a notification.
    pub(super) async fn request(
        &self,
        session: &Session,
        request: &Outgoing<'_>,
    ) -> Result<Answer, Error> {
        let mut headers = session.headers();
        if session.is_modern() {
            headers.insert(header::METHOD, HeaderValue::from_static(request.method));
            if let Some(name) = request.name {
                headers.insert(header::NAME, encode(name));
            }
            headers.extend(request.headers.clone());
        } else if request.method == method::INITIALIZE {
            headers.remove(header::PROTOCOL_VERSION);
        }
        let is_cancellable = !session.is_modern() && request.method != method::INITIALIZE;
        let cancel = is_cancellable.then(|| OnDrop::new(|| self.cancel(session, request.id)));
        let answer = self.exchange(session, request, headers).await;
        if let Some(cancel) = cancel {
            cancel.disarm();
        }
        answer
    }

    async fn exchange(
        &self,
        session: &Session,
        request: &Outgoing<'_>,
        headers: HeaderMap,
    ) -> Result<Answer, Error> {
        let mut reply = self.endpoint.post(headers, request.body.clone()).await?;
        let (status, headers) = (reply.status, reply.headers.clone());
        if status.is_success() && reply.media_type() == "text/event-stream" {
            let mut stream = EventStream::new(reply, self.inbox().config.message_bytes);
            if request.is_open_ended {
                stream = stream.without_end();
            }
            let result = self.read_stream(session, request.id, stream).await?;
            return Ok(Answer { result, headers });
        }
        reply.set_limit(self.inbox().config.message_bytes);
        let result = self.read_json(session, request.id, reply).await;
        let result = result.map_err(|error| RequestError::with_status(error, status))?;
        Ok(Answer { result, headers })
    }

    /// Reads a reply that is not a stream.
    async fn read_json(
        &self,
        session: &Session,
        request: i64,
        reply: Reply,
    ) -> Result<Box<RawValue>, trunkline::client::Error> {
        let (status, id) = (reply.status, Id::from(request));
        let Some(body) = reply.json().await? else {
            return Err(ProtocolError::Empty { status }.into());
        };
        let response = self.receive(session, &body, Some(request))?;
        let response = response.ok_or_else(|| ProtocolError::Missing { id: id.to_string() })?;
        result(&response.outcome_of(&id)?)
    }

    /// Reads a stream until the response arrives. In the legacy era, a stream that ends early is continued.
    async fn read_stream(
        &self,
        session: &Session,
        request: i64,
        mut stream: EventStream,
    ) -> Result<Box<RawValue>, Error> {
        let (status, id) = (stream.status(), Id::from(request));
        let (mut last, mut retry, mut resumptions) = (None, RETRY, 0);
        loop {
            let before = last.clone();
            let ended = loop {
                match stream.next_message().await {
                    Ok(Some(message)) => {
                        let response = self.receive(session, &message, Some(request));
                        let response =
                            response.map_err(|error| RequestError::with_status(error, status))?;
                        if let Some(response) = response {
                            let outcome = response.outcome_of(&id).map_err(Into::into);
                            let result = outcome.and_then(|outcome| result(&outcome));
                            return result
                                .map_err(|error| RequestError::with_status(error, status).into());
                        }
                    }
                    Ok(None) => break None,
                    Err(failure @ Failure::Protocol(_)) => return Err(failure.into()),
                    Err(failure) => break Some(failure),
                }
            };
            let missing = || Failure::from(ProtocolError::Missing { id: id.to_string() });
            let failure =
                || RequestError::with_status(ended.clone().unwrap_or_else(missing), status);
            last = stream.last_event_id().map(str::to_owned).or(last);
            retry = stream.retry().unwrap_or(retry).max(MIN_RETRY);
            if session.is_modern() || last.is_none() {
                return Err(failure().into());
            }
            resumptions = if last == before { resumptions + 1 } else { 1 };
            if resumptions > MAX_RESUMPTIONS {
                return Err(failure().into());
            }
            sleep(retry).await;
            stream = match self.endpoint.get(session.headers(), last.as_deref()).await {
                Ok(stream) => stream,
                Err(error) if error.status().is_some() => return Err(failure().into()),
                Err(_) => continue,
            };
        }
    }

    /// Handles a message, or a batch, in the reply to the request `related`, or of the stream outside requests. Returns
    /// the response in it.
    pub(super) fn receive(
        &self,
        session: &Session,
        body: &Bytes,
        related: Option<i64>,
    ) -> Result<Option<Response>, ProtocolError> {
        let mut found = None;
        for message in split(body)? {
            match Incoming::parse(&message)? {
                // A second one belongs to no call.
                Incoming::Response(response) => found = found.or(Some(response)),
                Incoming::Notification(notification) => self.inbox().notify(&notification, related),
                Incoming::Request(request) => {
                    let (link, headers) = (self.clone(), session.headers());
                    self.inbox().answer(request, related, |response| async move {
                        link.deliver(headers, response).await;
                    });
                }
            }
        }
        Ok(found)
    }

    /// Sends a notification. Only a refusal has a reply.
    pub(super) async fn notify(
        &self,
        session: &Session,
        method: &'static str,
        body: Bytes,
    ) -> Result<(), Error> {
        let mut headers = session.headers();
        if session.is_modern() {
            headers.insert(header::METHOD, HeaderValue::from_static(method));
        }
        let reply = self.endpoint.post(headers, body).await?;
        let status = reply.status;
        let done = match reply.json().await {
            Ok(Some(body)) => Response::parse(&body)
                .map_err(Into::into)
                .and_then(|response| result(&response.outcome).map(drop)),
            // Servers answer notifications with any body.
            Ok(None) | Err(Failure::Protocol(ProtocolError::MediaType { .. })) => Ok(()),
            Err(failure) => Err(failure.into()),
        };
        done.map_err(|error| RequestError::with_status(error, status).into())
    }

    /// Sends a message whose reply does not matter.
    async fn deliver(&self, headers: HeaderMap, body: Bytes) {
        match timeout(SEND_TIMEOUT, self.endpoint.post(headers, body)).await {
            Ok(Ok(reply)) if reply.status.is_success() => {}
            Ok(Ok(reply)) => {
                tracing::debug!(status = %reply.status, "the server refused a message");
            }
            Ok(Err(error)) => tracing::debug!(%error, "cannot send a message"),
            Err(_) => tracing::debug!("cannot send a message in time"),
        }
    }

    /// Sends `notifications/cancelled` in the background.
    fn cancel(&self, session: &Session, id: i64) {
        // Outside a runtime, the client ends as well.
        if Handle::try_current().is_ok() {
            let (link, headers) = (self.clone(), session.headers());
            let body = notification(method::CANCELLED, Some(&json!({ "requestId": id })));
            self.inbox().tasks.spawn(async move { link.deliver(headers, body.into()).await });
        }
    }

    /// Ends the session, if there is one. The reply does not matter.
    pub(super) async fn close(&self, session: &Session, limit: Duration) {
        if session.has_id() {
            drop(timeout(limit, self.endpoint.delete(session.headers())).await);
        }
    }
}
