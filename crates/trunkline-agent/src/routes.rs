//! `POST /api`: the agent's methods over HTTP, with the events of a turn as a stream.

use std::pin::Pin;

use axum::extract::State;
use axum::routing::post;
use futures_util::stream::unfold;
use http::Response;
use tokio::sync::mpsc::Receiver;
use trunkline::http::{
    Event as ServerSentEvent, EventStream, Headers, Message, ReplyBody, Routes, accepts_by_name,
    respond,
};
use trunkline::protocol::{FORMATS, Incoming, Reply};
use trunkline::{Call, Extensions, Rpc};

use crate::agent::{Event, EventSender};

/// The routes of an agent. `rpc` is the service of its [operations](crate::operations).
///
/// `POST /api` is JSON-RPC 2.0, in JSON or EDN. A single request whose `Accept` names `text/event-stream` and
/// not JSON is answered with a stream of server-sent events: `status`, `token`, `tool_call`, `tool_result` and
/// `done` of a chat, and finally `response`, the JSON-RPC response. Disconnecting cancels the call.
pub fn routes(rpc: &Rpc) -> Routes {
    let router = axum::Router::new().route("/api", post(Api::answer));
    Routes::new("api", router.with_state(Api(rpc.clone()))).formats(FORMATS)
}

#[derive(Clone)]
struct Api(Rpc);

/// The maximum number of unsent events; beyond that, the turn waits for the client.
const MAX_UNSENT: usize = 64;

impl Api {
    async fn answer(State(api): State<Self>, message: Message) -> Response<ReplyBody> {
        let Message { extensions, body, formats, status_policy, .. } = message;
        let reply = if accepts_events(&extensions) {
            match api.0.read_in(formats, body, extensions) {
                Incoming::Call(call) if !call.is_notification() => return api.stream(call),
                Incoming::Call(call) => api.0.answer(call).await,
                Incoming::Batch(batch) => api.0.answer_batch(batch).await,
                Incoming::Response { error, id, .. } | Incoming::Refused { error, id, .. } => {
                    Reply::error(error, Some(&id.unwrap_or(trunkline::Id::NULL)))
                        .into_format(formats.reply)
                }
            }
        } else {
            api.0.handle_in(formats, body, extensions).await
        };
        respond(status_policy.status(&reply), reply)
    }

    fn stream(&self, mut call: Call) -> Response<ReplyBody> {
        let (sender, events) = EventSender::channel(MAX_UNSENT);
        call.extensions_mut().insert(sender);
        let (method, id) = (call.method().into_owned(), call.id());
        let history = self.0.history();
        let recording =
            history.map(|history| history.record_stream(call.extensions(), &method, id.as_ref()));
        let rpc = self.0.clone();
        let answer = Box::pin(async move { rpc.answer(call).await });
        let call = CallEvents { events, answer: Some(answer), reply: None };
        let events = unfold(call, |mut call| async move {
            let event = call.next().await?;
            Some((event, call))
        });
        let memory = &self.0.limits().memory;
        EventStream::new(events).recording(recording).memory(memory).into_response()
    }
}

/// A running call and its events.
struct CallEvents {
    events: Receiver<Event>,
    answer: Option<Pin<Box<dyn Future<Output = Reply> + Send>>>,
    /// The reply, until it is sent.
    reply: Option<Reply>,
}

impl CallEvents {
    /// The next event to send; `None` at the end.
    async fn next(&mut self) -> Option<ServerSentEvent> {
        if let Some(answer) = &mut self.answer {
            tokio::select! {
                biased;
                Some(event) = self.events.recv() => return Some(to_server_sent(&event)),
                reply = answer => {
                    self.answer = None;
                    self.reply = Some(reply);
                }
            }
        }
        // The remaining events precede the response.
        if let Ok(event) = self.events.try_recv() {
            return Some(to_server_sent(&event));
        }
        let response = self.reply.take()?.into_json()?;
        Some(ServerSentEvent::json_text("response", &response))
    }
}

fn to_server_sent(event: &Event) -> ServerSentEvent {
    match event.to_json() {
        Ok(json) => ServerSentEvent::json_text(event.name(), json.get().as_bytes()),
        Err(error) => {
            tracing::error!(%error, "failed to serialize an event");
            ServerSentEvent::comment("an event could not be serialized")
        }
    }
}

/// Whether `Accept` names events and not JSON.
fn accepts_events(extensions: &Extensions) -> bool {
    Headers::of(extensions).is_some_and(|headers| {
        accepts_by_name(headers, "text/event-stream")
            && !accepts_by_name(headers, "application/json")
    })
}
