//! HTTP+SSE, the transport of 2024-11-05: a stream that GET opens, and an endpoint that the stream
//! names, to which the client posts its messages. Replies come on the stream.

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

use crate::channel::{Channel, Message, Outbox};
use crate::events::{self, Source};
use crate::server::{Mcp, Server};

const STREAM: &str = "/sse";
const MESSAGES: &str = "/messages";
/// How long a refusal may wait for a client to read its stream.
const PATIENCE: Duration = Duration::from_secs(1);

impl Mcp {
    /// The HTTP+SSE transport: streams at `/sse`, messages to `/messages`. When `closing` is cancelled,
    /// no more messages are taken, and each stream ends with the reply to what still ran; a server that
    /// stops would wait for streams that nobody ends.
    ///
    /// Whoever opens a stream is told a number that nobody can guess, and only who knows it can send
    /// messages as that client. A client whose stream is gone is forgotten, and its calls run on.
    pub fn sse_routes(&self, closing: CancellationToken) -> Routes {
        let (server, clients) = (Arc::clone(&self.0), Arc::default());
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

/// The clients that have a stream, by what they were told.
#[derive(Default)]
struct Clients(Mutex<HashMap<String, Session>>);

/// A stream, and who has opened it: nobody else can write to it, who may have seen its id in a log.
struct Session {
    channel: Channel,
    opener: Option<Principal>,
}

impl Clients {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The channel of the session, if it is this sender's.
    fn channel(&self, session: &str, sender: &Extensions) -> Option<Channel> {
        let clients = self.lock();
        let found = clients.get(session)?;
        is_same(found.opener.as_ref(), Principal::of(sender)).then(|| found.channel.clone())
    }
}

/// Whether two messages come from the same: with a token that was renewed in between, as long as the
/// tokens say whose they are.
fn is_same(one: Option<&Principal>, other: Option<&Principal>) -> bool {
    let key = |principal: Option<&Principal>| principal.and_then(Principal::owner_key);
    one == other || (key(one).is_some() && key(one) == key(other))
}

impl Streams {
    fn open(self, extensions: &Extensions) -> Response<ReplyBody> {
        let Self { server, clients: known, closing } = self;
        let settings = &server.settings;
        let mut clients = known.lock();
        if closing.is_cancelled() || clients.len() >= settings.sse_clients {
            return busy();
        }
        let Some(session) = session() else {
            let error = ErrorObject::internal(&"the system gave no random numbers");
            return respond(StatusCode::INTERNAL_SERVER_ERROR, Reply::error(error, None));
        };
        let (channel, messages) = Channel::new(Arc::clone(&server));
        let opener = Principal::of(extensions).cloned();
        clients.insert(session.clone(), Session { channel, opener });
        drop(clients);
        let endpoint = Event::text("endpoint", &format!("{MESSAGES}?sessionId={session}"));
        let client = Client { messages, closing, clients: known, session };
        let history = server.rpc.history();
        let recording = history.map(|history| history.stream(extensions, "GET /sse", None));
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
            let reason = "no stream has this sessionId: open one with GET /sse, and post to the \
                          endpoint that its first event names";
            let error = ErrorObject::invalid_params(reason);
            return respond(StatusCode::NOT_FOUND, Reply::error(error, None));
        };
        if streams.closing.is_cancelled() {
            return busy();
        }
        // Only what refuses a message waits for room in the stream.
        match timeout(PATIENCE, channel.take(message.body, message.extensions)).await {
            Ok(()) => respond(StatusCode::ACCEPTED, Reply::None),
            Err(_) => busy(),
        }
    }
}

fn busy() -> Response<ReplyBody> {
    let error = ErrorObject::new(code::BUSY, "Server is busy");
    respond(StatusCode::SERVICE_UNAVAILABLE, Reply::error(error, None))
}

/// 128 random bits in hexadecimal.
fn session() -> Option<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// What one client is sent.
struct Client {
    messages: Outbox,
    closing: CancellationToken,
    clients: Arc<Clients>,
    session: String,
}

impl Source for Client {
    async fn next(&mut self) -> Option<Message> {
        tokio::select! {
            biased;
            message = self.messages.next() => return message,
            () = self.closing.cancelled() => {}
        }
        // The calls that run are now the last to have the channel, which ends with them.
        self.clients.lock().remove(&self.session);
        self.messages.next().await
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.clients.lock().remove(&self.session);
    }
}
