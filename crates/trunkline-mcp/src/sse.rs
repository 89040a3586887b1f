//! HTTP+SSE, the transport of 2024-11-05: GET opens a stream, whose first event names an endpoint. The client posts
//! messages to that endpoint and receives the replies on the stream.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::State;
use axum::routing::{get, post};
use http::{Response, StatusCode, Uri};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use trunkline::access::Principal;
use trunkline::http::{Context, Event, Message as HttpMessage, ReplyBody, Routes, respond};
use trunkline::protocol::Reply;
use trunkline::{ErrorObject, Extensions, code};

use crate::channel::{Channel, Outbox};
use crate::events::{self, Source, event};
use crate::server::{Mcp, Server};
use crate::session::{is_same, random_id};

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
        let (server, clients) = (Arc::clone(&self.0), Arc::default());
        let closing = self.0.settings.closing.clone();
        let open = async |State(streams): State<Streams>, context: Context| {
            streams.open(&context.extensions)
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
struct Clients(Mutex<HashMap<String, Session>>);

/// A stream and the principal that has opened it. Messages of other principals are refused, even with the id.
struct Session {
    channel: Channel,
    opener: Option<Principal>,
}

impl Clients {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The channel of the session, if this sender has opened it.
    fn channel(&self, session: &str, sender: &Extensions) -> Option<Channel> {
        let clients = self.lock();
        let found = clients.get(session)?;
        is_same(found.opener.as_ref(), Principal::of(sender)).then(|| found.channel.clone())
    }
}

impl Streams {
    fn open(self, extensions: &Extensions) -> Response<ReplyBody> {
        let Self { server, clients: known, closing } = self;
        let settings = &server.settings;
        let mut clients = known.lock();
        if closing.is_cancelled() || clients.len() >= settings.sse_clients {
            return busy();
        }
        let Some(session) = random_id() else {
            let error = ErrorObject::internal(&"the system random number generator failed");
            return respond(StatusCode::INTERNAL_SERVER_ERROR, Reply::error(error, None));
        };
        let (channel, messages) = Channel::new(Arc::clone(&server));
        let opener = Principal::of(extensions).cloned();
        clients.insert(session.clone(), Session { channel, opener });
        drop(clients);
        let endpoint = Event::text("endpoint", &format!("{MESSAGES}?sessionId={session}"));
        let client = Client { messages, closing, clients: known, session };
        let history = server.rpc.history();
        let recording = history.map(|history| history.record_stream(extensions, "GET /sse", None));
        events::respond(Some(endpoint), client, settings.keep_alive, recording)
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
            Ok(()) => respond(StatusCode::ACCEPTED, Reply::None),
            Err(_) => busy(),
        }
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
}

impl Source for Client {
    async fn next(&mut self) -> Option<Event> {
        tokio::select! {
            biased;
            message = self.messages.next() => return message.map(event),
            () = self.closing.cancelled() => {}
        }
        // From here on, only the running calls hold the channel, which closes after them.
        if let Some(Session { channel, .. }) = self.clients.lock().remove(&self.session) {
            channel.end_subscriptions();
        }
        self.messages.next().await.map(event)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(Session { channel, .. }) = self.clients.lock().remove(&self.session) {
            channel.end_subscriptions();
        }
    }
}
