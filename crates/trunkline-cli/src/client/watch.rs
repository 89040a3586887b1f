use std::time::{Duration, Instant};

use http::header::ACCEPT;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::Deserialize;
use tokio::time::{sleep, timeout};
use trunkline::client::http::Reply;
use trunkline::client::{Error, Http, ProtocolError, Response, Transport, TransportError};
use trunkline::http::{EventReader, MessageEvent};

use crate::client::CallError;

/// The history of a server as it comes, over connections that may break.
#[derive(Debug)]
pub(crate) struct Watch {
    http: Http,
    /// The longest that a stream may take to begin.
    timeout: Duration,
    open: Option<Open>,
    /// The last event id of the streams before.
    last: Option<HeaderValue>,
    has_begun: bool,
    is_interrupted: bool,
    /// How long it waits before it connects again.
    pause: Duration,
}

#[derive(Debug)]
struct Open {
    reply: Reply,
    events: EventReader,
    since: Instant,
}

/// What a [`Watch`] tells.
#[derive(Debug)]
pub(crate) enum Seen {
    /// An entry, as it was received: a JSON text.
    Entry(String),
    /// So many entries were forgotten before they were sent.
    Lost(u64),
    /// The connection is gone, for this reason. It is tried again and again.
    Interrupted(CallError),
    /// It is there again.
    Resumed,
}

const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// A stream that has lasted so long was none that fails at once.
const LASTING: Duration = Duration::from_secs(10);

/// Servers show life more often. One that is silent for so long is taken for gone.
const SILENCE: Duration = Duration::from_secs(60);

/// The most bytes of one event: entries are far smaller.
const LARGEST: usize = 4 << 20;

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

    /// Waits for what comes next.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached at first, or says at any time that it will not answer.
    pub(crate) async fn next(&mut self) -> Result<Seen, CallError> {
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
                // The server has ended it, as it does from time to time: that is no interruption yet.
                Ok(Ok(None)) => self.close(),
                Ok(Err(error)) => return Ok(self.interrupted(error.into())),
                Err(_) => return Ok(self.interrupted(silent(&self.http))),
            }
        }
    }

    async fn connect(&mut self) -> Result<Option<Seen>, CallError> {
        if self.has_begun {
            sleep(self.pause).await;
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        }
        match self.begin().await {
            Ok(reply) => {
                let (events, since) = (EventReader::new(LARGEST), Instant::now());
                self.open = Some(Open { reply, events, since });
                self.has_begun = true;
                Ok(std::mem::take(&mut self.is_interrupted).then_some(Seen::Resumed))
            }
            Err(error) if !self.has_begun || !is_passing(&error) => Err(error),
            Err(_) if self.is_interrupted => Ok(None),
            Err(error) => {
                self.is_interrupted = true;
                Ok(Some(Seen::Interrupted(error)))
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
            Err(CallError::new(TransportError::Timeout { target, after }, None))
        })
    }

    fn seen(&mut self, event: MessageEvent) -> Result<Option<Seen>, CallError> {
        #[derive(Deserialize)]
        struct Lost {
            count: u64,
        }

        let MessageEvent { name, data, .. } = event;
        Ok(match &*name {
            _ if data.is_empty() => None,
            "entry" => {
                self.pause = FIRST_PAUSE;
                Some(Seen::Entry(data))
            }
            "lost" => {
                let lost = serde_json::from_str::<Lost>(&data);
                let lost = lost.map_err(|error| {
                    self.failed(ProtocolError::Result { reason: error.to_string() }.into())
                })?;
                Some(Seen::Lost(lost.count))
            }
            // What a newer server may tell.
            _ => None,
        })
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        if let Some(id) = open.events.last_event_id() {
            self.last = HeaderValue::try_from(id).ok().filter(|id| !id.is_empty());
        }
        if open.since.elapsed() >= LASTING {
            self.pause = FIRST_PAUSE;
        }
    }

    fn interrupted(&mut self, error: Error) -> Seen {
        self.close();
        self.is_interrupted = true;
        Seen::Interrupted(CallError::new(error, None))
    }

    fn failed(&self, error: Error) -> CallError {
        CallError::new(error, Some(StatusCode::OK))
    }
}

/// A reply that is a stream, or why it is none.
async fn accepted(mut reply: Reply) -> Result<Reply, CallError> {
    let status = reply.status;
    let failed = |error: Error| CallError::new(error, Some(status));
    if status == StatusCode::OK && reply.media_type() == "text/event-stream" {
        return Ok(reply);
    }
    if status.is_success() {
        let beginning = reply.chunk().await.map_err(|error| failed(error.into()))?;
        let beginning = beginning.unwrap_or_default();
        let beginning =
            String::from_utf8_lossy(&beginning[..beginning.len().min(256)]).into_owned();
        let media_type = reply.media_type();
        return Err(failed(ProtocolError::NoEvents { media_type, beginning }.into()));
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

/// Whether a server that could be reached before may be so again.
fn is_passing(failed: &CallError) -> bool {
    match (&failed.error, failed.status) {
        (Error::Transport(error), _) => !matches!(error, TransportError::NotHttp { .. }),
        (_, Some(status)) => status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS,
        _ => false,
    }
}

fn too_large(http: &Http) -> Error {
    TransportError::TooLarge { target: http.target().into_owned(), limit: LARGEST }.into()
}

fn silent(http: &Http) -> Error {
    TransportError::Timeout { target: http.target().into_owned(), after: SILENCE }.into()
}
