//! Messages of any protocol on a stream: their framing, limits and deadlines, and the end of the stream.

use std::io;
use std::pin::pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use trunkline_client::frame::{Frame, FrameReader, FrameWriter, ReadError};
use trunkline_core::error::{ErrorObject, code};
use trunkline_core::format::Format;
use trunkline_core::limits::MemoryBudget;

use super::config::StreamConfig;
use super::request::{Message, Request};

/// The server's side of a protocol on a stream. What it sends is a [`Stream`] of [`Message`]s, of which each
/// item is written at once. It ends after the protocol has been dropped.
pub trait Protocol: Send {
    /// Takes a message, or the error that answers one that cannot be read. Further messages are read when
    /// the future has completed.
    fn take(
        &mut self,
        message: Result<Bytes, ErrorObject>,
        format: Format,
    ) -> impl Future<Output = ()> + Send;

    /// Waits until all calls have ended. No further messages are taken.
    fn finish(self) -> impl Future<Output = ()> + Send;

    /// A function that counts the requests without an answer.
    fn unanswered(&self) -> impl Fn() -> usize + Send + Sync + 'static;

    /// The budget that messages count in.
    fn memory(&self) -> &MemoryBudget;
}

/// The reason that serving ended before its stream did, or with calls cut off.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The input cannot be read.
    #[error("the input cannot be read")]
    Read(#[source] io::Error),
    /// The client has closed the output, or does not read it.
    #[error("the output cannot be written")]
    Write(#[source] io::Error),
    /// The input cannot be split into messages. The client has been sent this error.
    #[error("the input is not a sequence of messages: {reason}")]
    Framing {
        /// The defect.
        reason: String,
    },
    /// Calls did not end, or replies were not read, within the drain timeout.
    #[error("{calls} calls were cut off: they did not end in time")]
    Unfinished {
        /// The number of requests without an answer.
        calls: usize,
    },
    /// The system cannot start a thread.
    #[error("no thread for reading and writing")]
    Thread(#[source] io::Error),
}

/// Serves a protocol until the input ends or `config.closing` is cancelled, and all requests are answered.
/// `writing` [writes](write) the protocol's messages.
pub(crate) async fn serve(
    protocol: impl Protocol,
    input: impl AsyncRead + Send + Unpin,
    writing: impl Future<Output = io::Result<()>>,
    config: &StreamConfig,
) -> Result<(), StreamError> {
    let unanswered = protocol.unanswered();
    let draining = config.closing.child_token();
    let reader = FrameReader::new(input, config.framing, config.message_bytes);
    let reader = reader.with_memory_budget(protocol.memory().clone());
    // The messages end, and with them the writing, when the protocol does.
    let taking = Box::pin(async { Ok(take(protocol, reader, config, &draining).await) });
    let writing = async { writing.await.map_err(StreamError::Write) };
    let served = async { tokio::try_join!(taking, writing) };
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

async fn take<R: AsyncRead + Unpin>(
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
        let (message, named) = match read {
            Ok(Some(Frame::Message(text, named))) => (Ok(text), named),
            Ok(Some(Frame::TooLarge(named))) => (Err(too_large(config.message_bytes)), named),
            Ok(Some(Frame::OutOfMemory(error, named))) => (Err(error.into()), named),
            Ok(None) => break Ok(()),
            Err(ReadError::Io(error)) => break Err(StreamError::Read(error)),
            Err(error @ ReadError::Header(_)) => {
                let reason = error.to_string();
                let data = serde_json::json!({ "reason": reason });
                let error = ErrorObject::new(code::PARSE_ERROR, "Parse error").with_data(&data);
                protocol.take(Err(error), config.format).await;
                break Err(StreamError::Framing { reason });
            }
        };
        let format = named.unwrap_or(config.format);
        let is_blank = message.as_ref().is_ok_and(|text| config.framing.is_blank(text, format));
        if !is_blank {
            protocol.take(message, format).await;
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
    let data = serde_json::json!({ "reason": "the message is too large", "limit_bytes": limit });
    ErrorObject::new(code::INVALID_REQUEST, "Invalid Request").with_data(&data)
}

/// Writes messages until they end.
pub(crate) async fn write(
    messages: impl Stream<Item = Vec<Message>>,
    mut writer: FrameWriter<impl AsyncWrite + Unpin>,
) -> io::Result<()> {
    let mut messages = pin!(messages);
    while let Some(together) = messages.next().await {
        for message in &together {
            writer.write_as(&message.text, message.format).await?;
        }
        writer.flush().await?;
        together.into_iter().filter_map(|message| message.request).for_each(Request::finish);
    }
    writer.finish().await
}
