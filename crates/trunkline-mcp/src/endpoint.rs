//! The MCP endpoint: Streamable HTTP, without sessions.
//!
//! | status | when |
//! |---|---|
//! | 200 | a response, also with an error, unless the protocol specifies another status |
//! | 202 | an accepted notification |
//! | 400 | a malformed message; an unsupported batch; 2026-07-28: -32020, -32021, -32022, `_meta` |
//! | 401, 403 | the token is missing, invalid or insufficient |
//! | 404 | 2026-07-28: an unknown method |
//! | 405 | GET and DELETE, since there are neither streams nor sessions |
//! | 429 | the caller exceeds its rate limit |

use std::sync::Arc;

use http::{HeaderMap, Response, StatusCode};
use trunkline::http::{
    Headers, Message as HttpMessage, ReplyBody, ResponseFuture, Routes, respond,
};
use trunkline::protocol::{Batch, CallFuture, Incoming, Reply};
use trunkline::{Call, Extensions, Id, Outcome, code};

use crate::batch;
use crate::channel::Message;
use crate::era::{Fields, NO_BATCHES, Transport, version_header};
use crate::events::{self, Source};
use crate::fault::{BAD_ID, Fault};
use crate::notify::NotificationQueue;
use crate::protocol::error_code::MISSING_CAPABILITY;
use crate::protocol::{Legacy, method};
use crate::request::is_mcp_id;
use crate::running::{Running, run_to_completion};
use crate::server::{Answer, Mcp, Server, StartedCall, record_refusal};

impl Mcp {
    /// The MCP endpoint at `/mcp`. There, an unknown tool is error -32602. Requests of the first era can also call
    /// operations by their own names.
    ///
    /// A request of the stateless era is cancelled when its client disconnects. An earlier one runs to its end, as
    /// its revision requires.
    pub fn routes(&self) -> Routes {
        let endpoint = Endpoint(Arc::clone(&self.0));
        let answer = move |message| endpoint.answer(message);
        Routes::new("mcp", axum::Router::new()).messages("/mcp", answer)
    }
}

#[derive(Clone)]
struct Endpoint(Arc<Server>);

/// The properties of a request that its response depends on.
struct Context {
    id: Option<Id>,
    /// Whether the request is of the stateless era.
    modern: bool,
    extensions: Extensions,
}

impl Endpoint {
    fn answer(&self, message: HttpMessage) -> ResponseFuture {
        let HttpMessage { extensions, body, .. } = message;
        let response = match self.0.rpc.read(body, extensions.clone()) {
            Incoming::Call(call) => return self.answer_call(call, extensions),
            Incoming::Batch(batch) => {
                let endpoint = self.clone();
                return ResponseFuture::later(async move {
                    endpoint.answer_batch(batch, &extensions).await
                });
            }
            Incoming::Refused { error, id } => {
                let id = id.filter(is_mcp_id);
                respond(StatusCode::BAD_REQUEST, Reply::error(error, id.as_ref()))
            }
            // Its id, if valid, is not that of a request of the client.
            Incoming::Response { error, .. } => {
                respond(StatusCode::BAD_REQUEST, Reply::error(error, None))
            }
        };
        ResponseFuture::ready(response)
    }

    fn answer_call(&self, call: Call, extensions: Extensions) -> ResponseFuture {
        let id = call.id();
        if id.as_ref().is_some_and(|id| !is_mcp_id(id)) {
            let fault = Fault::Request(BAD_ID);
            record_refusal(call, &fault.error());
            return ResponseFuture::ready(refuse(&fault, None, false));
        }
        let no_headers = HeaderMap::new();
        let fields = Fields::of(Headers::of(&extensions).unwrap_or(&no_headers));
        let Answer { modern, outcome } = self.0.answer(call, Transport::Http(fields));
        let started = match outcome {
            // A notification starts no call.
            Ok(_) if id.is_none() => return ResponseFuture::ready(accepted()),
            Ok(started) => started,
            Err(fault) => return ResponseFuture::ready(refuse(&fault, id.as_ref(), modern)),
        };
        let StartedCall { future, notifications } = started;
        let context = Context { id, modern, extensions };
        match (future.into_outcome(), notifications) {
            (Ok(outcome), Some(notifications)) if !notifications.is_empty() => {
                let ended = Running::Done(Some(Ok(outcome)));
                ResponseFuture::ready(self.stream(notifications, ended, context))
            }
            (Ok(outcome), _) => ResponseFuture::ready(self.reply(outcome, &context)),
            (Err(future), notifications) => {
                let endpoint = self.clone();
                ResponseFuture::later(endpoint.wait(future, notifications, context))
            }
        }
    }

    /// The response to a call that did not end at once.
    async fn wait(
        self,
        future: CallFuture,
        notifications: Option<Arc<NotificationQueue>>,
        context: Context,
    ) -> Response<ReplyBody> {
        let mut running =
            if context.modern { Running::Inline(future) } else { run_to_completion(future).await };
        let Some(notifications) = notifications else {
            let Ok(outcome) = running.await;
            return self.reply(outcome, &context);
        };
        tokio::select! {
            biased;
            Ok(outcome) = &mut running => {
                if notifications.is_empty() {
                    return self.reply(outcome, &context);
                }
                self.stream(notifications, Running::Done(Some(Ok(outcome))), context)
            }
            () = notifications.filled() => self.stream(notifications, running, context),
        }
    }

    fn reply(&self, outcome: Outcome, context: &Context) -> Response<ReplyBody> {
        let status = status(&outcome, context.modern);
        respond(status, self.0.rpc.reply(outcome, context.id.as_ref()))
    }

    /// A stream of the notifications of a call, followed by its reply.
    fn stream(
        &self,
        notifications: Arc<NotificationQueue>,
        running: Running<CallFuture>,
        context: Context,
    ) -> Response<ReplyBody> {
        let Context { id, extensions, .. } = context;
        let history = self.0.rpc.history();
        // Only tools send notifications.
        let recording = history
            .map(|history| history.record_stream(&extensions, method::TOOLS_CALL, id.as_ref()));
        let running = Some(running);
        let reply = NotificationStream { server: Arc::clone(&self.0), notifications, running, id };
        events::respond(None, reply, self.0.settings.keep_alive, recording)
    }

    async fn answer_batch(&self, batch: Batch, extensions: &Extensions) -> Response<ReplyBody> {
        let no_headers = HeaderMap::new();
        let fields = Fields::of(Headers::of(extensions).unwrap_or(&no_headers));
        let header = match version_header(fields) {
            Ok(header) => header,
            Err(fault) => {
                batch.refuse(&fault.error());
                return refuse(&fault, None, false);
            }
        };
        let version = header.map_or(Some(Legacy::ASSUMED), Legacy::parse);
        if !version.is_some_and(Legacy::has_batches) {
            let fault = Fault::Request(NO_BATCHES);
            batch.refuse(&fault.error());
            return refuse(&fault, None, false);
        }
        let answered = run_to_completion(Box::pin(batch::answer(Arc::clone(&self.0), batch))).await;
        match answered.await {
            Ok(Reply::None) => accepted(),
            Ok(reply) => respond(StatusCode::OK, reply),
            Err(fault) => refuse(&fault, None, false),
        }
    }
}

/// The status of a reply. Refusals by access rules and rate limits have their own status.
fn status(outcome: &Outcome, modern: bool) -> StatusCode {
    match outcome.code() {
        Some(MISSING_CAPABILITY) if modern => StatusCode::BAD_REQUEST,
        Some(code::UNAUTHENTICATED) => StatusCode::UNAUTHORIZED,
        Some(code::FORBIDDEN) => StatusCode::FORBIDDEN,
        Some(code::RATE_LIMITED) => StatusCode::TOO_MANY_REQUESTS,
        _ => StatusCode::OK,
    }
}

/// The notifications of a call, followed by its reply.
struct NotificationStream {
    server: Arc<Server>,
    notifications: Arc<NotificationQueue>,
    running: Option<Running<CallFuture>>,
    id: Option<Id>,
}

impl Source for NotificationStream {
    async fn next(&mut self) -> Option<Message> {
        if let Some(message) = self.notifications.take() {
            return Some(message.into());
        }
        let running = self.running.as_mut()?;
        let outcome = tokio::select! {
            biased;
            () = self.notifications.filled() => return self.notifications.take().map(Message::from),
            Ok(outcome) = running => outcome,
        };
        self.running = None;
        // The last notifications precede the reply.
        if let Some(message) = self.notifications.take() {
            self.running = Some(Running::Done(Some(Ok(outcome))));
            return Some(message.into());
        }
        let reply = self.server.rpc.reply(outcome, self.id.as_ref());
        Message::reserved(&self.server.rpc.limits().memory, reply, self.id.as_ref())
    }
}

/// Refuses a message. Without an id, the status is 400, since no response with status 200 exists.
fn refuse(fault: &Fault, id: Option<&Id>, modern: bool) -> Response<ReplyBody> {
    let status = if id.is_some() { fault.status(modern) } else { StatusCode::BAD_REQUEST };
    respond(status, Reply::error(fault.error(), id))
}

fn accepted() -> Response<ReplyBody> {
    respond(StatusCode::ACCEPTED, Reply::None)
}
