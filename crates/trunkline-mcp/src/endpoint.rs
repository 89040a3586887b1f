//! The MCP endpoint: Streamable HTTP, without sessions.
//!
//! | status | when |
//! |---|---|
//! | 200 | a request was answered; also with an error, where the protocol does not say otherwise |
//! | 202 | a notification was taken |
//! | 400 | unreadable; a batch where there are none; 2026-07-28: -32020, -32021, -32022, `_meta` |
//! | 401, 403 | the caller may not: without a token, or with one that does not say enough |
//! | 404 | 2026-07-28: no such method |
//! | 405 | GET and DELETE: no streams, no sessions |
//! | 429 | the caller calls too often |

use std::sync::Arc;

use http::{HeaderMap, Response, StatusCode};
use trunkline::http::{
    Headers, Message as HttpMessage, ReplyBody, ResponseFuture, Routes, respond,
};
use trunkline::protocol::{Batch, CallFuture, Incoming, Reply};
use trunkline::{Call, Extensions, Id, Outcome, code};

use crate::batch;
use crate::channel::Message;
use crate::era::{Fields, NO_BATCHES, Way, version_header};
use crate::events::{self, Source};
use crate::fault::{BAD_ID, Fault};
use crate::notify::Outlet;
use crate::protocol::error_code::MISSING_CAPABILITY;
use crate::protocol::{Legacy, method};
use crate::request::is_mcp_id;
use crate::running::{Running, undisturbed};
use crate::server::{Answer, Begun, Mcp, Server, record_refusal};

impl Mcp {
    /// The MCP endpoint at `/mcp`. An unknown tool is -32602 there. Requests of the first era can call
    /// operations by their own names, too.
    ///
    /// A request of the stateless era is cancelled when its client disconnects; an earlier one runs
    /// on, as its revision requires.
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
            // Its id is one of ours, if it is any.
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
        let Answer { modern, outcome } = self.0.answer(call, Way::Http(fields));
        let begun = match outcome {
            // A notification has run nothing.
            Ok(_) if id.is_none() => return ResponseFuture::ready(accepted()),
            Ok(begun) => begun,
            Err(fault) => return ResponseFuture::ready(refuse(&fault, id.as_ref(), modern)),
        };
        let Begun { future, outlet } = begun;
        let context = Context { id, modern, extensions };
        match (future.into_outcome(), outlet) {
            (Ok(outcome), Some(outlet)) if !outlet.is_empty() => {
                let ended = Running::Ended(Some(Ok(outcome)));
                ResponseFuture::ready(self.tell(outlet, ended, context))
            }
            (Ok(outcome), _) => ResponseFuture::ready(self.reply(outcome, &context)),
            (Err(future), outlet) => {
                let endpoint = self.clone();
                ResponseFuture::later(endpoint.wait(future, outlet, context))
            }
        }
    }

    /// The response to a call that did not end at once.
    async fn wait(
        self,
        future: CallFuture,
        outlet: Option<Arc<Outlet>>,
        context: Context,
    ) -> Response<ReplyBody> {
        let mut running =
            if context.modern { Running::Here(future) } else { undisturbed(future).await };
        let Some(outlet) = outlet else {
            let Ok(outcome) = running.await;
            return self.reply(outcome, &context);
        };
        tokio::select! {
            biased;
            Ok(outcome) = &mut running => {
                if outlet.is_empty() {
                    return self.reply(outcome, &context);
                }
                self.tell(outlet, Running::Ended(Some(Ok(outcome))), context)
            }
            () = outlet.filled() => self.tell(outlet, running, context),
        }
    }

    fn reply(&self, outcome: Outcome, context: &Context) -> Response<ReplyBody> {
        let status = status(&outcome, context.modern);
        respond(status, self.0.rpc.reply(outcome, context.id.as_ref()))
    }

    /// A stream of what a call tells, and of its reply at last.
    fn tell(
        &self,
        outlet: Arc<Outlet>,
        running: Running<CallFuture>,
        context: Context,
    ) -> Response<ReplyBody> {
        let Context { id, extensions, .. } = context;
        let history = self.0.rpc.history();
        // Only tools tell.
        let recording =
            history.map(|history| history.stream(&extensions, method::TOOLS_CALL, id.as_ref()));
        let running = Some(running);
        let reply = Telling { server: Arc::clone(&self.0), outlet, running, id };
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
        let answered = undisturbed(Box::pin(batch::answer(Arc::clone(&self.0), batch))).await;
        match answered.await {
            Ok(Reply::None) => accepted(),
            Ok(reply) => respond(StatusCode::OK, reply),
            Err(fault) => refuse(&fault, None, false),
        }
    }
}

/// The status of a reply. Who may not call, or calls too often, is told so by HTTP, too.
fn status(outcome: &Outcome, modern: bool) -> StatusCode {
    match outcome.code() {
        Some(MISSING_CAPABILITY) if modern => StatusCode::BAD_REQUEST,
        Some(code::UNAUTHENTICATED) => StatusCode::UNAUTHORIZED,
        Some(code::FORBIDDEN) => StatusCode::FORBIDDEN,
        Some(code::RATE_LIMITED) => StatusCode::TOO_MANY_REQUESTS,
        _ => StatusCode::OK,
    }
}

/// A call whose client is told something before it ends: those messages, and the reply at last.
struct Telling {
    server: Arc<Server>,
    outlet: Arc<Outlet>,
    running: Option<Running<CallFuture>>,
    id: Option<Id>,
}

impl Source for Telling {
    async fn next(&mut self) -> Option<Message> {
        if let Some(message) = self.outlet.take() {
            return Some(message.into());
        }
        let running = self.running.as_mut()?;
        let outcome = tokio::select! {
            biased;
            () = self.outlet.filled() => return self.outlet.take().map(Message::from),
            Ok(outcome) = running => outcome,
        };
        self.running = None;
        // What the call told last comes before its reply.
        if let Some(message) = self.outlet.take() {
            self.running = Some(Running::Ended(Some(Ok(outcome))));
            return Some(message.into());
        }
        let reply = self.server.rpc.reply(outcome, self.id.as_ref());
        Message::reserved(&self.server.rpc.limits().memory, reply, self.id.as_ref())
    }
}

/// What is no request has no reply that could be 200, so the status tells that it was refused.
fn refuse(fault: &Fault, id: Option<&Id>, modern: bool) -> Response<ReplyBody> {
    let status = if id.is_some() { fault.status(modern) } else { StatusCode::BAD_REQUEST };
    respond(status, Reply::error(fault.error(), id))
}

fn accepted() -> Response<ReplyBody> {
    respond(StatusCode::ACCEPTED, Reply::None)
}
