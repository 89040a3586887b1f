//! HTTP+SSE, the transport of 2024-11-05: GET opens a stream, whose first event names an endpoint. The client posts
//! messages to that endpoint and receives the replies on the stream.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::routing::{get, post};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Response, StatusCode, Uri};
use serde_json::{Map, Value};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use trunkline::access::Principal;
use trunkline::http::{Context, Event, Message as HttpMessage, ReplyBody, Routes, respond};
use trunkline::protocol::Reply;
use trunkline::{ErrorObject, Extensions, code};

use crate::channel::{Channel, Outbox};
use crate::events::{self, Source, event};
use crate::lock::Lock;
use crate::node_message::NodeMessage;
use crate::nodes::SessionRecord;
use crate::server::{Mcp, Server};
use crate::session::{SseClients, caller_key, is_same, owner_key, random_id};
use crate::session_refusal::unavailable_response;

const STREAM: &str = "/sse";
const MESSAGES: &str = "/messages";
/// The time for which a refusal waits until the client reads its stream.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);

impl Mcp {
    /// The HTTP+SSE transport: streams at `/sse`, messages to `/messages`. When [`McpConfig::closing`](crate::McpConfig) is
    /// cancelled, further messages are refused, and each stream ends after the replies to running calls.
    ///
    /// The first event of a stream contains a random session id, and messages of the client must have it. When a
    /// stream is closed, its session ends, and its calls run to their end.
    pub fn sse_routes(&self) -> Routes {
        let (server, clients) = (Arc::clone(&self.0), Arc::<Clients>::default());
        // A server has these routes once.
        drop(self.0.sse_clients.set(Box::new(Arc::clone(&clients))));
        let closing = self.0.settings.closing.clone();
        let open = async |State(streams): State<Streams>, context: Context| {
            streams.open(context.extensions).await
        };
        let router = axum::Router::new()
            .route(STREAM, get(open))
            .route(MESSAGES, post(Streams::take))
            .with_state(Streams { server, clients, closing });
        Routes::new("mcp-sse", router)
    }
}

#[derive(Clone)]
struct Streams {
    server: Arc<Server>,
    clients: Arc<Clients>,
    closing: CancellationToken,
}

/// The sessions with an open stream, by session id.
#[derive(Default)]
struct Clients(Lock<HashMap<String, Session>>);

/// A stream and the request that has opened it. Messages of other principals are refused, even with the id.
struct Session {
    channel: Channel,
    opener: Extensions,
}

impl Clients {
    /// The channel of the session, if this sender has opened it.
    fn channel(&self, session: &str, sender: &Extensions) -> Option<Channel> {
        let clients = self.0.lock();
        let found = clients.get(session)?;
        is_same(Principal::of(&found.opener), Principal::of(sender)).then(|| found.channel.clone())
    }
}

impl SseClients for Arc<Clients> {
    fn ids(&self) -> Vec<String> {
        self.0.lock().keys().cloned().collect()
    }

    fn deliver(
        &self,
        session: &str,
        body: Bytes,
        claims: Option<Map<String, Value>>,
    ) -> BoxFuture<'static, ()> {
        let clients = self.0.lock();
        let found = clients.get(session);
        let found = found.map(|found| (found.channel.clone(), found.opener.clone()));
        Box::pin(async move {
            let Some((channel, mut sender)) = found else { return };
            // The node that has received the message has checked that its sender is the opener. Another token of the same
            // principal may have other rights.
            if let (Some(claims), Some(opener)) = (claims, Principal::of(&sender)) {
                let principal = opener.clone().with_claims(claims);
                sender.insert(principal);
            }
            if timeout(REFUSAL_TIMEOUT, channel.take(body, sender)).await.is_err() {
                tracing::debug!("a client of HTTP+SSE does not read its stream");
            }
        })
    }
}

impl Streams {
    async fn open(self, extensions: Extensions) -> Response<ReplyBody> {
        let Self { server, clients: known, closing } = self;
        let settings = &server.settings;
        // Checked again before the client is added.
        if closing.is_cancelled() || known.0.lock().len() >= settings.sse_clients {
            return busy();
        }
        let Some(session) = random_id() else {
            let error = ErrorObject::internal(&"the system random number generator failed");
            return respond(StatusCode::INTERNAL_SERVER_ERROR, Reply::error(error, None));
        };
        if let Some(membership) = &server.membership {
            let (owner, caller) = (owner_key(&extensions), caller_key(&extensions));
            let record = SessionRecord { owner, caller, ..SessionRecord::default() };
            let max = settings.sessions.max(settings.sse_clients);
            match membership.nodes.create_session(session.clone(), record, max).await {
                Ok(true) => {}
                Ok(false) => return busy(),
                Err(error) => return unavailable_response(&error, None),
            }
            membership.wake.notify_one();
        }
        let (channel, messages) = Channel::new(Arc::clone(&server));
        let mut clients = known.0.lock();
        if clients.len() >= settings.sse_clients {
            return busy();
        }
        clients.insert(session.clone(), Session { channel, opener: extensions.clone() });
        drop(clients);
        let endpoint = Event::text("endpoint", &format!("{MESSAGES}?sessionId={session}"));
        let history = server.rpc.history();
        let recording = history.map(|history| history.record_stream(&extensions, "GET /sse", None));
        let keep_alive = settings.keep_alive;
        let client = Client { messages, closing, clients: known, session, server };
        events::respond(Some(endpoint), client, keep_alive, recording)
    }

    async fn take(
        State(streams): State<Self>,
        uri: Uri,
        message: HttpMessage,
    ) -> Response<ReplyBody> {
        let query = uri.query().unwrap_or_default();
        let session = query.split('&').find_map(|pair| pair.strip_prefix("sessionId="));
        let channel =
            session.and_then(|session| streams.clients.channel(session, &message.extensions));
        let Some(channel) = channel else {
            if let Some(posted) = streams.post_to_other(session, &message).await {
                return posted;
            }
            let reason = "unknown `sessionId`; open a stream with GET /sse and post to the endpoint in its \
                          first event";
            let error = ErrorObject::invalid_params(reason);
            return respond(StatusCode::NOT_FOUND, Reply::error(error, None));
        };
        if streams.closing.is_cancelled() {
            return busy();
        }
        // Only refusals wait for space in the queue.
        match timeout(REFUSAL_TIMEOUT, channel.take(message.body, message.extensions)).await {
            Ok(()) => respond(StatusCode::ACCEPTED, Reply::none()),
            Err(_) => busy(),
        }
    }
}

impl Streams {
    /// Passes a message to the node with the stream of its client. `None` if the stream is unknown.
    async fn post_to_other(
        &self,
        session: Option<&str>,
        message: &HttpMessage,
    ) -> Option<Response<ReplyBody>> {
        let (membership, session) = (self.server.membership.as_ref()?, session?.to_owned());
        let found = match membership.nodes.find_session(session.clone()).await {
            Ok(found) => found?,
            Err(error) => return Some(unavailable_response(&error, None)),
        };
        if found.version.is_some() || found.owner != owner_key(&message.extensions) {
            return None;
        }
        let Ok(body) = String::from_utf8(message.body.to_vec()) else {
            let error = ErrorObject::new(code::PARSE_ERROR, "Parse error");
            return Some(respond(StatusCode::BAD_REQUEST, Reply::error(error, None)));
        };
        let sender = Principal::of(&message.extensions);
        let claims = sender.map(|principal| principal.claims().clone());
        Some(match membership.send(&NodeMessage::Posted { session, body, claims }).await {
            Ok(()) => respond(StatusCode::ACCEPTED, Reply::none()),
            Err(error) => unavailable_response(&error, None),
        })
    }
}

fn busy() -> Response<ReplyBody> {
    let error = ErrorObject::new(code::BUSY, "Server is busy");
    respond(StatusCode::SERVICE_UNAVAILABLE, Reply::error(error, None))
}

/// The messages to one client.
struct Client {
    messages: Outbox,
    closing: CancellationToken,
    clients: Arc<Clients>,
    session: String,
    server: Arc<Server>,
}

impl Source for Client {
    async fn next(&mut self) -> Option<Event> {
        tokio::select! {
            biased;
            message = self.messages.next() => return message.map(event),
            () = self.closing.cancelled() => {}
        }
        // From here on, only the running calls hold the channel, which closes after them.
        if let Some(Session { channel, .. }) = self.clients.0.lock().remove(&self.session) {
            channel.end_subscriptions();
        }
        self.messages.next().await.map(event)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(Session { channel, .. }) = self.clients.0.lock().remove(&self.session) {
            channel.end_subscriptions();
        }
        if let Some(membership) = &self.server.membership {
            let (nodes, session) = (Arc::clone(&membership.nodes), self.session.clone());
            // Without it, the session expires.
            self.server.detached.spawn(async move { drop(nodes.end_session(session).await) });
        }
    }
}
