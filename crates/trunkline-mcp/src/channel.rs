//! A client that has a channel of its own: its messages come one after the other, its calls run side
//! by side, and what it is sent shares one way out.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use trunkline::{Batch, Call, ErrorObject, Extensions, Id, Incoming, Outcome, Reply, code};

use crate::door::{Member, NO_BATCHES};
use crate::events::one_line;
use crate::fault::Fault;
use crate::notify::LogLevel;
use crate::request::Request;
use crate::server::{Begun, Server, Way, negotiated, wanted_level};
use crate::version::Legacy;

/// The server's end of a channel. Clones are the same channel.
#[derive(Clone)]
pub(crate) struct Channel(Arc<Shared>);

struct Shared {
    server: Arc<Server>,
    out: mpsc::Sender<Vec<u8>>,
    tasks: TaskTracker,
    state: Mutex<State>,
}

struct State {
    /// The revision that `initialize` was answered with.
    version: Option<Legacy>,
    /// The level of log messages that the client wants.
    level: LogLevel,
    /// The requests that run, by the JSON text of their ids.
    running: HashMap<String, CancellationToken>,
}

/// Messages that may wait to be written. Calls whose replies find no room wait, too.
const WAITING: usize = 16;

impl Channel {
    /// A channel, and what is to be written to its client: one JSON text a message, without newlines.
    pub(crate) fn new(server: Arc<Server>) -> (Self, mpsc::Receiver<Vec<u8>>) {
        let (out, written) = mpsc::channel(WAITING);
        let state = State { version: None, level: LogLevel::Info, running: HashMap::new() };
        let (tasks, state) = (TaskTracker::new(), Mutex::new(state));
        (Self(Arc::new(Shared { server, out, tasks, state })), written)
    }

    /// Takes a message. Waits only for room for what refuses it.
    pub(crate) async fn take(&self, body: Bytes, extensions: Extensions) {
        match self.0.server.rpc.read(body, extensions) {
            Incoming::Call(call) => self.take_call(call).await,
            Incoming::Batch(batch) => self.take_batch(batch).await,
            Incoming::Refused { error, id } => {
                let id = id.filter(|id| *id != Id::NULL);
                self.send(Reply::error(error, id.as_ref())).await;
            }
        }
    }

    /// Refuses what could not even be taken as a message.
    pub(crate) async fn refuse(&self, error: ErrorObject) {
        self.send(Reply::error(error, None)).await;
    }

    /// Waits until what runs has ended, or the time is up; true if all has ended.
    pub(crate) async fn finish(&self, timeout: Duration) -> bool {
        self.0.tasks.close();
        tokio::time::timeout(timeout, self.0.tasks.wait()).await.is_ok()
    }

    async fn take_call(&self, call: Call) {
        let Some(id) = call.id() else {
            return self.take_notification(call);
        };
        if id == Id::NULL {
            let fault = Fault::Request("MCP's ids are strings and numbers");
            return self.send(Reply::error(fault.error(), None)).await;
        }
        let cancelled = match self.begin(&call, &id) {
            Ok(cancelled) => cancelled,
            Err(error) => return self.send(Reply::error(error, Some(&id))).await,
        };
        let level = self.state().level;
        match self.0.server.answer(call, Way::Channel(level)).outcome {
            Ok(begun) => self.run(begun, id, cancelled),
            Err(fault) => {
                self.state().running.remove(id.as_raw());
                self.send(Reply::error(fault.error(), Some(&id))).await;
            }
        }
    }

    fn take_notification(&self, call: Call) {
        if call.method() == "notifications/cancelled" {
            // What cannot be read, and what does not run any more, is ignored (section "Cancellation").
            let request = Request::of(&call).unwrap_or_default();
            let id = request.request_id.map(|part| call.text(part));
            let id = id.and_then(|text| std::str::from_utf8(text).ok());
            if let Some(token) = id.and_then(|id| self.state().running.remove(id)) {
                token.cancel();
            }
            return;
        }
        if let Ok(begun) = self.0.server.answer(call, Way::Batch).outcome {
            self.0.tasks.spawn(begun.future);
        }
    }

    /// Makes a request one of those that run.
    fn begin(&self, call: &Call, id: &Id) -> Result<CancellationToken, ErrorObject> {
        let mut state = self.state();
        if state.running.contains_key(id.as_raw()) {
            return Err(Fault::Request("a request with this id is running").error());
        }
        if state.running.len() >= self.0.server.settings.in_flight {
            return Err(ErrorObject::new(code::BUSY, "Server is busy"));
        }
        match &*call.method() {
            "initialize" => {
                let request = Request::of(call).unwrap_or_default();
                state.version = negotiated(call, &request).ok();
            }
            "logging/setLevel" => {
                let request = Request::of(call).unwrap_or_default();
                state.level = wanted_level(call, &request).unwrap_or(state.level);
            }
            _ => {}
        }
        let token = CancellationToken::new();
        state.running.insert(id.as_raw().to_owned(), token.clone());
        Ok(token)
    }

    fn run(&self, begun: Begun, id: Id, cancelled: CancellationToken) {
        let channel = self.clone();
        self.0.tasks.spawn(async move {
            let ended = tokio::select! {
                biased;
                outcome = channel.follow(begun) => outcome,
                () = cancelled.cancelled() => return,
            };
            // It is no more running when its client can have read the reply.
            channel.state().running.remove(id.as_raw());
            channel.send(channel.0.server.rpc.reply(ended, Some(&id))).await;
        });
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
                drop(self.0.out.send(message).await);
            }
            if let Some(outcome) = ended {
                return outcome;
            }
        }
    }

    async fn take_batch(&self, batch: Batch) {
        if !self.state().version.is_some_and(Legacy::has_batches) {
            return self.send(Reply::error(Fault::Request(NO_BATCHES).error(), None)).await;
        }
        let member = Member(Arc::clone(&self.0.server));
        let rpc = self.0.server.rpc.clone().projected(Arc::new(member));
        let channel = self.clone();
        self.0.tasks.spawn(async move {
            let reply = rpc.answer_batch(batch).await;
            channel.send(reply).await;
        });
    }

    async fn send(&self, reply: Reply) {
        if let Some(json) = reply.into_json() {
            // A client that is gone reads no replies.
            drop(self.0.out.send(one_line(json)).await);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
