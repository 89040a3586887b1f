//! A client with a dedicated channel (stdio, HTTP+SSE). Its messages are read sequentially, its calls run
//! concurrently, and all messages to it are sent through one queue.

use std::sync::Arc;
use std::task::{Context, Waker};

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::task::TaskTracker;
use trunkline::limits::MemoryBudget;
use trunkline::protocol::{Batch, Format, Incoming, Reply};
use trunkline::stream::{Protocol, Refused, Registration};
use trunkline::{Call, ErrorObject, Extensions, Id, Outcome, code};

use crate::batch;
use crate::era::{NO_BATCHES, Transport};
use crate::fault::{BAD_ID, DUPLICATE_ID, Fault};
use crate::incoming;
use crate::message_queue::{Message, MessageQueue};
use crate::protocol::{Legacy, method, without_mark};
use crate::request::is_mcp_id;
use crate::server::{Server, StartedCall, record_refusal};
use crate::session::Session;
use crate::subscription::Subscription;

/// The server's end of a channel. Clones are the same channel.
#[derive(Clone)]
pub(crate) struct Channel(Arc<Shared>);

struct Shared {
    server: Arc<Server>,
    out: mpsc::Sender<Message>,
    /// The calls of this client. The server waits for them, too, when it stops.
    tasks: TaskTracker,
    permits: Arc<Semaphore>,
    /// The state of the client, in the revisions that have one.
    session: Arc<Session>,
}

/// The maximum number of messages that wait to be written. When the queue is full, calls wait to send their replies.
const QUEUE_CAPACITY: usize = 16;

impl Channel {
    /// A channel, and the messages to write to its client.
    pub(crate) fn new(server: Arc<Server>) -> (Self, Outbox) {
        let (out, messages) = mpsc::channel(QUEUE_CAPACITY);
        let session = Arc::new(Session::new(&server.settings.closing, 0));
        let outbox = Outbox { messages, subscription: Arc::clone(&session.subscription) };
        let permits = server.settings.in_flight.min(Semaphore::MAX_PERMITS);
        let permits = Arc::new(Semaphore::new(permits));
        let tasks = TaskTracker::new();
        (Self(Arc::new(Shared { server, out, tasks, permits, session })), outbox)
    }

    /// Accepts a message. Waits only if it is refused and the queue has no space for the refusal.
    pub(crate) async fn take(&self, body: Bytes, extensions: Extensions) {
        let body = without_mark(body);
        // A line that contains only the mark is a blank line.
        if !body.is_empty() {
            self.handle(incoming::read(&self.0.server.rpc, body, extensions)).await;
        }
    }

    async fn handle(&self, incoming: Incoming) {
        match incoming {
            Incoming::Call(call) => match call.id() {
                Some(id) => self.take_request(call, id).await,
                None => self.take_notification(call),
            },
            Incoming::Batch(batch) => self.take_batch(batch).await,
            // An error could be mistaken for the response to a request of the client.
            Incoming::Response { id, body, .. } => {
                self.0.session.requests.answer(id.as_ref().map(Id::as_raw), &body);
            }
            Incoming::Refused { error, id, .. } => {
                self.send(Reply::error(error, id.as_ref())).await;
            }
        }
    }

    async fn take_request(&self, call: Call, id: Id) {
        if !is_mcp_id(&id) {
            let error = Fault::Request(BAD_ID).error();
            record_refusal(call, &error);
            return self.send(Reply::error(error, None)).await;
        }
        let running = match self.begin(&id) {
            Ok(running) => running,
            Err(error) => {
                record_refusal(call, &error);
                return self.send(Reply::error(error, Some(&id))).await;
            }
        };
        let session = Some(&self.0.session);
        match self.0.server.answer(call, Transport::Channel, session).outcome {
            Ok(started) => self.run(started, id, running),
            Err(fault) => {
                drop(running);
                self.send(Reply::error(fault.error(), Some(&id))).await;
            }
        }
    }

    /// Notifications start no calls. Malformed and unknown ones, and those about ended calls, are ignored.
    fn take_notification(&self, mut call: Call) {
        if let Some(observation) = call.take_observation() {
            observation.end(&Outcome::result(&()));
        }
        match &*call.method() {
            method::CANCELLED => drop(self.0.session.cancel(&call)),
            // Before this notification, a client receives responses only.
            method::INITIALIZED if self.0.session.version().is_some() => {
                self.0.server.subscribers.add(&self.0.session.subscription);
            }
            _ => {}
        }
    }

    /// Begins a request. Only one request with an id may run at a time.
    fn begin(&self, id: &Id) -> Result<(Registration, OwnedSemaphorePermit), ErrorObject> {
        let registration = self.0.session.calls.begin_unique(id.into());
        let fault = Fault::Request(DUPLICATE_ID);
        Ok((registration.ok_or_else(|| fault.error())?, self.permit()?))
    }

    /// A permit to run a call.
    fn permit(&self) -> Result<OwnedSemaphorePermit, ErrorObject> {
        let permit = Arc::clone(&self.0.permits).try_acquire_owned();
        permit.map_err(|_| ErrorObject::new(code::BUSY, "Server is busy"))
    }

    fn run(&self, started: StartedCall, id: Id, running: (Registration, OwnedSemaphorePermit)) {
        let channel = self.clone();
        let messages = started.messages.clone();
        let mut following = Box::pin(async move {
            let ended = tokio::select! {
                biased;
                () = running.0.cancelled() => None,
                outcome = channel.follow(started) => Some(outcome),
            };
            let Some(ended) = ended else {
                // Such as the cancellation of a request to the client.
                if let Some(messages) = messages {
                    channel.forward(&messages).await;
                }
                return;
            };
            let reply = channel.0.server.rpc.reply(ended, Some(&id));
            let message = Message::of_reply(channel.memory(), reply, Some(&id));
            channel.finish_with(running, message).await;
        });
        // The first poll may complete the call without a task.
        let mut context = Context::from_waker(Waker::noop());
        if following.as_mut().poll(&mut context).is_pending() {
            self.spawn(following);
        }
    }

    fn spawn(&self, call: impl Future<Output = ()> + Send + 'static) {
        drop(self.0.server.detached.spawn(self.0.tasks.track_future(call)));
    }

    /// Ends the subscriptions of a client that has gone. Other calls run to their end.
    pub(crate) fn end_subscriptions(&self) {
        self.0.session.ended.cancel();
    }

    /// Runs a call to its end and forwards its messages.
    async fn follow(&self, started: StartedCall) -> Outcome {
        let StartedCall { mut future, messages } = started;
        let Some(messages) = messages else {
            let Ok(outcome) = future.await;
            return outcome;
        };
        loop {
            let ended = tokio::select! {
                biased;
                () = messages.filled() => None,
                Ok(outcome) = &mut future => Some(outcome),
            };
            self.forward(&messages).await;
            if let Some(outcome) = ended {
                return outcome;
            }
        }
    }

    async fn forward(&self, messages: &MessageQueue) {
        while let Some(message) = messages.take_message() {
            // This fails only if the client is gone.
            drop(self.0.out.send(message).await);
        }
    }

    async fn take_batch(&self, batch: Batch) {
        let has_batches = self.0.session.version().is_some_and(Legacy::has_batches);
        let refused = if has_batches { None } else { Some(Fault::Request(NO_BATCHES).error()) };
        let permit = match refused.map_or_else(|| self.permit(), Err) {
            Ok(permit) => permit,
            Err(error) => {
                batch.refuse(&error);
                return self.send(Reply::error(error, None)).await;
            }
        };
        let channel = self.clone();
        self.spawn(async move {
            let (server, session) = (Arc::clone(&channel.0.server), Arc::clone(&channel.0.session));
            let answered = batch::answer(server, batch, Some(session)).await;
            let reply = answered.unwrap_or_else(|fault| Reply::error(fault.error(), None));
            let message = Message::of_reply(channel.memory(), reply, None);
            channel.finish_with(permit, message).await;
        });
    }

    /// Sends a reply. Until the queue has space for it, its call counts as running, which limits the calls of a
    /// client that does not read.
    async fn finish_with<T>(&self, running: T, reply: Option<Message>) {
        // This fails only if the client is gone.
        let Ok(slot) = self.0.out.reserve().await else {
            return;
        };
        drop(running);
        if let Some(message) = reply {
            slot.send(message);
        }
    }

    async fn send(&self, reply: Reply) {
        if let Some(json) = reply.into_json() {
            // This fails only if the client is gone.
            drop(self.0.out.send(Message::from(json)).await);
        }
    }
}

impl Protocol for Channel {
    const FINDS_IDS: bool = true;

    async fn receive(&mut self, message: Result<Bytes, Refused>, _: Format) {
        match message {
            Ok(body) => Self::take(self, body, Extensions::from_endpoint("mcp-stdio")).await,
            Err(Refused { error, id }) => {
                self.handle(incoming::refused(error, id, Bytes::new())).await;
            }
        }
    }

    async fn finish(self) {
        self.end_subscriptions();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    /// Messages that are not yet written count too.
    fn unanswered(&self) -> impl Fn() -> usize + Send + Sync + 'static {
        let (tasks, out) = (self.0.tasks.clone(), self.0.out.downgrade());
        let waiting = move || out.upgrade().map_or(0, |out| out.max_capacity() - out.capacity());
        move || tasks.len() + waiting()
    }

    fn memory(&self) -> &MemoryBudget {
        &self.0.server.rpc.limits().memory
    }
}

/// The messages to the client of a channel.
pub(crate) struct Outbox {
    messages: mpsc::Receiver<Message>,
    subscription: Arc<Subscription>,
}

impl Outbox {
    /// The next message, or none when the channel is closed.
    ///
    /// # Cancel safety
    /// No message is lost when the future is dropped.
    pub(crate) async fn next(&mut self) -> Option<Message> {
        tokio::select! {
            biased;
            // Bypasses the queue, so that changes are merged until the client reads them.
            message = self.subscription.next() => Some(message.into()),
            message = self.messages.recv() => message,
        }
    }
}
