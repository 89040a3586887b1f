//! One connection, and the task that drives it.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::timeout;

use super::addressee::Addressee;
use super::settings::Settings;
use super::waiting::Waiting;
use crate::client::error::{Cause, Failure, ProtocolError, TransportError};
use crate::client::transport::Message;
use crate::error::{ErrorObject, code};
use crate::outcome::Outcome;
use crate::stream::{Frame, FrameReader, FrameWriter, Key, ReadError};

/// Messages that may wait to be written.
const WAITING: usize = 16;
/// Messages of the connection itself that may: the oldest are forgotten for more.
const OWN: usize = 1_024;
/// How long to look for what the server has still said, once it takes nothing any more.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A connection to a server. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Connection {
    out: mpsc::Sender<Outgoing>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Outgoing {
    body: Bytes,
    /// Told when a message that nothing answers has been written.
    written: Option<oneshot::Sender<()>>,
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
    own: VecDeque<Own>,
    /// Why it has ended.
    ended: Option<Failure>,
}

#[derive(Debug)]
enum Own {
    Cancel(Key),
    /// The server asks us: we take no requests.
    Refuse(Key),
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
        settings: &Settings,
        farewell: impl Future<Output = Option<Cause>> + Send + 'static,
    ) -> Self {
        let (out, outgoing) = mpsc::channel(WAITING);
        let state = State { waiting: Waiting::new(), own: VecDeque::new(), ended: None };
        let has_own = Notify::new();
        let shared = Arc::new(Shared { target, state: Mutex::new(state), has_own });
        let reader = FrameReader::new(input, settings.framing, settings.message_bytes);
        let writer = FrameWriter::new(output, settings.framing, settings.write_timeout);
        let driver =
            Driver { shared: Arc::clone(&shared), outgoing, limit: settings.message_bytes };
        // It ends with this connection: there is nobody then who could send anything.
        tokio::spawn(driver.run(reader, writer, farewell));
        Self { out, shared }
    }

    /// Why it has ended, if it has.
    pub(super) fn ended(&self) -> Option<Failure> {
        self.shared.state().ended.clone()
    }

    pub(super) async fn send(&self, message: &Message) -> Result<Option<Bytes>, SendError> {
        let body = message.body.clone();
        let Ok(room) = self.out.reserve().await else {
            return Err(SendError::Ended(self.shared.end()));
        };
        if message.ids.is_empty() {
            let (written, later) = oneshot::channel();
            room.send(Outgoing { body, written: Some(written) });
            let written = later.await;
            return written.map(|()| None).map_err(|_| SendError::Failed(self.shared.end()));
        }
        let (mut ticket, answer) = Ticket::take(&self.shared, message).map_err(SendError::Ended)?;
        room.send(Outgoing { body, written: None });
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
        let keys = self.shared.state().waiting.abandon(self.number);
        self.shared.say(keys.into_iter().map(Own::Cancel));
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn say(&self, messages: impl Iterator<Item = Own>) {
        let mut state = self.state();
        for message in messages {
            if state.own.len() == OWN {
                state.own.pop_front();
            }
            state.own.push_back(message);
        }
        drop(state);
        self.has_own.notify_one();
    }

    /// Takes a message from the server.
    fn take(&self, body: Bytes) {
        let taken = match Addressee::of(&body) {
            Ok(Addressee::Server(None)) => {
                return tracing::debug!(target = %self.target, "a notification is ignored");
            }
            Ok(Addressee::Server(Some(id))) => return self.say([Own::Refuse(id)].into_iter()),
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
            Ok(Some(Frame::Message(body))) => shared.take(body),
            Ok(Some(Frame::TooLarge)) => {
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
        // A call is sent before it is cancelled, so what is cancelled by now is among the calls that
        // have come, or come next.
        let own = std::mem::take(&mut shared.state().own);
        waiting.extend(std::iter::from_fn(|| outgoing.try_recv().ok()).take(WAITING));
        let mut written = Vec::new();
        for message in waiting.drain(..) {
            writer.write(&message.body).await?;
            written.extend(message.written);
        }
        for message in &own {
            writer.write(&message.text()).await?;
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
    fn text(&self) -> Vec<u8> {
        match self {
            Self::Cancel(id) => {
                format!(r#"{{"jsonrpc":"2.0","method":"$/cancelRequest","params":{{"id":{id}}}}}"#)
                    .into_bytes()
            }
            Self::Refuse(id) => {
                let error = ErrorObject::new(code::METHOD_NOT_FOUND, "Method not found");
                Outcome::error(error).into_response(id.to_string().as_bytes())
            }
        }
    }
}
