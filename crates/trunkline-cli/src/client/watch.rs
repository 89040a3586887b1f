use std::time::{Duration, Instant};

use http::header::ACCEPT;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::Deserialize;
use tokio::time::{sleep, timeout};
use trunkline::client::http::Reply;
use trunkline::client::{Error, Http, ProtocolError, Response, Transport, TransportError};
use trunkline::http::{EventReader, MessageEvent};

use crate::client::CallError;

/// The history of a server, as a stream over connections that may break.
#[derive(Debug)]
pub(crate) struct Watch {
    http: Http,
    /// The timeout until a stream begins.
    timeout: Duration,
    open: Option<Open>,
    /// The last event id of the previous streams.
    last: Option<HeaderValue>,
    has_begun: bool,
    is_interrupted: bool,
    /// The wait before the next attempt to connect.
    pause: Duration,
}

#[derive(Debug)]
struct Open {
    reply: Reply,
    events: EventReader,
    since: Instant,
}

/// An event of a [`Watch`].
#[derive(Debug)]
pub(crate) enum WatchEvent {
    /// The JSON text of an entry.
    Entry(String),
    /// The number of entries that the server dropped before it sent them.
    Lost(u64),
    /// The connection broke. Attempts to connect follow.
    Interrupted(CallError),
    /// The connection is established again.
    Resumed,
}

const FIRST_PAUSE: Duration = Duration::from_millis(250);
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// A stream of this duration resets the wait before the next attempt.
const STABLE: Duration = Duration::from_secs(10);

/// The timeout of a silent connection. Servers send comments more often.
const SILENCE: Duration = Duration::from_secs(60);

/// The maximum size of one event in bytes. Entries are far smaller.
const MAX_EVENT: usize = 4 << 20;

impl Watch {
    pub(crate) fn new(http: Http, timeout: Duration) -> Self {
        Self {
            http,
            timeout,
            open: None,
            last: None,
            has_begun: false,
            is_interrupted: false,
            pause: FIRST_PAUSE,
        }
    }

    /// Waits for the next event.
    ///
    /// # Errors
    ///
    /// When the first connection fails, or the server rejects the request.
    pub(crate) async fn next(&mut self) -> Result<WatchEvent, CallError> {
        loop {
            let Some(open) = &mut self.open else {
                if let Some(seen) = self.connect().await? {
                    return Ok(seen);
                }
                continue;
            };
            let Ok(event) = open.events.next_event() else {
                return Err(self.failed(too_large(&self.http)));
            };
            if let Some(event) = event {
                if let Some(seen) = self.seen(event)? {
                    return Ok(seen);
                }
                continue;
            }
            match timeout(SILENCE, open.reply.chunk()).await {
                Ok(Ok(Some(chunk))) => open.events.push(&chunk),
                // Servers end streams from time to time.
                Ok(Ok(None)) => self.close(),
                Ok(Err(error)) => return Ok(self.interrupted(error.into())),
                Err(_) => return Ok(self.interrupted(silent(&self.http))),
            }
        }
    }

    async fn connect(&mut self) -> Result<Option<WatchEvent>, CallError> {
        if self.has_begun {
            sleep(self.pause).await;
            self.pause = (self.pause * 2).min(MAX_PAUSE);
        }
        match self.begin().await {
            Ok(reply) => {
                let (events, since) = (EventReader::new(MAX_EVENT), Instant::now());
                self.open = Some(Open { reply, events, since });
                self.has_begun = true;
                Ok(std::mem::take(&mut self.is_interrupted).then_some(WatchEvent::Resumed))
            }
            Err(error) if !self.has_begun || !is_transient(&error) => Err(error),
            Err(_) if self.is_interrupted => Ok(None),
            Err(error) => {
                self.is_interrupted = true;
                Ok(Some(WatchEvent::Interrupted(error)))
            }
        }
    }

    async fn begin(&self) -> Result<Reply, CallError> {
        const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
        let mut headers = HeaderMap::from_iter([(ACCEPT, EVENTS)]);
        if let Some(last) = &self.last {
            headers.insert(HeaderName::from_static("last-event-id"), last.clone());
        }
        let after = self.timeout;
        let begun = timeout(after, async {
            let reply =
                self.http.get(headers).await.map_err(|error| CallError::new(error, None))?;
            accepted(reply).await
        });
        begun.await.unwrap_or_else(|_| {
            let target = self.http.target().into_owned();
            Err(CallError::new(TransportError::Timeout { target, after, source: None }, None))
        })
    }

    fn seen(&mut self, event: MessageEvent) -> Result<Option<WatchEvent>, CallError> {
        #[derive(Deserialize)]
        struct Lost {
            count: u64,
        }

        let MessageEvent { name, data, .. } = event;
        Ok(match &*name {
            _ if data.is_empty() => None,
            "entry" => {
                self.pause = FIRST_PAUSE;
                Some(WatchEvent::Entry(data))
            }
            "lost" => {
                let lost = serde_json::from_str::<Lost>(&data);
                let lost = lost.map_err(|error| {
                    self.failed(ProtocolError::Result { reason: error.to_string() }.into())
                })?;
                Some(WatchEvent::Lost(lost.count))
            }
            // An event of a newer server.
            _ => None,
        })
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        if let Some(id) = open.events.last_event_id() {
            self.last = HeaderValue::try_from(id).ok().filter(|id| !id.is_empty());
        }
        if open.since.elapsed() >= STABLE {
            self.pause = FIRST_PAUSE;
        }
    }

    fn interrupted(&mut self, error: Error) -> WatchEvent {
        self.close();
        self.is_interrupted = true;
        WatchEvent::Interrupted(CallError::new(error, None))
    }

    fn failed(&self, error: Error) -> CallError {
        CallError::new(error, Some(StatusCode::OK))
    }
}

/// Checks that a reply is a stream of events.
async fn accepted(mut reply: Reply) -> Result<Reply, CallError> {
    let status = reply.status;
    let failed = |error: Error| CallError::new(error, Some(status));
    if status == StatusCode::OK && reply.media_type() == "text/event-stream" {
        return Ok(reply);
    }
    if status.is_success() {
        let excerpt = reply.chunk().await.map_err(|error| failed(error.into()))?;
        let excerpt = excerpt.unwrap_or_default();
        let excerpt = String::from_utf8_lossy(&excerpt[..excerpt.len().min(256)]).into_owned();
        let media_type = reply.media_type();
        return Err(failed(ProtocolError::NoEvents { media_type, beginning: excerpt }.into()));
    }
    let Some(body) = reply.json().await.map_err(|error| failed(error.into()))? else {
        return Err(failed(ProtocolError::Empty { status }.into()));
    };
    let response = Response::parse(&body).map_err(|error| failed(error.into()))?;
    Err(failed(match response.outcome.as_result() {
        Err(error) => Error::Rpc(error.clone()),
        Ok(_) => ProtocolError::Empty { status }.into(),
    }))
}

/// Whether another attempt may succeed, after the server was reached once.
fn is_transient(failed: &CallError) -> bool {
    match (&failed.error, failed.status) {
        (Error::Transport(error), _) => !matches!(error, TransportError::NotHttp { .. }),
        (_, Some(status)) => status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS,
        _ => false,
    }
}

fn too_large(http: &Http) -> Error {
    TransportError::TooLarge { target: http.target().into_owned(), limit: MAX_EVENT }.into()
}

fn silent(http: &Http) -> Error {
    TransportError::Timeout { target: http.target().into_owned(), after: SILENCE, source: None }
        .into()
}
