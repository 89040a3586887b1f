//! Messages into the bytes of a stream.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;
use trunkline_core::format::Format;

use super::framing::Framing;
use super::head::Head;

/// Up to so many bytes are written together.
const TOGETHER: usize = 16 << 10;

/// Writes messages: small ones together, when they are [flushed](Self::flush).
pub struct FrameWriter<W> {
    output: W,
    framing: Framing,
    /// How long the reader may take nothing.
    patience: Duration,
    buffer: Vec<u8>,
}

impl<W: AsyncWrite + Unpin> FrameWriter<W> {
    /// A writer that waits for at most `patience` for its reader to take a message.
    pub fn new(output: W, framing: Framing, patience: Duration) -> Self {
        Self { output, framing, patience, buffer: Vec::new() }
    }

    /// Adds a message in JSON.
    pub(crate) async fn write(&mut self, json: &[u8]) -> io::Result<()> {
        self.write_named(json, None).await
    }

    /// Adds a message, whose head tells its format if that is named.
    pub async fn write_named(&mut self, text: &[u8], named: Option<Format>) -> io::Result<()> {
        if self.framing == Framing::Headers {
            let head = Head::text(text.len(), named);
            self.buffer.extend_from_slice(head.as_bytes());
        }
        if self.buffer.len() + text.len() > TOGETHER {
            self.flush_buffer().await?;
        }
        let is_of_lines =
            self.framing == Framing::Lines && memchr::memchr2(b'\n', b'\r', text).is_some();
        if is_of_lines {
            // Line breaks stand between tokens only, where any space will do: in strings they are
            // written as escapes.
            let space = |byte: &u8| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte };
            self.buffer.extend(text.iter().map(space));
        } else if text.len() > TOGETHER {
            write_all(&mut self.output, text, self.patience).await?;
        } else {
            self.buffer.extend_from_slice(text);
        }
        if self.framing == Framing::Lines {
            self.buffer.push(b'\n');
        }
        Ok(())
    }

    /// Writes what has been added.
    pub async fn flush(&mut self) -> io::Result<()> {
        self.flush_buffer().await?;
        in_time(self.patience, self.output.flush()).await
    }

    /// Says that nothing further will be written.
    pub async fn finish(&mut self) -> io::Result<()> {
        self.flush().await?;
        in_time(self.patience, self.output.shutdown()).await
    }

    async fn flush_buffer(&mut self) -> io::Result<()> {
        write_all(&mut self.output, &self.buffer, self.patience).await?;
        self.buffer.clear();
        // A large message may have passed through.
        self.buffer.shrink_to(TOGETHER);
        Ok(())
    }
}

/// Writes all bytes, however long that takes, as long as some are taken in time.
async fn write_all(
    output: &mut (impl AsyncWrite + Unpin),
    mut bytes: &[u8],
    patience: Duration,
) -> io::Result<()> {
    while !bytes.is_empty() {
        match in_time(patience, output.write(bytes)).await? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => bytes = &bytes[count..],
        }
    }
    Ok(())
}

async fn in_time<T>(
    patience: Duration,
    written: impl Future<Output = io::Result<T>>,
) -> io::Result<T> {
    match timeout(patience, written).await {
        Ok(written) => written,
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}
