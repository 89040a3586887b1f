//! Writes messages to a byte stream.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;
use trunkline_core::format::Format;

use super::framing::Framing;
use super::header::Header;

/// The maximum number of buffered bytes.
const BUFFER_BYTES: usize = 16 << 10;

/// A writer of messages. Small messages are buffered until they are [flushed](Self::flush).
pub struct FrameWriter<W> {
    output: W,
    framing: Framing,
    /// The maximum time without progress.
    timeout: Duration,
    buffer: Vec<u8>,
}

impl<W: AsyncWrite + Unpin> FrameWriter<W> {
    /// Creates a writer that fails with `TimedOut` if the peer reads nothing for `timeout`.
    pub fn new(output: W, framing: Framing, timeout: Duration) -> Self {
        Self { output, framing, timeout, buffer: Vec::new() }
    }

    /// Adds a message in JSON.
    pub(crate) async fn write(&mut self, json: &[u8]) -> io::Result<()> {
        self.write_as(json, None).await
    }

    /// Adds a message. A given format is sent as `Content-Type` with [`Framing::Headers`].
    pub async fn write_as(&mut self, text: &[u8], format: Option<Format>) -> io::Result<()> {
        if self.framing == Framing::Headers {
            let header = Header::text(text.len(), format);
            self.buffer.extend_from_slice(header.as_bytes());
        }
        if self.buffer.len() + text.len() > BUFFER_BYTES {
            self.flush_buffer().await?;
        }
        let has_line_breaks =
            self.framing == Framing::Lines && memchr::memchr2(b'\n', b'\r', text).is_some();
        if has_line_breaks {
            // Line breaks occur only between tokens, where a space is equivalent: strings contain them as
            // escapes.
            let space = |byte: &u8| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte };
            self.buffer.extend(text.iter().map(space));
        } else if text.len() > BUFFER_BYTES {
            write_all(&mut self.output, text, self.timeout).await?;
        } else {
            self.buffer.extend_from_slice(text);
        }
        if self.framing == Framing::Lines {
            self.buffer.push(b'\n');
        }
        Ok(())
    }

    /// Writes all buffered messages.
    pub async fn flush(&mut self) -> io::Result<()> {
        self.flush_buffer().await?;
        within(self.timeout, self.output.flush()).await
    }

    /// Flushes the writer and shuts down the output.
    pub async fn finish(&mut self) -> io::Result<()> {
        self.flush().await?;
        within(self.timeout, self.output.shutdown()).await
    }

    async fn flush_buffer(&mut self) -> io::Result<()> {
        write_all(&mut self.output, &self.buffer, self.timeout).await?;
        self.buffer.clear();
        // A large message may have grown the buffer.
        self.buffer.shrink_to(BUFFER_BYTES);
        Ok(())
    }
}

/// Writes all bytes. The timeout applies to each write, not to the whole.
async fn write_all(
    output: &mut (impl AsyncWrite + Unpin),
    mut bytes: &[u8],
    limit: Duration,
) -> io::Result<()> {
    while !bytes.is_empty() {
        match within(limit, output.write(bytes)).await? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => bytes = &bytes[count..],
        }
    }
    Ok(())
}

async fn within<T>(limit: Duration, written: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    match timeout(limit, written).await {
        Ok(written) => written,
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}
