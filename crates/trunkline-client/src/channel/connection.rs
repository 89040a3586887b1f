//! One connection, and the task that drives it.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::timeout;
use trunkline_core::error::{ErrorObject, code};
use trunkline_core::outcome::Outcome;

use super::addressee::Addressee;
use super::config::ChannelConfig;
use super::waiting::Waiting;
use crate::error::{Cause, Failure, ProtocolError, TransportError};
use crate::frame::{Frame, FrameReader, FrameWriter, Key, ReadError};
use crate::transport::Message;

/// Messages that may wait to be written.
const WAITING: usize = 16;
/// Refusals that may: the oldest are forgotten for more. Cancels have the bound of the calls.
const REFUSALS: usize = 1_024;
/// How long to look for what the server has still said, once it takes nothing any more.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A connection to a server. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Connection {
    out: mpsc::Sender<Outgoing>,
    shared: Arc<Shared>,
    /// How many bytes a message to the server may have.
    request_bytes: usize,
}

#[derive(Debug)]
struct Outgoing {
    body: Bytes,
    expects: Expects,
}

#[derive(Debug)]
enum Expects {
    /// The reply that is waited for under this number.
    Reply(u64),
    /// Nothing answers it. Told when it has been written.
    Nothing(oneshot::Sender<()>),
}

#[derive(Debug)]
struct Shared {
    target: String,
    state: Mutex<State>,
    /// Told when there is a message of the connection itself.
    has_own: Notify,
}

#[derive(Debug)]
struct State {
    waiting: Waiting,
    /// What the connection itself has to say.
    own: Own,
    /// Why it has ended.
    ended: Option<Failure>,
}

#[derive(Debug, Default)]
struct Own {
    /// The ids of messages that were sent, and that nobody waits for any more.
    cancels: Vec<Vec<Key>>,
    /// What the server asks us: we take no requests.
    refusals: VecDeque<Key>,
}

/// Why a message has no reply.
pub(super) enum SendError {
    /// The connection had ended before: the message was not sent.
    Ended(Failure),
    /// The message has failed, or was not answered in time.
    Failed(Failure),
}

impl Connection {
    /// Takes the two ends of a stream over. `farewell` is awaited when the server has ended it, both
    /// ends are closed, and calls are to be told: it may know the reason.
    pub(crate) fn start(
        target: String,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        settings: &ChannelConfig,
        farewell: impl Future<Output = Option<Cause>> + Send + 'static,
    ) -> Self {
        let (out, outgoing) = mpsc::channel(WAITING);
        let state = State { waiting: Waiting::new(), own: Own::default(), ended: None };
        let has_own = Notify::new();
        let shared = Arc::new(Shared { target, state: Mutex::new(state), has_own });
        let reader = FrameReader::new(input, settings.framing, settings.message_bytes);
        let writer = FrameWriter::new(output, settings.framing, settings.write_timeout);
        let driver =
            Driver { shared: Arc::clone(&shared), outgoing, limit: settings.message_bytes };
        // It ends with this connection: there is nobody then who could send anything.
        tokio::spawn(driver.run(reader, writer, farewell));
        Self { out, shared, request_bytes: settings.request_bytes }
    }

    /// Why it has ended, if it has.
    pub(super) fn ended(&self) -> Option<Failure> {
        self.shared.state().ended.clone()
    }

    pub(super) async fn send(&self, message: &Message) -> Result<Option<Bytes>, SendError> {
        let body = message.body.clone();
        let (bytes, limit) = (body.len(), self.request_bytes);
        if bytes > limit {
            let target = self.shared.target.clone();
            let too_large = TransportError::RequestTooLarge { target, bytes, limit };
            return Err(SendError::Failed(too_large.into()));
        }
        let Ok(room) = self.out.reserve().await else {
            return Err(SendError::Ended(self.shared.end()));
        };
        if message.ids.is_empty() {
            let (written, later) = oneshot::channel();
            room.send(Outgoing { body, expects: Expects::Nothing(written) });
            let written = later.await;
            return written.map(|()| None).map_err(|_| SendError::Failed(self.shared.end()));
        }
        let (mut ticket, answer) = Ticket::take(&self.shared, message).map_err(SendError::Ended)?;
        room.send(Outgoing { body, expects: Expects::Reply(ticket.number) });
        let answer = answer.await;
        ticket.is_answered = true;
        match answer {
            Ok(Ok(body)) => Ok(Some(body)),
            Ok(Err(failure)) => Err(SendError::Failed(failure)),
            // The runtime of the connection has ended.
            Err(_) => Err(SendError::Failed(self.shared.end())),
        }
    }
}

/// A message that waits for its reply; dropped before, it is cancelled.
struct Ticket {
    shared: Arc<Shared>,
    number: u64,
    is_answered: bool,
}

type Later = oneshot::Receiver<super::waiting::Answer>;

impl Ticket {
    fn take(shared: &Arc<Shared>, message: &Message) -> Result<(Self, Later), Failure> {
        let mut state = shared.state();
        if let Some(ended) = &state.ended {
            return Err(ended.clone());
        }
        let (number, answer) = state.waiting.add(&message.ids);
        Ok((Self { shared: Arc::clone(shared), number, is_answered: false }, answer))
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        let mut state = self.shared.state();
        // What has not been sent by now will not be.
        if let Some(keys) = state.waiting.abandon(self.number) {
            state.own.cancels.push(keys);
            drop(state);
            self.shared.has_own.notify_one();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refuse(&self, id: Key) {
        let mut state = self.state();
        if state.own.refusals.len() == REFUSALS {
            state.own.refusals.pop_front();
        }
        state.own.refusals.push_back(id);
        drop(state);
        self.has_own.notify_one();
    }

    /// Takes a message from the server.
    fn take(&self, body: Bytes) {
        let taken = match Addressee::of(&body) {
            Ok(Addressee::Server(None)) => {
                return tracing::debug!(target = %self.target, "a notification is ignored");
            }
            Ok(Addressee::Server(Some(id))) => return self.refuse(id),
            Ok(addressee) => self.state().waiting.deliver(&addressee, body),
            Err(error) => Err(error),
        };
        if let Err(error) = taken {
            tracing::debug!(target = %self.target, %error, "a message is for nobody");
            self.state().waiting.fail(&error.into());
        }
    }

    /// Why the connection has ended.
    fn end(&self) -> Failure {
        let ended = self.state().ended.clone();
        ended.unwrap_or_else(|| self.broken(None))
    }

    fn broken(&self, source: Option<Cause>) -> Failure {
        TransportError::Broken { target: self.target.clone(), source }.into()
    }
}

/// Moves messages until the connection ends.
struct Driver {
    shared: Arc<Shared>,
    outgoing: mpsc::Receiver<Outgoing>,
    limit: usize,
}

impl Driver {
    async fn run<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(
        self,
        mut reader: FrameReader<R>,
        writer: FrameWriter<W>,
        farewell: impl Future<Output = Option<Cause>>,
    ) {
        let Self { shared, mut outgoing, limit } = self;
        let mut ending = Ending { shared: Arc::clone(&shared), why: None };
        let ended = tokio::select! {
            biased;
            ended = read(&shared, &mut reader, limit) => ended,
            written = write(&shared, &mut outgoing, writer) => match written {
                // Nobody is left to call.
                Ok(()) => return,
                Err(error) => {
                    let last = timeout(LAST_WORDS, read(&shared, &mut reader, limit)).await;
                    let ended = last.unwrap_or_else(|_| Ended::Broken(None));
                    match ended {
                        Ended::Broken(None) => Ended::Broken(Some(Arc::new(error))),
                        ended => ended,
                    }
                }
            },
        };
        drop(reader);
        let why = farewell.await;
        let failure = match ended {
            Ended::Broken(source) => shared.broken(why.or(source)),
            Ended::Wrong(failure) => failure,
        };
        ending.why = Some(failure);
    }
}

/// Tells the calls that wait when it is dropped, whatever drops it.
struct Ending {
    shared: Arc<Shared>,
    why: Option<Failure>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        let why = self.why.take().unwrap_or_else(|| self.shared.broken(None));
        let mut state = self.shared.state();
        state.waiting.fail(&why);
        state.ended = Some(why);
    }
}

/// How reading has ended.
enum Ended {
    Broken(Option<Cause>),
    /// What came is none of what it should be.
    Wrong(Failure),
}

async fn read<R: AsyncRead + Unpin>(
    shared: &Shared,
    reader: &mut FrameReader<R>,
    limit: usize,
) -> Ended {
    loop {
        match reader.next().await {
            Ok(Some(Frame::Message(body, _))) => shared.take(body),
            // A client has no memory budget: what is too much for it is too large.
            Ok(Some(Frame::TooLarge(_) | Frame::OutOfMemory(..))) => {
                let target = shared.target.clone();
                return Ended::Wrong(TransportError::TooLarge { target, limit }.into());
            }
            Ok(None) => return Ended::Broken(None),
            Err(ReadError::Io(error)) => return Ended::Broken(Some(Arc::new(error))),
            Err(error @ ReadError::Head(_)) => {
                let (reason, beginning) = (error.to_string(), String::new());
                return Ended::Wrong(ProtocolError::Malformed { reason, beginning }.into());
            }
        }
    }
}

/// Writes until there is nobody left who could send anything.
async fn write<W: AsyncWrite + Unpin>(
    shared: &Shared,
    outgoing: &mut mpsc::Receiver<Outgoing>,
    mut writer: FrameWriter<W>,
) -> io::Result<()> {
    let mut waiting = Vec::with_capacity(WAITING);
    loop {
        let is_last = tokio::select! {
            count = outgoing.recv_many(&mut waiting, WAITING) => count == 0,
            () = shared.has_own.notified() => false,
        };
        waiting.extend(std::iter::from_fn(|| outgoing.try_recv().ok()).take(WAITING));
        // All that these messages were sent after is there by now. A cancel goes before them, for a
        // server may read no call while it has no place for one.
        let own = std::mem::take(&mut shared.state().own);
        for text in own.texts() {
            writer.write(&text).await?;
        }
        let mut written = Vec::new();
        for Outgoing { body, expects } in waiting.drain(..) {
            let begun = match expects {
                Expects::Reply(number) => shared.state().waiting.begin(number),
                Expects::Nothing(told) => {
                    shared.state().waiting.begin_unanswered();
                    written.push(told);
                    true
                }
            };
            if begun {
                writer.write(&body).await?;
            }
        }
        writer.flush().await?;
        for written in written {
            // Who does not wait needs not be told.
            let _ = written.send(());
        }
        if is_last {
            return writer.finish().await;
        }
    }
}

impl Own {
    fn texts(&self) -> impl Iterator<Item = Vec<u8>> {
        let cancel = |id: &Key| {
            format!(r#"{{"jsonrpc":"2.0","method":"$/cancelRequest","params":{{"id":{id}}}}}"#)
                .into_bytes()
        };
        let refusal = |id: &Key| {
            let error = ErrorObject::new(code::METHOD_NOT_FOUND, "Method not found");
            Outcome::error(error).into_response(id.to_string().as_bytes())
        };
        let cancels = self.cancels.iter().flatten().map(cancel);
        cancels.chain(self.refusals.iter().map(refusal))
    }
}
