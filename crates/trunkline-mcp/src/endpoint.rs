//! The MCP endpoint: Streamable HTTP.
//!
//! | status | when |
//! |---|---|
//! | 200 | a response, also with an error, unless the protocol specifies another status; the end of a session |
//! | 202 | an accepted notification or response |
//! | 400 | a malformed message; an unsupported batch; 2026-07-28: -32020, -32021, -32022, `_meta` |
//! | 401, 403 | the token is missing, invalid or insufficient |
//! | 404 | an unknown or ended session; 2026-07-28: an unknown method |
//! | 405 | GET and DELETE without a session |
//! | 406 | GET by a client that does not accept `text/event-stream` |
//! | 429 | the caller exceeds its rate limit |
//! | 503 | all sessions are in use |

use std::sync::Arc;

use axum::routing::{delete, get};
use http::header::ALLOW;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use serde_json::json;
use trunkline::http::{
    Context as HttpContext, Event, Headers, Message as HttpMessage, ReplyBody, ResponseFuture,
    Routes, respond,
};
use trunkline::protocol::{Batch, CallFuture, Incoming, Reply};
use trunkline::{Call, ErrorObject, Extensions, Id, Outcome, code};

use crate::batch;
use crate::era::{self, Fields, NO_BATCHES, Transport};
use crate::events::{self, MessageStream, SessionStream};
use crate::fault::{BAD_ID, DUPLICATE_ID, Fault};
use crate::incoming;
use crate::message_queue::MessageQueue;
use crate::nodes::NodesError;
use crate::protocol::error_code::MISSING_CAPABILITY;
use crate::protocol::{Legacy, header, method, without_mark};
use crate::request::is_mcp_id;
use crate::running::{Running, run_to_completion};
use crate::server::{Answer, Mcp, Server, StartedCall, record_of, record_refusal};
use crate::session::{
    HttpSession, Position, RETRY, SessionError, StreamId, owner_key, random_id, random_start,
    session_id,
};
use crate::session_refusal::{unavailable_response, unknown_event};

impl Mcp {
    /// The MCP endpoint at `/mcp`. There, an unknown tool is error -32602. Requests of the first era can also call
    /// operations by their own names.
    ///
    /// A request of the stateless era is cancelled when its client disconnects. An earlier one runs to its end, as
    /// its revision requires, and is cancelled by a notification.
    ///
    /// `initialize` opens a session, which its client names in later requests. A session that the server has lost is
    /// opened again by the next request that names it. A client without a session receives the
    /// notifications of its calls, but no requests and no changes of lists.
    pub fn routes(&self) -> Routes {
        let endpoint = Endpoint(Arc::clone(&self.0));
        let mut router = axum::Router::new();
        if self.0.sessions.is_enabled() {
            let (stream, end) = (endpoint.clone(), endpoint.clone());
            let open =
                async move |context: HttpContext| stream.open_stream(context.extensions).await;
            let end = async move |context: HttpContext| end.end_session(&context.extensions).await;
            router = router.route("/mcp", get(open)).route("/mcp", delete(end));
        }
        let answer = move |message| endpoint.answer(message);
        Routes::new("mcp", router).messages("/mcp", answer)
    }
}

#[derive(Clone)]
struct Endpoint(Arc<Server>);

/// The properties of a request that its response depends on.
struct Context {
    id: Option<Id>,
    /// The name under which a stream is recorded.
    method: &'static str,
    /// Whether the request is of the stateless era.
    modern: bool,
    /// Whether the client accepts events, but not JSON.
    events_only: bool,
    extensions: Extensions,
    session: Option<Arc<HttpSession>>,
}

impl Endpoint {
    fn answer(&self, message: HttpMessage) -> ResponseFuture {
        if !self.must_load(&message.extensions) {
            return self.answer_here(message);
        }
        let endpoint = self.clone();
        ResponseFuture::boxed(async move {
            match endpoint.load_session(&message.extensions).await {
                Ok(()) => endpoint.answer_here(message).await,
                Err(refused) => *refused,
            }
        })
    }

    fn answer_here(&self, message: HttpMessage) -> ResponseFuture {
        let HttpMessage { extensions, body, .. } = message;
        let body = without_mark(body);
        let response = match incoming::read(&self.0.rpc, body, extensions.clone()) {
            Incoming::Call(call) => return self.answer_call(call, extensions),
            Incoming::Batch(batch) => {
                let endpoint = self.clone();
                return ResponseFuture::boxed(async move {
                    endpoint.answer_batch(batch, &extensions).await
                });
            }
            Incoming::Refused { error, id, .. } => {
                respond(StatusCode::BAD_REQUEST, Reply::error(error, id.as_ref()))
            }
            Incoming::Response { error, id, body } => match self.session(&extensions) {
                Ok(Some(session)) => {
                    let (id, requests) = (id.as_ref().map(Id::as_raw), &session.session.requests);
                    if let (Some(id), Some(shared)) = (id, session.session.shared())
                        && !requests.is_pending(id)
                        && let Ok(body) = String::from_utf8(body.to_vec())
                    {
                        // Another node may have sent the request.
                        let (shared, id) = (Arc::clone(shared), id.to_owned());
                        let sent = async move { shared.respond(id, body).await };
                        return accepted_after(sent);
                    }
                    requests.answer(id, &body);
                    accepted()
                }
                // Its id, if valid, is not that of a request of the client.
                Ok(None) => respond(StatusCode::BAD_REQUEST, Reply::error(error, None)),
                Err(refused) => *refused,
            },
        };
        ResponseFuture::value(response)
    }

    fn answer_call(&self, mut call: Call, extensions: Extensions) -> ResponseFuture {
        let id = call.id();
        if id.as_ref().is_some_and(|id| !is_mcp_id(id)) {
            let fault = Fault::Request(BAD_ID);
            record_refusal(call, &fault.error());
            return ResponseFuture::value(refuse(&fault, None, false));
        }
        let no_headers = HeaderMap::new();
        let fields = Fields::of(Headers::of(&extensions).unwrap_or(&no_headers));
        // Also if the client names a session, which it may have lost.
        if self.opens_session(&call) {
            return self.initialize(call, &extensions, fields);
        }
        let session = match self.session_of(fields, &extensions) {
            Ok(session) => session,
            Err(refused) => {
                record_refusal(call, &refused.error());
                return ResponseFuture::value(refused.response(id.as_ref()));
            }
        };
        if let Some(session) = &session
            && call.has_method(method::CANCELLED)
            && let Some(request) = session.session.cancel(&call)
            && let Some(shared) = session.session.shared().cloned()
        {
            if let Some(observation) = call.take_observation() {
                observation.end(&Outcome::result(&()));
            }
            return accepted_after(async move { shared.cancel(request).await });
        }
        let state = session.as_ref().map(|session| &session.session);
        let method = streamed_method(&call);
        let Answer { modern, outcome } = self.0.answer(call, Transport::Http(fields), state);
        let events_only = fields.accepts_only_events();
        let started = match outcome {
            // A notification starts no call.
            Ok(_) if id.is_none() => return ResponseFuture::value(accepted()),
            Ok(started) => started,
            Err(fault) if events_only && id.is_some() => {
                let reply = Reply::error(fault.error(), id.as_ref());
                let status = fault.status(modern);
                let response = events::respond_as(&self.0, status, reply, id.as_ref(), events_only);
                return ResponseFuture::value(response);
            }
            Err(fault) => return ResponseFuture::value(refuse(&fault, id.as_ref(), modern)),
        };
        let StartedCall { future, messages } = started;
        let session = session.filter(|_| !modern);
        let context = Context { id, method, modern, events_only, extensions, session };
        match (future.into_outcome(), messages) {
            (Ok(outcome), Some(messages)) if !messages.is_empty() => {
                let ended = Running::Done(Some(Ok(outcome)));
                ResponseFuture::value(self.stream(messages, ended, context))
            }
            (Ok(outcome), _) => ResponseFuture::value(self.reply(outcome, &context)),
            (Err(future), messages) => {
                let endpoint = self.clone();
                ResponseFuture::boxed(endpoint.wait(future, messages, context))
            }
        }
    }

    /// The response to a call that did not end at once.
    async fn wait(
        self,
        future: CallFuture,
        messages: Option<Arc<MessageQueue>>,
        context: Context,
    ) -> Response<ReplyBody> {
        let mut running = match (&context.session, &context.id) {
            _ if context.modern => Running::Inline(future),
            (Some(session), Some(id)) => {
                let Some(call) = session.session.run(id, future) else {
                    return refuse(&Fault::Request(DUPLICATE_ID), Some(id), false);
                };
                let activity = session.activity();
                let call = CallFuture::from_future(async move {
                    let _activity = activity;
                    let Ok(outcome) = call.await;
                    outcome
                });
                run_to_completion(&self.0.detached, call).await
            }
            _ => run_to_completion(&self.0.detached, future).await,
        };
        let Some(messages) = messages else {
            let Ok(outcome) = running.await;
            return self.reply(outcome, &context);
        };
        tokio::select! {
            biased;
            Ok(outcome) = &mut running => {
                if messages.is_empty() {
                    return self.reply(outcome, &context);
                }
                self.stream(messages, Running::Done(Some(Ok(outcome))), context)
            }
            () = messages.filled() => self.stream(messages, running, context),
        }
    }

    fn reply(&self, outcome: Outcome, context: &Context) -> Response<ReplyBody> {
        let status = status(&outcome, context.modern);
        let id = context.id.as_ref();
        events::respond_as(&self.0, status, self.0.rpc.reply(outcome, id), id, context.events_only)
    }

    /// A stream of the messages of a call, followed by its reply.
    fn stream(
        &self,
        messages: Arc<MessageQueue>,
        running: Running<CallFuture>,
        context: Context,
    ) -> Response<ReplyBody> {
        let Context { id, method, extensions, session, .. } = context;
        let history = self.0.rpc.history();
        let recording =
            history.map(|history| history.record_stream(&extensions, method, id.as_ref()));
        let keep_alive = self.0.settings.keep_alive;
        let stream = MessageStream::new(Arc::clone(&self.0), messages, running, id);
        match session {
            Some(session) => {
                let stream = SessionStream::of_call(stream, session);
                events::respond(Some(Event::retry(RETRY)), stream, keep_alive, recording)
            }
            None => events::respond(None, stream, keep_alive, recording),
        }
    }

    async fn answer_batch(&self, batch: Batch, extensions: &Extensions) -> Response<ReplyBody> {
        let no_headers = HeaderMap::new();
        let fields = Fields::of(Headers::of(extensions).unwrap_or(&no_headers));
        let header = match era::check_version(fields) {
            Ok(header) => header,
            Err(fault) => {
                batch.refuse(&fault.error());
                return refuse(&fault, None, false);
            }
        };
        let session = match self.session_of(fields, extensions) {
            Ok(session) => session,
            Err(refused) => {
                batch.refuse(&refused.error());
                return refused.response(None);
            }
        };
        let of_session = session.as_ref().and_then(|session| session.session.version());
        let version = header.map_or(of_session.or(Some(Legacy::ASSUMED)), Legacy::parse);
        if !version.is_some_and(Legacy::has_batches) {
            let fault = Fault::Request(NO_BATCHES);
            batch.refuse(&fault.error());
            return refuse(&fault, None, false);
        }
        let server = Arc::clone(&self.0);
        let answered = run_to_completion(
            &self.0.detached,
            Box::pin(async move {
                let _activity = session.as_ref().map(HttpSession::activity);
                let session = session.as_ref().map(|session| Arc::clone(&session.session));
                batch::answer(server, batch, session).await
            }),
        );
        match answered.await.await {
            Ok(reply) if reply.is_none() => accepted(),
            Ok(reply) => events::respond_as(
                &self.0,
                StatusCode::OK,
                reply,
                None,
                fields.accepts_only_events(),
            ),
            Err(fault) => refuse(&fault, None, false),
        }
    }
}

/// Sessions.
impl Endpoint {
    fn opens_session(&self, call: &Call) -> bool {
        self.0.sessions.is_enabled()
            && call.has_method(method::INITIALIZE)
            && !call.is_notification()
    }

    /// Answers `initialize`, which opens a session.
    fn initialize(
        &self,
        call: Call,
        extensions: &Extensions,
        fields: Fields<'_>,
    ) -> ResponseFuture {
        let id = call.id();
        let membership = self.0.membership.as_ref();
        let shared =
            match membership.map(|membership| (membership, random_id().zip(random_start()))) {
                Some((membership, Some((id, start)))) => Some((membership, id, start)),
                Some((_, None)) => {
                    let refused = SessionError::Random;
                    record_refusal(call, &refused.error());
                    return ResponseFuture::value(refused.response(id.as_ref()));
                }
                None => None,
            };
        let session = match &shared {
            Some((membership, id, start)) => {
                self.0.shared_session(extensions, id.clone(), *start, membership)
            }
            None => self.0.new_session(extensions, 0),
        };
        let state = Some(&session.session);
        let Answer { modern, outcome } = self.0.answer(call, Transport::Http(fields), state);
        let outcome = match outcome.map(|started| started.future.into_outcome()) {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Outcome::error(ErrorObject::internal(&"`initialize` did not end")),
            Err(fault) => return ResponseFuture::value(refuse(&fault, id.as_ref(), modern)),
        };
        let reply = self.0.rpc.reply(outcome, id.as_ref());
        let events_only = fields.accepts_only_events();
        let response = events::respond_as(&self.0, StatusCode::OK, reply, id.as_ref(), events_only);
        self.0.subscribers.add(&session.session.subscription);
        let Some((membership, session_id, _)) = shared else {
            let owner = owner_key(extensions);
            let created = session_id::create(&session.session.carried(), owner.as_deref());
            let created = created.ok_or(SessionError::Random).and_then(|session_id| {
                if let Some(saved) = &self.0.saved {
                    session.session.save_to(&session_id, saved);
                }
                self.0.sessions.insert(&session_id, session)?;
                Ok(session_id)
            });
            return ResponseFuture::value(Self::opened(created, response, id.as_ref()));
        };
        let (nodes, record) = (Arc::clone(&membership.nodes), record_of(&session));
        let (server, max) = (Arc::clone(&self.0), self.0.sessions.max());
        ResponseFuture::boxed(async move {
            let created = match nodes.create_session(session_id.clone(), record, max).await {
                Ok(true) => {
                    server.sessions.put(&session_id, &session);
                    Ok(session_id)
                }
                Ok(false) => Err(SessionError::TooMany),
                Err(error) => return unavailable_response(&error, id.as_ref()),
            };
            Self::opened(created, response, id.as_ref())
        })
    }

    /// Completes the response to `initialize`, after a session was created.
    fn opened(
        created: Result<String, SessionError>,
        mut response: Response<ReplyBody>,
        id: Option<&Id>,
    ) -> Response<ReplyBody> {
        match created {
            Ok(session) => {
                let session = HeaderValue::try_from(session).expect("ids are visible ASCII");
                response.headers_mut().insert(header::SESSION_ID, session);
                response
            }
            Err(error) => error.response(id),
        }
    }

    /// Opens the stream of messages that belong to no call, or continues the stream with the event that the client has
    /// received last.
    async fn open_stream(&self, extensions: Extensions) -> Response<ReplyBody> {
        let extensions = &extensions;
        let session = match self.require_session(extensions).await {
            Ok(session) => session,
            Err(refused) => return *refused,
        };
        let no_headers = HeaderMap::new();
        let headers = Headers::of(extensions).unwrap_or(&no_headers);
        if !Fields::of(headers).accepts_events() {
            let reason = "GET opens an event stream; send `Accept: text/event-stream`";
            let error = ErrorObject::invalid_params(reason);
            return respond(StatusCode::NOT_ACCEPTABLE, Reply::error(error, None));
        }
        let last = headers.get(header::LAST_EVENT_ID).and_then(|value| value.to_str().ok());
        let position = match last.map(str::parse::<Position>) {
            None => None,
            Some(Ok(position)) => Some(position),
            Some(Err(())) => return unknown_event(),
        };
        let stream = position.map_or(StreamId::GET, |position| position.stream);
        let reader = match (session.replay.read(stream, position), position) {
            (Some(reader), _) => reader,
            (None, None) => return unknown_event(),
            // The stream may be that of another node.
            (None, Some(position)) => match self.0.follow_stream(&session, position).await {
                Ok(Some(reader)) => reader,
                Ok(None) => return unknown_event(),
                Err(error) => return unavailable_response(&error, None),
            },
        };
        let history = self.0.rpc.history();
        let recording = history.map(|history| history.record_stream(extensions, "GET /mcp", None));
        let keep_alive = self.0.settings.keep_alive;
        let stream = if stream == StreamId::GET {
            SessionStream::of_session(session, reader, self.0.settings.closing.clone())
        } else {
            SessionStream::resumed(session, reader)
        };
        events::respond(Some(Event::retry(RETRY)), stream, keep_alive, recording)
    }

    /// Ends a session and its calls.
    async fn end_session(&self, extensions: &Extensions) -> Response<ReplyBody> {
        let session = match self.require_session(extensions).await {
            Ok(session) => session,
            Err(refused) => return *refused,
        };
        let no_headers = HeaderMap::new();
        let fields = Fields::of(Headers::of(extensions).unwrap_or(&no_headers));
        if let Some(id) = fields.session_id() {
            self.0.sessions.remove(id, extensions);
        }
        session.session.delete();
        if let Some(shared) = session.session.shared()
            && let Err(error) = shared.end().await
        {
            return unavailable_response(&error, None);
        }
        respond(StatusCode::OK, Reply::none())
    }

    /// Whether other nodes may have changed the session that a request names, or a single server has lost it and has a
    /// store.
    fn must_load(&self, extensions: &Extensions) -> bool {
        if self.0.membership.is_none() && self.0.saved.is_none() {
            return false;
        }
        let id = Headers::of(extensions).and_then(|headers| headers.get(header::SESSION_ID));
        let is_present = |id: &HeaderValue| id.to_str().is_ok_and(|id| self.0.sessions.has(id));
        id.is_some_and(|id| self.0.membership.is_some() || !is_present(id))
    }

    /// Reads the session that a request names, if it is in a store.
    async fn load_session(&self, extensions: &Extensions) -> Result<(), Box<Response<ReplyBody>>> {
        let no_headers = HeaderMap::new();
        let fields = Fields::of(Headers::of(extensions).unwrap_or(&no_headers));
        if !self.0.sessions.is_enabled() || fields.is_modern() {
            return Ok(());
        }
        let Some(id) = fields.session_id() else { return Ok(()) };
        let loaded = self.0.load_session(id, extensions).await;
        loaded.map_err(|error| Box::new(unavailable_response(&error, None)))
    }

    /// The session of a message that is not a call.
    fn session(
        &self,
        extensions: &Extensions,
    ) -> Result<Option<Arc<HttpSession>>, Box<Response<ReplyBody>>> {
        let no_headers = HeaderMap::new();
        let fields = Fields::of(Headers::of(extensions).unwrap_or(&no_headers));
        era::check_version(fields).map_err(|fault| Box::new(refuse(&fault, None, false)))?;
        let session = self.session_of(fields, extensions);
        session.map_err(|refused| Box::new(refused.response(None)))
    }

    /// The session that a request names, which is opened again if this server has lost it. Requests of the stateless era,
    /// and those without the header, have none.
    fn session_of(
        &self,
        fields: Fields<'_>,
        extensions: &Extensions,
    ) -> Result<Option<Arc<HttpSession>>, SessionError> {
        if !fields.has_session() || !self.0.sessions.is_enabled() || fields.is_modern() {
            return Ok(None);
        }
        let id = fields.session_id().ok_or(SessionError::Unknown)?;
        if let Some(found) = self.0.sessions.find(id, extensions) {
            return Ok(Some(found));
        }
        self.0.reopen_session(id, extensions)?.map(Some).ok_or(SessionError::Unknown)
    }

    async fn require_session(
        &self,
        extensions: &Extensions,
    ) -> Result<Arc<HttpSession>, Box<Response<ReplyBody>>> {
        self.load_session(extensions).await?;
        self.session(extensions)?.ok_or_else(|| {
            let reason = "streams and DELETE need the `Mcp-Session-Id` that `initialize` returns";
            let status = StatusCode::METHOD_NOT_ALLOWED;
            let data = json!({ "status": status.as_u16(), "reason": reason });
            let error = ErrorObject::new(code::REFUSED, "Method not allowed").with_data(&data);
            let mut response = respond(status, Reply::error(error, None));
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
            Box::new(response)
        })
    }
}

/// The method of a call whose reply may be a stream. Others send no messages.
fn streamed_method(call: &Call) -> &'static str {
    let methods = [method::TOOLS_CALL, method::RESOURCES_READ, method::PROMPTS_GET, method::LISTEN];
    methods.into_iter().find(|name| call.has_method(name)).unwrap_or(method::TOOLS_CALL)
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

/// Refuses a message. Without an id, the status is 400, since no response with status 200 exists.
fn refuse(fault: &Fault, id: Option<&Id>, modern: bool) -> Response<ReplyBody> {
    let status = if id.is_some() { fault.status(modern) } else { StatusCode::BAD_REQUEST };
    respond(status, Reply::error(fault.error(), id))
}

/// Accepts a message after it was sent to the other nodes.
pub(crate) fn accepted_after(
    sent: impl Future<Output = Result<(), NodesError>> + Send + 'static,
) -> ResponseFuture {
    ResponseFuture::boxed(async move {
        match sent.await {
            Ok(()) => accepted(),
            Err(error) => unavailable_response(&error, None),
        }
    })
}

fn accepted() -> Response<ReplyBody> {
    respond(StatusCode::ACCEPTED, Reply::none())
}
