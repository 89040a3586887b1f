//! A connection and the task that drives it.

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

use super::config::ChannelConfig;
use super::recipient::Recipient;
use super::reply_table::ReplyTable;
use crate::error::{Cause, Failure, ProtocolError, TransportError};
use crate::frame::{Frame, FrameReader, FrameWriter, Key, ReadError};
use crate::transport::Message;

/// The maximum number of messages that wait to be written.
const MAX_QUEUED: usize = 16;
/// The maximum number of queued refusals. The oldest are dropped. Cancellations are bounded by the calls.
const MAX_REFUSALS: usize = 1_024;
/// The time to read remaining replies after writing has failed.
const FINAL_READ: Duration = Duration::from_secs(1);

/// A connection to a server. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Connection {
    out: mpsc::Sender<Outgoing>,
    shared: Arc<Shared>,
    /// The maximum size of a message to the server, in bytes.
    request_bytes: usize,
}

#[derive(Debug)]
struct Outgoing {
    body: Bytes,
    expects: Expects,
}

#[derive(Debug)]
enum Expects {
    /// The reply to the message with this number.
    Reply(u64),
    /// No reply. The sender is notified when the message has been written.
    Nothing(oneshot::Sender<()>),
}

#[derive(Debug)]
struct Shared {
    target: String,
    state: Mutex<State>,
    /// Notified when control messages are queued.
    has_control: Notify,
}

#[derive(Debug)]
struct State {
    replies: ReplyTable,
    control: ControlMessages,
    /// The reason why the connection has ended.
    ended: Option<Failure>,
}

/// The queued messages of the connection itself.
#[derive(Debug, Default)]
struct ControlMessages {
    /// The ids of abandoned messages.
    cancels: Vec<Vec<Key>>,
    /// The ids of requests of the server, which are refused.
    refusals: VecDeque<Key>,
}

/// The error of a message without a reply.
pub(super) enum SendError {
    /// The connection had ended; the message was not sent.
    Ended(Failure),
    /// The message failed.
    Failed(Failure),
}

impl Connection {
    /// Starts a connection over the two halves of a stream. When the server has closed it, `exit_cause` is
    /// awaited before the pending calls fail: it may provide the cause.
    pub(crate) fn start(
        target: String,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        settings: &ChannelConfig,
        exit_cause: impl Future<Output = Option<Cause>> + Send + 'static,
    ) -> Self {
        let (out, outgoing) = mpsc::channel(MAX_QUEUED);
        let (replies, control) = (ReplyTable::new(), ControlMessages::default());
        let state = Mutex::new(State { replies, control, ended: None });
        let shared = Arc::new(Shared { target, state, has_control: Notify::new() });
        let reader = FrameReader::new(input, settings.framing, settings.message_bytes);
        let writer = FrameWriter::new(output, settings.framing, settings.write_timeout);
        let driver =
            Driver { shared: Arc::clone(&shared), outgoing, limit: settings.message_bytes };
        // The task ends when this connection is dropped, which closes the channel.
        tokio::spawn(driver.run(reader, writer, exit_cause));
        Self { out, shared, request_bytes: settings.request_bytes }
    }

    /// The reason why the connection has ended, if it has.
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
        let Ok(permit) = self.out.reserve().await else {
            return Err(SendError::Ended(self.shared.failure()));
        };
        if message.ids.is_empty() {
            let (sender, written) = oneshot::channel();
            permit.send(Outgoing { body, expects: Expects::Nothing(sender) });
            let written = written.await;
            return written.map(|()| None).map_err(|_| SendError::Failed(self.shared.failure()));
        }
        let (mut guard, reply) =
            CancelGuard::add(&self.shared, message).map_err(SendError::Ended)?;
        permit.send(Outgoing { body, expects: Expects::Reply(guard.number) });
        let reply = reply.await;
        guard.is_complete = true;
        match reply {
            Ok(Ok(body)) => Ok(Some(body)),
            Ok(Err(failure)) => Err(SendError::Failed(failure)),
            // The runtime of the connection has shut down.
            Err(_) => Err(SendError::Failed(self.shared.failure())),
        }
    }
}

/// Cancels a message if it is dropped before the reply arrives.
struct CancelGuard {
    shared: Arc<Shared>,
    number: u64,
    is_complete: bool,
}

type ReplyReceiver = oneshot::Receiver<super::reply_table::Reply>;

impl CancelGuard {
    fn add(shared: &Arc<Shared>, message: &Message) -> Result<(Self, ReplyReceiver), Failure> {
        let mut state = shared.state();
        if let Some(ended) = &state.ended {
            return Err(ended.clone());
        }
        let (number, reply) = state.replies.add(&message.ids);
        Ok((Self { shared: Arc::clone(shared), number, is_complete: false }, reply))
    }
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        if self.is_complete {
            return;
        }
        let mut state = self.shared.state();
        // A message that has not been sent yet is not sent.
        if let Some(keys) = state.replies.abandon(self.number) {
            state.control.cancels.push(keys);
            drop(state);
            self.shared.has_control.notify_one();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refuse(&self, id: Key) {
        let mut state = self.state();
        if state.control.refusals.len() == MAX_REFUSALS {
            state.control.refusals.pop_front();
        }
        state.control.refusals.push_back(id);
        drop(state);
        self.has_control.notify_one();
    }

    /// Handles a message from the server.
    fn receive(&self, body: Bytes) {
        let delivered = match Recipient::of(&body) {
            Ok(Recipient::Client(None)) => {
                return tracing::debug!(target = %self.target, "ignoring a notification");
            }
            Ok(Recipient::Client(Some(id))) => return self.refuse(id),
            Ok(recipient) => self.state().replies.deliver(&recipient, body),
            Err(error) => Err(error),
        };
        if let Err(error) = delivered {
            tracing::debug!(target = %self.target, %error, "invalid message; failing all pending calls");
            self.state().replies.fail(&error.into());
        }
    }

    /// The reason why the connection has ended.
    fn failure(&self) -> Failure {
        let ended = self.state().ended.clone();
        ended.unwrap_or_else(|| self.broken(None))
    }

    fn broken(&self, source: Option<Cause>) -> Failure {
        TransportError::Broken { target: self.target.clone(), source }.into()
    }
}

/// Sends and receives messages until the connection ends.
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
        exit_cause: impl Future<Output = Option<Cause>>,
    ) {
        let Self { shared, mut outgoing, limit } = self;
        let mut guard = EndGuard { shared: Arc::clone(&shared), failure: None };
        let end = tokio::select! {
            biased;
            end = read(&shared, &mut reader, limit) => end,
            written = write(&shared, &mut outgoing, writer) => match written {
                // The connection was dropped.
                Ok(()) => return,
                Err(error) => {
                    let last = timeout(FINAL_READ, read(&shared, &mut reader, limit)).await;
                    match last.unwrap_or_else(|_| ReadEnd::Broken(None)) {
                        ReadEnd::Broken(None) => ReadEnd::Broken(Some(Arc::new(error))),
                        end => end,
                    }
                }
            },
        };
        drop(reader);
        let cause = exit_cause.await;
        let failure = match end {
            ReadEnd::Broken(source) => shared.broken(cause.or(source)),
            ReadEnd::Invalid(failure) => failure,
        };
        guard.failure = Some(failure);
    }
}

/// Fails the pending calls when it is dropped, also if the driver is cancelled.
struct EndGuard {
    shared: Arc<Shared>,
    failure: Option<Failure>,
}

impl Drop for EndGuard {
    fn drop(&mut self) {
        let failure = self.failure.take().unwrap_or_else(|| self.shared.broken(None));
        let mut state = self.shared.state();
        state.replies.fail(&failure);
        state.ended = Some(failure);
    }
}

/// The reason why reading has ended.
enum ReadEnd {
    Broken(Option<Cause>),
    /// The input is invalid.
    Invalid(Failure),
}

async fn read<R: AsyncRead + Unpin>(
    shared: &Shared,
    reader: &mut FrameReader<R>,
    limit: usize,
) -> ReadEnd {
    loop {
        match reader.next().await {
            Ok(Some(Frame::Message(body, _))) => shared.receive(body),
            // A client has no memory budget, so the message is too large.
            Ok(Some(Frame::Skipped(..))) => {
                let target = shared.target.clone();
                return ReadEnd::Invalid(TransportError::TooLarge { target, limit }.into());
            }
            Ok(None) => return ReadEnd::Broken(None),
            Err(ReadError::Io(error)) => return ReadEnd::Broken(Some(Arc::new(error))),
            Err(error @ ReadError::Header(_)) => {
                let (reason, beginning) = (error.to_string(), String::new());
                return ReadEnd::Invalid(ProtocolError::Malformed { reason, beginning }.into());
            }
        }
    }
}

/// Writes messages until the connection is dropped.
async fn write<W: AsyncWrite + Unpin>(
    shared: &Shared,
    outgoing: &mut mpsc::Receiver<Outgoing>,
    mut writer: FrameWriter<W>,
) -> io::Result<()> {
    let mut queued = Vec::with_capacity(MAX_QUEUED);
    loop {
        let is_last = tokio::select! {
            count = outgoing.recv_many(&mut queued, MAX_QUEUED) => count == 0,
            () = shared.has_control.notified() => false,
        };
        queued.extend(std::iter::from_fn(|| outgoing.try_recv().ok()).take(MAX_QUEUED));
        // Cancellations that precede these messages are queued by now. They are written first, because a
        // server at its limit of calls may not read further calls.
        let control = std::mem::take(&mut shared.state().control);
        for text in control.texts() {
            writer.write(&text).await?;
        }
        let mut written = Vec::new();
        for Outgoing { body, expects } in queued.drain(..) {
            let is_wanted = match expects {
                Expects::Reply(number) => shared.state().replies.mark_sent(number),
                Expects::Nothing(sender) => {
                    shared.state().replies.mark_notification_sent();
                    written.push(sender);
                    true
                }
            };
            if is_wanted {
                writer.write(&body).await?;
            }
        }
        writer.flush().await?;
        for sender in written {
            // The caller may have been cancelled.
            let _ = sender.send(());
        }
        if is_last {
            return writer.finish().await;
        }
    }
}

impl ControlMessages {
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
