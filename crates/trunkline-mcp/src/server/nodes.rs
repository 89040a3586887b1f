//! This server as one of several nodes: the sessions that they share, and their messages.

use std::error::Error;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use trunkline::Extensions;
use trunkline::stream::Key;

use super::{Mcp, Server};
use crate::changes::ChangeSet;
use crate::message_queue::Queued;
use crate::node_message::{Membership, NodeMessage};
use crate::nodes::{EventContent, MESSAGE_PAGE, NodesError, SessionRecord, StreamEvent};
use crate::session::{EventReader, HttpSession, Position, RETRY, Replay, owner_key, random_start};
use crate::subscription::Subscription;

/// The interval in which messages of other nodes are read.
const INTERVAL: Duration = Duration::from_millis(100);

/// The same, on a node without sessions and subscriptions.
const IDLE_INTERVAL: Duration = Duration::from_secs(1);

/// The interval in which sessions with open streams or running calls are recorded as used.
const KEEP_INTERVAL: Duration = Duration::from_secs(60);

/// The time after which messages may have been removed before this node could read them.
const MAX_OUTAGE: Duration = Duration::from_secs(300);

/// The maximum number of messages in which a node looks for the changes that a session has missed. With more, all
/// subscribed resources count as changed.
const MAX_MISSED: u64 = 10 * MESSAGE_PAGE as u64;

/// The maximum time without an event of a stream of another node.
const MAX_SILENCE: Duration = Duration::from_secs(30 * 60);

/// The maximum time until the first events of a stream are stored.
const MAX_DELAY: Duration = Duration::from_secs(2);

/// The maximum time to send the last changes when the server stops.
const LAST_CHANGES: Duration = Duration::from_secs(2);

impl Mcp {
    /// Begins to exchange messages with the other nodes of [`McpConfig::nodes`](crate::McpConfig::nodes), until
    /// [`leave_nodes`](Self::leave_nodes). Call it before the server is reached. Without effect if the server is not
    /// one of several nodes.
    ///
    /// # Errors
    /// If the state that nodes share cannot be read.
    pub async fn join_nodes(&self) -> Result<(), NodesError> {
        let Some(membership) = &self.0.membership else { return Ok(()) };
        let (position, _) = membership.nodes.position(0).await?;
        let announcing = Arc::clone(membership);
        self.0.subscribers.announce_to(move |changes| announcing.announce(changes));
        membership.tasks.spawn_to_end(Arc::clone(membership).send_changes());
        let server = Arc::downgrade(&self.0);
        membership.tasks.spawn_to_end(follow(server, Arc::clone(membership), position));
        Ok(())
    }

    /// Sends the last changes, and ends the exchange of messages with other nodes. Call it after the server over HTTP
    /// has stopped.
    pub async fn leave_nodes(&self) {
        let Some(membership) = &self.0.membership else { return };
        if membership.tasks.close(LAST_CHANGES).await > 0 {
            tracing::warn!("the last changes were not sent to other nodes in time");
        }
    }
}

/// Reads the messages of other nodes.
async fn follow(server: Weak<Server>, membership: Arc<Membership>, mut position: u64) {
    let (mut last_success, mut last_kept) = (Instant::now(), Instant::now());
    let mut has_failed = false;
    loop {
        let Some(server) = server.upgrade() else { return };
        let is_idle = server.sessions.is_empty() && server.subscribers.is_empty();
        match server.receive_all(&membership, &mut position).await {
            Ok(()) => {
                if last_success.elapsed() > MAX_OUTAGE {
                    server.subscribers.notify_own(&ChangeSet::all());
                }
                last_success = Instant::now();
                if std::mem::take(&mut has_failed) {
                    tracing::info!("the messages of other nodes can be read again");
                }
            }
            Err(error) if !has_failed => {
                error.log("cannot read the messages of other nodes");
                has_failed = matches!(error, NodesError::Failed(_));
            }
            Err(_) => {}
        }
        if last_kept.elapsed() >= KEEP_INTERVAL {
            last_kept = Instant::now();
            server.keep_sessions(&membership).await;
        }
        drop(server);
        let interval = if is_idle { IDLE_INTERVAL } else { INTERVAL };
        tokio::select! {
            () = membership.tasks.closing().cancelled() => return,
            () = membership.wake.notified() => {}
            () = sleep(interval) => {}
        }
    }
}

impl Server {
    /// Reads and applies the messages after a position.
    async fn receive_all(
        self: &Arc<Self>,
        membership: &Membership,
        position: &mut u64,
    ) -> Result<(), NodesError> {
        loop {
            let messages = membership.nodes.messages(*position).await?;
            let is_last = messages.len() < MESSAGE_PAGE;
            for (number, text) in messages {
                *position = number;
                if let Some(message) = membership.read(&text) {
                    self.receive(message).await;
                }
            }
            if is_last {
                return Ok(());
            }
        }
    }

    async fn receive(self: &Arc<Self>, message: NodeMessage) {
        match message {
            NodeMessage::Changes(changes) => self.subscribers.notify_own(&changes),
            NodeMessage::Session { session } => {
                if let Some(session) = self.sessions.peek(&session)
                    && let Err(error) = self.update_session(&session).await
                {
                    // The next message of the client reads it again.
                    tracing::debug!(error = &error as &dyn Error, "a session cannot be read");
                }
            }
            NodeMessage::Ended { session } => self.sessions.end(&session),
            NodeMessage::Cancel { session, request } => {
                if let Some(session) = self.sessions.peek(&session) {
                    session.session.calls.cancel(&Key::of(&request));
                }
            }
            NodeMessage::Response { session, request, body } => {
                if let Some(session) = self.sessions.peek(&session) {
                    session.session.requests.answer(Some(&request), &Bytes::from(body));
                }
            }
            NodeMessage::Posted { session, body, claims } => {
                if let Some(clients) = self.sse_clients.get() {
                    clients.deliver(&session, Bytes::from(body), claims).await;
                }
            }
        }
    }

    /// Records the sessions with streams or calls as used, and ends those that no longer exist.
    async fn keep_sessions(&self, membership: &Membership) {
        let mut ids = self.sessions.active_ids();
        ids.extend(self.sse_clients.get().map(|clients| clients.ids()).unwrap_or_default());
        if ids.is_empty() {
            return;
        }
        match membership.nodes.keep_sessions(ids.clone()).await {
            Ok(kept) => {
                for id in ids.iter().filter(|id| !kept.contains(id)) {
                    self.sessions.end(id);
                }
            }
            Err(error) => error.log("sessions in use cannot be recorded"),
        }
    }

    /// Reads the session that other nodes may have created or changed, or that a single server has lost. Without effect
    /// if the server has neither other nodes nor a store.
    pub(crate) async fn load_session(
        self: &Arc<Self>,
        id: &str,
        sender: &Extensions,
    ) -> Result<(), NodesError> {
        let Some(membership) = &self.membership else {
            self.load_saved_session(id, sender).await;
            return Ok(());
        };
        if let Some(session) = self.sessions.peek(id) {
            return self.update_session(&session).await;
        }
        let found = membership.nodes.find_session(id.to_owned()).await?;
        let owner = owner_key(sender);
        let Some(record) = found.filter(|record| record.version.is_some() && record.owner == owner)
        else {
            return Ok(());
        };
        let start = random_start();
        let start =
            start.ok_or_else(|| NodesError::failed("the system random number generator failed"))?;
        let session = self.shared_session(sender, id.to_owned(), start, membership);
        session.session.restore(&record);
        let subscription = &session.session.subscription;
        let uris = subscription.set_resources(&record.resources);
        self.subscribers.add(subscription);
        self.add_missed(membership, subscription, record.since).await?;
        if !self.sessions.put(id, &session) {
            membership.wake.notify_one();
            return Ok(());
        }
        self.begin_subscriptions(&session, uris);
        membership.wake.notify_one();
        // Another node may have announced a change while this one did not have the session.
        self.update_session(&session).await
    }

    /// A session of this sender, whose numbers begin at `start`: 0, or a [random start](random_start).
    pub(crate) fn new_session(&self, sender: &Extensions, start: u64) -> Arc<HttpSession> {
        let replay = self.new_replay(start);
        Arc::new(HttpSession::new(sender, replay, &self.settings.closing, start))
    }

    /// A session of this sender that nodes share.
    pub(crate) fn shared_session(
        &self,
        sender: &Extensions,
        id: String,
        start: u64,
        membership: &Arc<Membership>,
    ) -> Arc<HttpSession> {
        // While the server stops, the client can still respond to its requests, through another node.
        let closing = CancellationToken::new();
        let session = HttpSession::new(sender, self.new_replay(start), &closing, start);
        session.session.share(id, Arc::clone(membership));
        Arc::new(session)
    }

    fn new_replay(&self, start: u64) -> Replay {
        Replay::new(self.settings.replay_bytes, self.rpc.limits().memory.clone(), start)
    }

    /// Reads the current state of a session of this node.
    async fn update_session(
        self: &Arc<Self>,
        session: &Arc<HttpSession>,
    ) -> Result<(), NodesError> {
        let Some(shared) = session.session.shared() else { return Ok(()) };
        let new = {
            let _guard = shared.lock.lock().await;
            match shared.membership.nodes.find_session(shared.id.clone()).await? {
                None => {
                    self.sessions.end(&shared.id);
                    return Ok(());
                }
                Some(record) => {
                    session.session.set_level(record.level);
                    session.session.subscription.set_resources(&record.resources)
                }
            }
        };
        self.begin_subscriptions(session, new);
        Ok(())
    }

    /// Calls the functions of resources for subscriptions that began on another node, or before a restart.
    pub(super) fn begin_subscriptions(
        self: &Arc<Self>,
        session: &Arc<HttpSession>,
        uris: Vec<String>,
    ) {
        if uris.is_empty() {
            return;
        }
        self.subscribers.add(&session.session.subscription);
        let server = Arc::clone(self);
        self.detached.spawn(async move {
            for uri in uris {
                if let Err(error) = server.begin_subscription(&uri).await {
                    tracing::warn!(uri, %error, "a stored subscription is refused");
                }
            }
        });
    }

    /// Adds the changes since a session was created to those of which its client is notified. The client may have been
    /// notified of them by another node.
    async fn add_missed(
        &self,
        membership: &Membership,
        subscription: &Subscription,
        since: u64,
    ) -> Result<(), NodesError> {
        let (last, is_complete) = membership.nodes.position(since).await?;
        if !is_complete || last.saturating_sub(since) > MAX_MISSED {
            subscription.add_changes(&ChangeSet::all());
            return Ok(());
        }
        let mut position = since;
        while position < last {
            let messages = membership.nodes.messages(position).await?;
            let Some((next, _)) = messages.last() else { return Ok(()) };
            position = *next;
            for changes in messages.iter().filter_map(|(_, text)| Membership::changes_of(text)) {
                subscription.add_changes(&changes);
            }
        }
        Ok(())
    }

    /// Continues a stream of another node. `None` if it is unknown.
    pub(crate) async fn follow_stream(
        self: &Arc<Self>,
        session: &Arc<HttpSession>,
        position: Position,
    ) -> Result<Option<EventReader>, NodesError> {
        let Some(shared) = session.session.shared() else { return Ok(None) };
        let (nodes, id) = (&shared.membership.nodes, &shared.id);
        let (stream, next) = (position.stream, position.next);
        let deadline = Instant::now() + MAX_DELAY;
        let events = loop {
            if let Some(events) = nodes.events(id.clone(), stream.number(), next).await? {
                break events;
            }
            // The node of the stream may not have stored its first events yet.
            if !stream.is_of_node() || Instant::now() > deadline {
                return Ok(None);
            }
            sleep(INTERVAL).await;
        };
        let Some(reader) = session.replay.open_copy(position) else {
            return Ok(session.replay.read(stream, Some(position)));
        };
        let (server, session) = (Arc::clone(self), Arc::clone(session));
        let copy = async move {
            let Some(shared) = session.session.shared() else { return };
            let closing = &server.settings.closing;
            let (mut events, mut next, mut last) = (events, next, Instant::now());
            loop {
                for StreamEvent { number, content } in events {
                    (next, last) = (number + 1, Instant::now());
                    match content {
                        EventContent::Message(json) => {
                            let queued = Queued::Message(json.into_bytes().into());
                            session.replay.send(stream, queued).await;
                        }
                        EventContent::Close => {
                            session.replay.push(stream, Queued::Close(RETRY));
                        }
                        EventContent::End => {
                            session.replay.end(stream);
                            return;
                        }
                    }
                }
                let is_over = !session.replay.is_read(stream) || closing.is_cancelled();
                if is_over || last.elapsed() > MAX_SILENCE {
                    break;
                }
                sleep(INTERVAL).await;
                let more =
                    shared.membership.nodes.events(shared.id.clone(), stream.number(), next).await;
                events = more.ok().flatten().unwrap_or_default();
            }
            // The next reader begins again.
            session.replay.close_copy(stream);
        };
        self.detached.spawn(copy);
        Ok(Some(reader))
    }
}

/// The record of a session of this server.
pub(crate) fn record_of(session: &HttpSession) -> SessionRecord {
    let HttpSession { session: state, .. } = session;
    let client = state.client_info();
    SessionRecord {
        owner: session.owner_key(),
        caller: session.caller().to_owned(),
        version: state.version().map(|version| version.as_str().to_owned()),
        capabilities: serde_json::to_string(state.capabilities().as_map()).unwrap_or_default(),
        client: client.map(|client| [client.name().to_owned(), client.version().to_owned()]),
        level: state.level(),
        resources: state.subscription.resources(),
        ..SessionRecord::default()
    }
}
