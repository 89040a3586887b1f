//! Messages out of the bytes of a stream.

use std::io;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use memchr::{memchr, memmem};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::{Instant, timeout};
use trunkline_core::format::Format;
use trunkline_core::limits::{MemoryBudget, OutOfMemory, Reservation};

use super::framing::Framing;
use super::head::Head;

/// How much is read at once.
const CHUNK: usize = 16 << 10;
/// How many bytes the head of a message may have.
const MAX_HEAD: usize = 4 << 10;

/// Reads messages. What a message has over the limit is read and forgotten.
pub struct FrameReader<R> {
    input: R,
    framing: Framing,
    limit: usize,
    buffer: BytesMut,
    next: Next,
    /// When the message that has begun and is not complete was first waited for.
    begun: Option<Instant>,
    /// The memory budget, on the server's side.
    memory: Option<MemoryBudget>,
    /// For the message that has begun and is not complete.
    reserved: Option<Reservation>,
}

/// What the buffer begins with.
enum Next {
    /// A line or a head, of which so many bytes were looked at in vain.
    Unknown { seen: usize },
    /// A message of that length, in the format that its head names.
    Body { length: usize, format: Option<Format> },
    /// The rest of a line over the limit.
    SkippedLine,
    /// So many bytes of a message over the limit.
    Skipped { left: u64 },
}

/// What was read, and the format that its head names, if it has a head that does.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// A message.
    Message(Bytes, Option<Format>),
    /// The message exceeds the maximum size and is skipped.
    TooLarge(Option<Format>),
    /// The message exceeds the memory budget and is skipped.
    OutOfMemory(OutOfMemory, Option<Format>),
}

/// Why nothing further can be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Reading failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Where the next message begins cannot be told.
    #[error("the head of a message is malformed: {0}")]
    Head(&'static str),
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    /// A reader of messages of at most `limit` bytes.
    pub fn new(input: R, framing: Framing, limit: usize) -> Self {
        Self {
            input,
            framing,
            limit,
            buffer: BytesMut::new(),
            begun: None,
            next: Next::Unknown { seen: 0 },
            memory: None,
            reserved: None,
        }
    }

    /// Counts messages in a memory budget, as long as something of them is referenced.
    pub fn counted_in(mut self, memory: MemoryBudget) -> Self {
        self.memory = Some(memory);
        self
    }

    /// The next message; none at the end.
    ///
    /// # Cancel safety
    /// What has been read stays for the next call.
    pub(crate) async fn next(&mut self) -> Result<Option<Frame>, ReadError> {
        loop {
            if let Some(frame) = self.take()? {
                return Ok(Some(frame));
            }
            if let Some(refused) = self.reserve() {
                return Ok(Some(refused));
            }
            self.buffer.reserve(CHUNK);
            if self.input.read_buf(&mut self.buffer).await? == 0 {
                return self.take_last();
            }
        }
    }

    /// The same; a message that has begun has so long to be complete.
    ///
    /// # Cancel safety
    /// What has been read stays for the next call, and its time goes on.
    pub async fn next_within(&mut self, patience: Duration) -> Result<Option<Frame>, ReadError> {
        loop {
            if let Some(frame) = self.take()? {
                self.begun = None;
                return Ok(Some(frame));
            }
            if let Some(refused) = self.reserve() {
                return Ok(Some(refused));
            }
            self.buffer.reserve(CHUNK);
            let count = if self.is_between() {
                self.begun = None;
                self.input.read_buf(&mut self.buffer).await?
            } else {
                let begun = *self.begun.get_or_insert_with(Instant::now);
                let left = patience.saturating_sub(begun.elapsed());
                let read = timeout(left, self.input.read_buf(&mut self.buffer)).await;
                read.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??
            };
            if count == 0 {
                return self.take_last();
            }
        }
    }

    /// Whether no message has begun.
    fn is_between(&self) -> bool {
        self.buffer.is_empty() && matches!(self.next, Next::Unknown { .. })
    }

    /// A message that is there already.
    fn take(&mut self) -> Result<Option<Frame>, ReadError> {
        while !self.buffer.is_empty() {
            match self.next {
                Next::Unknown { seen } => match self.framing {
                    Framing::Lines => match self.line(seen) {
                        Found::Frame(frame) => return Ok(Some(frame)),
                        Found::Nothing => {}
                        Found::Incomplete => return Ok(None),
                    },
                    Framing::Headers => {
                        let Some(Head { length, format }) = self.head(seen)? else {
                            return Ok(None);
                        };
                        self.next = match usize::try_from(length) {
                            Ok(length) if length <= self.limit => Next::Body { length, format },
                            _ => Next::Skipped { left: length },
                        };
                        match self.next {
                            Next::Skipped { .. } => return Ok(Some(Frame::TooLarge(format))),
                            _ if length == 0 => self.next = Next::Unknown { seen: 0 },
                            _ => {}
                        }
                    }
                },
                Next::Body { length, .. } if self.buffer.len() < length => return Ok(None),
                Next::Body { length, format } => {
                    self.next = Next::Unknown { seen: 0 };
                    let message = self.split(length);
                    return Ok(Some(self.message(message, format)));
                }
                Next::SkippedLine => match memchr(b'\n', &self.buffer) {
                    Some(end) => self.skip(end + 1),
                    None => self.buffer.clear(),
                },
                Next::Skipped { left } => {
                    let here = left.min(self.buffer.len() as u64);
                    self.skip(here as usize);
                    if left > here {
                        self.next = Next::Skipped { left: left - here };
                    }
                }
            }
        }
        Ok(None)
    }

    fn line(&mut self, seen: usize) -> Found {
        let Some(end) = memchr(b'\n', &self.buffer[seen..]).map(|at| seen + at) else {
            self.next = Next::Unknown { seen: self.buffer.len() };
            if self.buffer.len() <= self.limit {
                return Found::Incomplete;
            }
            self.buffer = BytesMut::new();
            self.next = Next::SkippedLine;
            return Found::Frame(Frame::TooLarge(None));
        };
        self.next = Next::Unknown { seen: 0 };
        let line = self.split(end + 1);
        let line = line.slice_ref(line.trim_ascii());
        match line.len() {
            0 => Found::Nothing,
            length if length > self.limit => Found::Frame(Frame::TooLarge(None)),
            _ => Found::Frame(self.message(line, None)),
        }
    }

    /// What a head announces, once all of it is there.
    fn head(&mut self, seen: usize) -> Result<Option<Head>, ReadError> {
        // The end may have begun in what was looked at.
        let from = seen.saturating_sub(END.len() - 1);
        match memmem::find(&self.buffer[from..], END) {
            Some(at) if from + at <= MAX_HEAD => {
                let head = self.buffer.split_to(from + at + END.len());
                Head::parse(&head[..from + at]).map(Some).map_err(ReadError::Head)
            }
            None if self.buffer.len() <= MAX_HEAD => {
                self.next = Next::Unknown { seen: self.buffer.len() };
                Ok(None)
            }
            _ => Err(ReadError::Head("it is longer than 4 KiB")),
        }
    }

    /// What stands there when the input ends: the last line may lack its end.
    fn take_last(&mut self) -> Result<Option<Frame>, ReadError> {
        let rest = self.buffer.split().freeze();
        match (&self.next, self.framing) {
            (Next::SkippedLine, _) => Ok(None),
            (Next::Unknown { .. }, Framing::Lines) => {
                let line = rest.slice_ref(rest.trim_ascii());
                Ok((!line.is_empty()).then(|| self.message(line, None)))
            }
            (Next::Unknown { .. }, Framing::Headers) if rest.is_empty() => Ok(None),
            _ => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
        }
    }

    /// Reserves memory for a message that has begun. Without it, the message is skipped and refused.
    fn reserve(&mut self) -> Option<Frame> {
        let memory = self.memory.as_ref().filter(|_| self.buffer.len() > CHUNK)?;
        let count = self.buffer.len();
        let grown = match &mut self.reserved {
            Some(reserved) => reserved.resize(count),
            None => memory.reserve(count).map(|reserved| self.reserved = Some(reserved)),
        };
        let error = grown.err()?;
        self.reserved = None;
        let format = match self.next {
            Next::Unknown { .. } => {
                self.next = Next::SkippedLine;
                None
            }
            Next::Body { length, format } => {
                self.next = Next::Skipped { left: length.saturating_sub(count) as u64 };
                format
            }
            Next::SkippedLine | Next::Skipped { .. } => return None,
        };
        self.buffer = BytesMut::new();
        Some(Frame::OutOfMemory(error, format))
    }

    /// A message, which is counted if there is memory for it.
    fn message(&mut self, text: Bytes, format: Option<Format>) -> Frame {
        let Some(memory) = &self.memory else {
            return Frame::Message(text, format);
        };
        let count = text.len() + MemoryBudget::PER_REQUEST;
        let reserved = match self.reserved.take() {
            Some(mut reserved) => reserved.resize(count).map(|()| reserved),
            None => memory.reserve(count),
        };
        match reserved {
            Ok(reserved) => Frame::Message(reserved.attach(text), format),
            Err(error) => Frame::OutOfMemory(error, format),
        }
    }

    fn skip(&mut self, count: usize) {
        drop(self.buffer.split_to(count));
        self.next = Next::Unknown { seen: 0 };
    }

    /// Takes a message out. A large one takes its memory along, and does not keep it in the buffer.
    fn split(&mut self, count: usize) -> Bytes {
        let message = self.buffer.split_to(count).freeze();
        if count > CHUNK {
            self.buffer = BytesMut::from(&self.buffer[..]);
        }
        message
    }
}

/// What was found at the buffer's beginning.
enum Found {
    Frame(Frame),
    /// A blank line.
    Nothing,
    Incomplete,
}

const END: &[u8] = b"\r\n\r\n";

#[cfg(test)]
#[path = "reader/tests.rs"]
mod tests;
