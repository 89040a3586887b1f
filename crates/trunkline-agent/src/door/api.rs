//! `POST /api`: the agent's methods, and what happens in a turn as it happens.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::unfold;
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Method, Response, StatusCode};
use http_body::Frame;
use http_body_util::StreamBody;
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;
use trunkline::http::{Door, DoorFuture, DoorRequest, Headers, ReplyBody, respond};
use trunkline::{Call, Extensions, Format, Incoming, Reply, Rpc};

use crate::agent::{Event, Events};

/// The door of an agent, for [`HttpService::door`](trunkline::http::HttpService::door): `rpc` is the service
/// of its [operations](crate::operations).
///
/// `POST /api` is JSON-RPC 2.0, in JSON or EDN. A single request whose `Accept` names `text/event-stream` and
/// not JSON is answered with a stream of server-sent events: `status`, `token`, `tool_call`, `tool_result` and
/// `done` of a chat, and at last `response`, the JSON-RPC response. Who goes cancels the call.
#[must_use]
pub fn api(rpc: &Rpc) -> Arc<dyn Door> {
    Arc::new(Api(rpc.clone()))
}

struct Api(Rpc);

impl Door for Api {
    fn paths(&self) -> &[(&'static str, &'static [Method])] {
        &[("/api", &[Method::POST])]
    }

    fn name(&self) -> &'static str {
        "api"
    }

    fn formats(&self) -> &'static [Format] {
        Format::ALL
    }

    fn answer(&self, request: DoorRequest) -> DoorFuture<'_> {
        Box::pin(async move {
            let DoorRequest { extensions, body, formats, status_policy, .. } = request;
            let reply = if wants_events(&extensions) {
                match self.0.read_in(formats, body.clone(), extensions.clone()) {
                    Incoming::Call(call) if !call.is_notification() => return self.stream(call),
                    Incoming::Call(call) => self.0.answer(call).await,
                    Incoming::Batch(batch) => self.0.answer_batch(batch).await,
                    Incoming::Response { error, id } | Incoming::Refused { error, id } => {
                        Reply::error(error, Some(&id.unwrap_or(trunkline::Id::NULL)))
                            .written_in(formats.reply)
                    }
                }
            } else {
                self.0.handle_in(formats, body, extensions).await
            };
            respond(status_policy.status(&reply), reply)
        })
    }
}

/// Events that wait to be sent; a turn waits for a client that reads slowly.
const WAITING: usize = 64;

/// A comment is sent after so long a silence, so that proxies see life.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

impl Api {
    fn stream(&self, mut call: Call) -> Response<ReplyBody> {
        let (events, waiting) = Events::channel(WAITING);
        call.extensions_mut().insert(events);
        let rpc = self.0.clone();
        let answer = Box::pin(async move { rpc.answer(call).await });
        let telling = Telling { waiting, answer: Some(answer), reply: None };
        let frames = unfold(telling, |mut telling| async move {
            let frame = match timeout(KEEP_ALIVE, telling.next()).await {
                Ok(frame) => frame?,
                Err(_) => Bytes::from_static(b": still here\n\n"),
            };
            Some((Ok::<_, Infallible>(Frame::data(frame)), telling))
        });
        let mut response = Response::new(ReplyBody::stream(StreamBody::new(frames)));
        *response.status_mut() = StatusCode::OK;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        // Proxies must not collect events before they pass them on.
        let buffering = HeaderName::from_static("x-accel-buffering");
        headers.insert(buffering, HeaderValue::from_static("no"));
        response
    }
}

/// A call that tells what happens.
struct Telling {
    waiting: Receiver<Event>,
    answer: Option<Pin<Box<dyn Future<Output = Reply> + Send>>>,
    /// What it was answered, until that is sent.
    reply: Option<Reply>,
}

impl Telling {
    /// The next event as it is sent; none at the end. Nothing is lost when the future is dropped.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(answer) = &mut self.answer {
            tokio::select! {
                biased;
                Some(event) = self.waiting.recv() => return Some(framed(&event)),
                reply = answer => {
                    self.answer = None;
                    self.reply = Some(reply);
                }
            }
        }
        // What was told last comes before the response.
        if let Ok(event) = self.waiting.try_recv() {
            return Some(framed(&event));
        }
        let response = self.reply.take()?.into_json()?;
        Some(frame("response", &response))
    }
}

fn framed(event: &Event) -> Bytes {
    match event.to_json() {
        Ok(json) => frame(event.name(), json.get().as_bytes()),
        Err(error) => {
            tracing::error!(%error, "an event has no JSON");
            Bytes::from_static(b": an event that cannot be told\n\n")
        }
    }
}

fn frame(name: &str, json: &[u8]) -> Bytes {
    // JSON has newlines between its tokens only, where any space will do.
    let line = json.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte });
    let head = format!("event: {name}\ndata: ").into_bytes();
    head.into_iter().chain(line).chain(*b"\n\n").collect()
}

/// Whether `Accept` names events and not JSON.
fn wants_events(extensions: &Extensions) -> bool {
    let Some(headers) = Headers::of(extensions) else {
        return false;
    };
    let names = |wanted: &str| {
        let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let mut types = values.flat_map(|value| value.split(','));
        types.any(|one| {
            one.split(';').next().is_some_and(|one| one.trim().eq_ignore_ascii_case(wanted))
        })
    };
    names("text/event-stream") && !names("application/json")
}
