//! Replies that are streams of server-sent events.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{iter, unfold};
use http::{Response, StatusCode};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use trunkline::history::StreamRecording;
use trunkline::http::{Event, EventStream, ReplyBody, respond as respond_whole};
use trunkline::protocol::{CallFuture, Reply};
use trunkline::{Id, Outcome, code};

use crate::message_queue::{Message, MessageQueue, Queued};
use crate::nodes::{EventContent, StreamEvent};
use crate::on_drop::OnDrop;
use crate::protocol::Legacy;
use crate::running::Running;
use crate::server::Server;
use crate::session::{Activity, EventReader, HttpSession, Next, SharedSession, StreamId};

/// The source of the events of a stream.
pub(crate) trait Source: Send + 'static {
    /// The next event, or none at the end.
    fn next(&mut self) -> impl Future<Output = Option<Event>> + Send;
}

/// A reply that sends `first`, then the events of a source, and a comment whenever the stream was idle for
/// `keep_alive`. The recording counts the sent bytes.
pub(crate) fn respond(
    first: Option<Event>,
    source: impl Source,
    keep_alive: Duration,
    recording: Option<StreamRecording>,
) -> Response<ReplyBody> {
    let events = unfold(source, |mut source| async move { Some((source.next().await?, source)) });
    let events = EventStream::new(iter(first).chain(events));
    events.keep_alive(keep_alive).recording(recording).into_response()
}

/// A response with this reply, as a stream of one event if the client does not accept JSON. Errors with another status
/// than 200 are in JSON, since no stream has their status.
pub(crate) fn respond_as(
    server: &Server,
    status: StatusCode,
    reply: Reply,
    id: Option<&Id>,
    events_only: bool,
) -> Response<ReplyBody> {
    if !events_only || status != StatusCode::OK {
        return respond_whole(status, reply);
    }
    match Message::of_reply(&server.rpc.limits().memory, reply, id) {
        Some(message) => respond(Some(event(message)), Nothing, server.settings.keep_alive, None),
        None => respond_whole(status, Reply::none()),
    }
}

/// A source without events.
struct Nothing;

impl Source for Nothing {
    async fn next(&mut self) -> Option<Event> {
        None
    }
}

/// The event of a message.
pub(crate) fn event(message: Message) -> Event {
    let Message { json, memory } = message;
    let event = Event::json_text("message", &json);
    match memory {
        Some(memory) => event.with_reservation(memory),
        None => event,
    }
}

/// The messages of a call, followed by its reply.
pub(crate) struct MessageStream {
    server: Arc<Server>,
    messages: Arc<MessageQueue>,
    running: Option<Running<CallFuture>>,
    id: Option<Id>,
}

/// An entry of a [`MessageStream`].
enum Entry {
    Queued(Queued),
    Reply(Message),
}

impl Entry {
    /// The content, for other nodes.
    fn content(&self) -> EventContent {
        let json = match self {
            Self::Queued(Queued::Close(_)) => return EventContent::Close,
            Self::Queued(Queued::Message(message)) | Self::Reply(message) => &message.json,
        };
        EventContent::Message(String::from_utf8_lossy(json).into_owned())
    }
}

impl MessageStream {
    pub(crate) fn new(
        server: Arc<Server>,
        messages: Arc<MessageQueue>,
        running: Running<CallFuture>,
        id: Option<Id>,
    ) -> Self {
        Self { server, messages, running: Some(running), id }
    }

    async fn next_entry(&mut self) -> Option<Entry> {
        if let Some(queued) = self.messages.take() {
            return Some(Entry::Queued(queued));
        }
        let running = self.running.as_mut()?;
        let outcome = tokio::select! {
            biased;
            () = self.messages.filled() => return self.messages.take().map(Entry::Queued),
            Ok(outcome) = running => outcome,
        };
        self.running = None;
        // The last messages precede the reply.
        if let Some(queued) = self.messages.take() {
            self.running = Some(Running::Done(Some(Ok(outcome))));
            return Some(Entry::Queued(queued));
        }
        self.reply(outcome).map(Entry::Reply)
    }

    /// A cancelled call has no reply (2025-11-25, "Cancellation").
    fn reply(&self, outcome: Outcome) -> Option<Message> {
        if outcome.code() == Some(code::CANCELLED) {
            return None;
        }
        let reply = self.server.rpc.reply(outcome, self.id.as_ref());
        Message::of_reply(&self.server.rpc.limits().memory, reply, self.id.as_ref())
    }
}

impl Source for MessageStream {
    async fn next(&mut self) -> Option<Event> {
        loop {
            match self.next_entry().await? {
                Entry::Queued(Queued::Message(message)) | Entry::Reply(message) => {
                    return Some(event(message));
                }
                // Without a session, the client could not continue the stream.
                Entry::Queued(Queued::Close(_)) => {}
            }
        }
    }
}

/// A stream of a session. Its client may continue it over another connection.
pub(crate) struct SessionStream {
    session: Arc<HttpSession>,
    reader: EventReader,
    /// Whether to begin with an event that has only an id (2025-11-25, "Sending Messages to the Server", 6).
    primes: bool,
    is_closed: bool,
    /// For the stream of a GET request: ends the stream when the server stops.
    closing: Option<CancellationToken>,
    _activity: Activity,
}

impl SessionStream {
    /// Begins the stream of a call. A task receives its messages, also while no client is connected.
    pub(crate) fn of_call(mut messages: MessageStream, session: Arc<HttpSession>) -> Self {
        let (id, reader) = session.replay.open();
        let (replay, activity) = (Arc::clone(&session.replay), session.activity());
        let detached = messages.server.detached.clone();
        let copies = session.session.shared().map(|shared| {
            let (copies, pending) = mpsc::channel(MAX_COPIES);
            let max_bytes = messages.server.settings.replay_bytes;
            detached.spawn(store_copies(Arc::clone(shared), id, pending, max_bytes));
            copies
        });
        detached.spawn(async move {
            let _activity = activity;
            // Also if the call panics.
            let _end = OnDrop::new(|| replay.end(id));
            let mut next = 0;
            while let Some(entry) = messages.next_entry().await {
                let content = copies.as_ref().map(|_| entry.content());
                let queued = match entry {
                    Entry::Queued(queued) => queued,
                    Entry::Reply(message) => Queued::Message(message),
                };
                let number = replay.send(id, queued).await;
                if let (Some(number), Some(content), Some(copies)) = (number, content, &copies) {
                    next = number + 1;
                    // This fails only if the server has stopped.
                    drop(copies.send(StreamEvent { number, content }).await);
                }
            }
            if let Some(copies) = copies {
                drop(copies.send(StreamEvent { number: next, content: EventContent::End }).await);
            }
        });
        let primes = session.session.version().is_some_and(Legacy::has_priming_events);
        Self { primes, ..Self::resumed(session, reader) }
    }

    /// Begins the stream of the messages that belong to no call.
    pub(crate) fn of_session(
        session: Arc<HttpSession>,
        reader: EventReader,
        closing: CancellationToken,
    ) -> Self {
        let primes = session.session.version().is_some_and(Legacy::has_priming_events);
        Self { primes, closing: Some(closing), ..Self::resumed(session, reader) }
    }

    /// Continues the stream of a call.
    pub(crate) fn resumed(session: Arc<HttpSession>, reader: EventReader) -> Self {
        let _activity = session.activity();
        Self { session, reader, primes: false, is_closed: false, closing: None, _activity }
    }

    /// Waits for a change. `false` if the stream ends.
    async fn changed(&self) -> bool {
        let Some(closing) = &self.closing else {
            self.reader.changed().await;
            return true;
        };
        tokio::select! {
            biased;
            () = closing.cancelled() => false,
            () = self.session.session.ended.cancelled() => false,
            () = self.reader.changed() => true,
            message = self.session.session.subscription.next() => {
                self.session.replay.push(StreamId::GET, Queued::Message(message.into()));
                true
            }
        }
    }
}

/// The maximum number of events of a stream that wait until they are stored for other nodes.
const MAX_COPIES: usize = 256;

/// Stores the events of a stream, so that its client can continue it on another node.
async fn store_copies(
    shared: Arc<SharedSession>,
    id: StreamId,
    mut pending: mpsc::Receiver<StreamEvent>,
    max_bytes: usize,
) {
    let mut events = Vec::new();
    while pending.recv_many(&mut events, MAX_COPIES).await > 0 {
        let (session, events) = (shared.id.clone(), std::mem::take(&mut events));
        let stored = shared.membership.nodes.add_events(session, id.number(), events, max_bytes);
        if let Err(error) = stored.await {
            error.log("the events of a stream cannot be stored for other nodes");
        }
    }
}

impl Source for SessionStream {
    async fn next(&mut self) -> Option<Event> {
        if std::mem::take(&mut self.primes) {
            let position = self.reader.position();
            return Some(Event::text("message", "").with_id(&position.to_string()));
        }
        while !self.is_closed {
            match self.reader.take() {
                Next::Event(position, queued) => {
                    let event = match &*queued {
                        Queued::Message(message) => Event::json_text("message", &message.json),
                        Queued::Close(retry) => {
                            self.is_closed = true;
                            Event::retry(*retry)
                        }
                    };
                    return Some(event.with_id(&position.to_string()));
                }
                Next::Later if self.changed().await => {}
                Next::Later | Next::End => return None,
            }
        }
        None
    }
}
