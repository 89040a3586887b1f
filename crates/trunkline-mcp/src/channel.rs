//! A client that has a channel of its own: its messages come one after the other, its calls run side
//! by side, and what it is sent shares one way out.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use bytes::Bytes;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::task::TaskTracker;
use trunkline::limits::{MemoryBudget, Reservation};
use trunkline::protocol::{Batch, Format, Incoming, Reply};
use trunkline::stream::{Calls, Key, Protocol, Registration};
use trunkline::{Call, ErrorObject, Extensions, Id, Outcome, code};

use crate::batch;
use crate::era::{NO_BATCHES, Way};
use crate::fault::{BAD_ID, Fault};
use crate::log_level::LogLevel;
use crate::protocol::{Legacy, method};
use crate::request::{Request, is_mcp_id};
use crate::server::{Answer, Begun, Server, negotiated, record_refusal, wanted_level};

/// The server's end of a channel. Clones are the same channel.
#[derive(Clone)]
pub(crate) struct Channel(Arc<Shared>);

struct Shared {
    server: Arc<Server>,
    out: mpsc::Sender<Message>,
    tasks: TaskTracker,
    places: Arc<Semaphore>,
    calls: Calls,
    /// Tells the client that there are other tools.
    changed: Arc<Notify>,
    state: Mutex<State>,
}

/// What the client has said of itself, in the revisions that have such a state.
#[derive(Clone, Copy)]
struct State {
    /// The revision that `initialize` was answered with.
    version: Option<Legacy>,
    /// The level of log messages that the client wants.
    level: LogLevel,
}

/// Messages that may wait to be written. Calls whose replies find no room wait, too.
const WAITING: usize = 16;

impl Channel {
    /// A channel, and what is to be written to its client.
    pub(crate) fn new(server: Arc<Server>) -> (Self, Outbox) {
        let (out, messages) = mpsc::channel(WAITING);
        let changed = Arc::new(Notify::new());
        let outbox = Outbox { messages, changed: Arc::clone(&changed) };
        let places = server.settings.in_flight.min(Semaphore::MAX_PERMITS);
        let places = Arc::new(Semaphore::new(places));
        let state = Mutex::new(State { version: None, level: LogLevel::Info });
        let (tasks, calls) = (TaskTracker::new(), Calls::default());
        (Self(Arc::new(Shared { server, out, tasks, places, calls, changed, state })), outbox)
    }

    /// Takes a message. Waits only for room for what refuses it.
    pub(crate) async fn take(&self, body: Bytes, extensions: Extensions) {
        match self.0.server.rpc.read(body, extensions) {
            Incoming::Call(call) => match call.id() {
                Some(id) => self.take_request(call, id).await,
                None => self.take_notification(call),
            },
            Incoming::Batch(batch) => self.take_batch(batch).await,
            // An answer to it could be taken for that to a request of the client.
            Incoming::Response { .. } => tracing::debug!("a response to nothing is ignored"),
            Incoming::Refused { error, id } => {
                let id = id.filter(is_mcp_id);
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
        let state = *self.state();
        let change = state.after(&call);
        let Answer { modern, outcome } = self.0.server.answer(call, Way::Channel(state.level));
        match outcome {
            Ok(begun) => {
                // The stateless era has no state, whatever the method is called.
                if !modern {
                    *self.state() = change;
                }
                self.run(begun, id, running);
            }
            Err(fault) => {
                drop(running);
                self.send(Reply::error(fault.error(), Some(&id))).await;
            }
        }
    }

    /// Notifications run nothing, so what cannot be read, what does not run any more, and what is not
    /// known is ignored.
    fn take_notification(&self, mut call: Call) {
        if let Some(recording) = call.take_recording() {
            recording.end(&Outcome::result(&()));
        }
        match &*call.method() {
            method::CANCELLED => {
                let request = Request::of(&call).unwrap_or_default();
                let id = request.request_id.map(|part| call.text(part));
                if let Some(id) = id.and_then(|text| std::str::from_utf8(text).ok()) {
                    self.0.calls.cancel(&Key::of(id));
                }
            }
            // Before it, a client is sent nothing that it has not asked for.
            method::INITIALIZED if self.state().version.is_some() => {
                self.0.server.audience.join(&self.0.changed);
            }
            _ => {}
        }
    }

    /// Begins a request. An id is one request at a time.
    fn begin(&self, id: &Id) -> Result<(Registration, OwnedSemaphorePermit), ErrorObject> {
        let registration = self.0.calls.begin_unique(id.into());
        let fault = Fault::Request("a request with this id is running");
        Ok((registration.ok_or_else(|| fault.error())?, self.place()?))
    }

    /// A place among the calls that run.
    fn place(&self) -> Result<OwnedSemaphorePermit, ErrorObject> {
        let place = Arc::clone(&self.0.places).try_acquire_owned();
        place.map_err(|_| ErrorObject::new(code::BUSY, "Server is busy"))
    }

    fn run(&self, begun: Begun, id: Id, running: (Registration, OwnedSemaphorePermit)) {
        let channel = self.clone();
        let mut following = Box::pin(async move {
            let ended = tokio::select! {
                biased;
                outcome = channel.follow(begun) => outcome,
                () = running.0.cancelled() => return,
            };
            let reply = channel.0.server.rpc.reply(ended, Some(&id));
            let message = Message::reserved(channel.memory(), reply, Some(&id));
            channel.finish_with(running, message).await;
        });
        // The call begins here, and may end here. A thread of the runtime takes a task up later.
        let mut context = Context::from_waker(Waker::noop());
        if following.as_mut().poll(&mut context).is_pending() {
            self.0.tasks.spawn(following);
        }
    }

    /// Runs a call to its end, and passes on what it tells before.
    async fn follow(&self, begun: Begun) -> Outcome {
        let Begun { mut future, outlet } = begun;
        let Some(outlet) = outlet else {
            let Ok(outcome) = future.await;
            return outcome;
        };
        loop {
            let ended = tokio::select! {
                biased;
                () = outlet.filled() => None,
                Ok(outcome) = &mut future => Some(outcome),
            };
            while let Some(message) = outlet.take() {
                drop(self.0.out.send(message.into()).await);
            }
            if let Some(outcome) = ended {
                return outcome;
            }
        }
    }

    async fn take_batch(&self, batch: Batch) {
        let has_batches = self.state().version.is_some_and(Legacy::has_batches);
        let refused = if has_batches { None } else { Some(Fault::Request(NO_BATCHES).error()) };
        let place = match refused.map_or_else(|| self.place(), Err) {
            Ok(place) => place,
            Err(error) => {
                batch.refuse(&error);
                return self.send(Reply::error(error, None)).await;
            }
        };
        let channel = self.clone();
        self.0.tasks.spawn(async move {
            let answered = batch::answer(Arc::clone(&channel.0.server), batch).await;
            let reply = answered.unwrap_or_else(|fault| Reply::error(fault.error(), None));
            let message = Message::reserved(channel.memory(), reply, None);
            channel.finish_with(place, message).await;
        });
    }

    /// Sends a reply. Until there is room for it, its call counts as one that runs: a client that does
    /// not read cannot have ever more of them computed. It runs no more when its client can have read it.
    async fn finish_with<T>(&self, running: T, reply: Option<Message>) {
        // A client that is gone reads no replies.
        let Ok(room) = self.0.out.reserve().await else {
            return;
        };
        drop(running);
        if let Some(message) = reply {
            room.send(message);
        }
    }

    async fn send(&self, reply: Reply) {
        if let Some(json) = reply.into_json() {
            // A client that is gone reads no replies.
            drop(self.0.out.send(Message::from(json)).await);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Protocol for Channel {
    async fn take(&mut self, message: Result<Bytes, ErrorObject>, _: Format) {
        match message {
            Ok(body) => Self::take(self, body, Extensions::through("mcp-stdio")).await,
            Err(error) => self.send(Reply::error(error, None)).await,
        }
    }

    async fn finish(self) {
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    /// Messages that have not been taken count, too.
    fn unanswered(&self) -> impl Fn() -> usize + Send + Sync + 'static {
        let (tasks, out) = (self.0.tasks.clone(), self.0.out.downgrade());
        let waiting = move || out.upgrade().map_or(0, |out| out.max_capacity() - out.capacity());
        move || tasks.len() + waiting()
    }

    fn memory(&self) -> &MemoryBudget {
        &self.0.server.rpc.limits().memory
    }
}

impl State {
    /// The state that a request of the first era leaves.
    fn after(self, call: &Call) -> Self {
        let method = call.method();
        if !matches!(&*method, method::INITIALIZE | method::SET_LEVEL) {
            return self;
        }
        let request = Request::of(call).unwrap_or_default();
        if method == method::INITIALIZE {
            return Self { version: negotiated(call, &request).ok(), ..self };
        }
        Self { level: wanted_level(call, &request).unwrap_or(self.level), ..self }
    }
}

const LIST_CHANGED: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

/// The messages to the client of a channel.
pub(crate) struct Outbox {
    messages: mpsc::Receiver<Message>,
    /// Whether there are other tools since it was asked last.
    changed: Arc<Notify>,
}

/// A message to a client.
pub(crate) struct Message {
    /// A JSON text.
    pub(crate) json: Vec<u8>,
    /// Its reservation in the memory budget. Notifications are small and have none.
    pub(crate) memory: Option<Reservation>,
}

impl From<Vec<u8>> for Message {
    fn from(json: Vec<u8>) -> Self {
        Self { json, memory: None }
    }
}

impl Message {
    /// A reply that counts in the memory budget, or the error in its place; none to a notification.
    pub(crate) fn reserved(memory: &MemoryBudget, reply: Reply, id: Option<&Id>) -> Option<Self> {
        let message = Self::from(reply.into_json()?);
        match memory.reserve(message.json.len()) {
            Ok(memory) => Some(Self { memory: Some(memory), ..message }),
            Err(error) => Reply::error(error.reply_dropped(), id).into_json().map(Self::from),
        }
    }
}

impl Outbox {
    /// The next message; none when the channel is gone.
    ///
    /// # Cancel safety
    /// No message is lost when the future is dropped.
    pub(crate) async fn next(&mut self) -> Option<Message> {
        tokio::select! {
            biased;
            // Waits behind nothing: a client that reads slowly need not work with a list of the past.
            () = self.changed.notified() => Some(LIST_CHANGED.to_vec().into()),
            message = self.messages.recv() => message,
        }
    }
}
