//! The transport of messages of any protocol: framing, limits, timeouts and the end of the stream.

use std::io;
use std::pin::pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use trunkline_client::frame::{
    Frame, FrameReader, FrameWriter, Framing, ReadError, Reason, Skipped,
};
use trunkline_core::error::{ErrorObject, code};
use trunkline_core::format::Format;
use trunkline_core::limits::MemoryBudget;
use trunkline_core::unread_id::UnreadId;

use super::config::StreamConfig;
use super::request::{Message, Request};

/// The server side of a protocol on a stream. It sends messages through a separate [`Stream`] of lists of
/// [`Message`]s; each list is written and flushed together. The stream ends after the protocol has been dropped.
pub trait Protocol: Send {
    /// Whether [refused](Refused) lines have ids. Such a line is read to its end before it is refused.
    const FINDS_IDS: bool = false;

    /// The formats that the header of a message may name.
    fn formats(&self) -> &'static [Format] {
        &[Format::Json]
    }

    /// Receives a message, or the refusal of a message that cannot be read. The next message is read when the
    /// future has completed.
    fn receive(
        &mut self,
        message: Result<Bytes, Refused>,
        format: Format,
    ) -> impl Future<Output = ()> + Send;

    /// Waits until all calls have ended. No further messages are received.
    fn finish(self) -> impl Future<Output = ()> + Send;

    /// Returns a function that counts unanswered requests.
    fn unanswered(&self) -> impl Fn() -> usize + Send + Sync + 'static;

    /// The memory budget for messages.
    fn memory(&self) -> &MemoryBudget;
}

/// The refusal of a message that cannot be read.
#[derive(Debug)]
pub struct Refused {
    /// The error for the sender.
    pub error: ErrorObject,
    /// The id of the message, if the protocol [finds](Protocol::FINDS_IDS) ids.
    pub id: Option<UnreadId>,
}

/// The error that ended serving a stream.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The input cannot be read.
    #[error("failed to read the input")]
    Read(#[source] io::Error),
    /// The client has closed the output or does not read it.
    #[error("failed to write the output")]
    Write(#[source] io::Error),
    /// The input cannot be split into messages. This error was sent to the client.
    #[error("invalid framing of the input: {reason}")]
    Framing {
        /// The defect.
        reason: String,
    },
    /// Calls did not end, or replies were not read, within the drain timeout.
    #[error("{calls} calls did not end in time and were aborted")]
    Unfinished {
        /// The number of unanswered requests.
        calls: usize,
    },
    /// A thread cannot be started.
    #[error("cannot start a thread for reading or writing")]
    Thread(#[source] io::Error),
}

/// Serves a protocol until the input ends or `config.closing` is cancelled, and all requests are answered.
/// `writing` [writes](write) the messages of the protocol.
pub(crate) async fn serve<P: Protocol>(
    protocol: P,
    input: impl AsyncRead + Send + Unpin,
    writing: impl Future<Output = io::Result<()>>,
    config: &StreamConfig,
) -> Result<(), StreamError> {
    let unanswered = protocol.unanswered();
    let draining = config.closing.child_token();
    let reader = FrameReader::new(input, config.framing, config.message_bytes);
    let reader = reader.with_formats(protocol.formats());
    let reader = reader.with_memory_budget(protocol.memory().clone());
    let reader = if P::FINDS_IDS { reader.finding_ids() } else { reader };
    // When the protocol is dropped, its messages end, and so does `writing`.
    let reading = Box::pin(async { Ok(read(protocol, reader, config, &draining).await) });
    let writing = async { writing.await.map_err(StreamError::Write) };
    let served = async { tokio::try_join!(reading, writing) };
    let overdue = async {
        draining.cancelled().await;
        sleep(config.drain_timeout).await;
    };
    tokio::select! {
        biased;
        served = served => served?.0,
        () = overdue => Err(StreamError::Unfinished { calls: unanswered() }),
    }
}

async fn read<R: AsyncRead + Unpin>(
    mut protocol: impl Protocol,
    mut reader: FrameReader<R>,
    config: &StreamConfig,
    draining: &CancellationToken,
) -> Result<(), StreamError> {
    let unanswered = protocol.unanswered();
    let end = loop {
        let read = tokio::select! {
            biased;
            () = config.closing.cancelled() => break Ok(()),
            read = next(&mut reader, config, &unanswered) => read,
        };
        let (message, format) = match read {
            Ok(Some(Frame::Message(text, format))) => (Ok(text), format),
            Ok(Some(Frame::Skipped(Skipped { reason, id }, format))) => {
                let error = match reason {
                    Reason::TooLarge => too_large(config.message_bytes),
                    Reason::OutOfMemory(error) => error.into(),
                };
                (Err(Refused { error, id }), format)
            }
            Ok(None) => break Ok(()),
            Err(ReadError::Io(error)) => break Err(StreamError::Read(error)),
            Err(error @ ReadError::Header(_)) => {
                let reason = error.to_string();
                let data = serde_json::json!({ "reason": reason });
                let error = ErrorObject::new(code::PARSE_ERROR, "Parse error").with_data(&data);
                protocol.receive(Err(Refused { error, id: None }), config.format).await;
                break Err(StreamError::Framing { reason });
            }
        };
        let format = format.unwrap_or(config.format);
        let is_line = config.framing == Framing::Lines;
        if !(is_line && message.as_ref().is_ok_and(|text| format.is_blank(text))) {
            protocol.receive(message, format).await;
        }
    };
    draining.cancel();
    protocol.finish().await;
    end
}

async fn next<R: AsyncRead + Unpin>(
    reader: &mut FrameReader<R>,
    config: &StreamConfig,
    unanswered: impl Fn() -> usize,
) -> Result<Option<Frame>, ReadError> {
    let Some(idle) = config.idle_timeout else {
        return reader.next_within(config.message_timeout).await;
    };
    loop {
        match timeout(idle, reader.next_within(config.message_timeout)).await {
            Ok(read) => return read,
            // A client that waits for a reply is not idle.
            Err(_) if unanswered() > 0 => {}
            Err(_) => return Ok(None),
        }
    }
}

fn too_large(limit: usize) -> ErrorObject {
    let data = serde_json::json!({ "reason": "message is too large", "limit_bytes": limit });
    ErrorObject::new(code::INVALID_REQUEST, "Invalid Request").with_data(&data)
}

/// Writes messages until they end.
pub(crate) async fn write(
    messages: impl Stream<Item = Vec<Message>>,
    mut writer: FrameWriter<impl AsyncWrite + Unpin>,
) -> io::Result<()> {
    let mut messages = pin!(messages);
    while let Some(batch) = messages.next().await {
        for message in &batch {
            writer.write_as(&message.text, message.format).await?;
        }
        writer.flush().await?;
        batch.into_iter().filter_map(|message| message.request).for_each(Request::finish);
    }
    writer.finish().await
}
