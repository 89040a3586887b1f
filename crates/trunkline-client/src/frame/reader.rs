//! Reads messages from a byte stream.

use std::io;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use memchr::{memchr, memmem};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::{Instant, timeout};
use trunkline_core::format::Format;
use trunkline_core::limits::{MemoryBudget, OutOfMemory, Reservation};
use trunkline_core::unread_id::{IdScanner, UnreadId};

use super::framing::Framing;
use super::header::Header;

/// The number of bytes per read.
const CHUNK: usize = 16 << 10;
/// The maximum size of a header part, in bytes.
const MAX_HEADER: usize = 4 << 10;

/// A reader of messages. Skips messages over the limit.
pub struct FrameReader<R> {
    input: R,
    framing: Framing,
    limit: usize,
    buffer: BytesMut,
    next: Next,
    /// The time when the reader started to wait for the rest of an incomplete message.
    started: Option<Instant>,
    /// The memory budget, on servers.
    memory: Option<MemoryBudget>,
    /// The reservation for an incomplete message.
    reserved: Option<Reservation>,
    /// Whether lines over a limit are read to their end for their ids.
    finds_ids: bool,
    /// The formats of headers.
    formats: &'static [Format],
}

/// The content at the start of the buffer.
enum Next {
    /// A line or a header part. Its end is not in the first `seen` bytes.
    Unknown { seen: usize },
    /// A message of this length, in the format of its header.
    Body { length: usize, format: Option<Format> },
    /// The rest of a line over a limit, and the refusal that is returned at its end.
    SkippedLine(Option<Box<(Reason, IdScanner)>>),
    /// The remaining bytes of a message over the limit.
    Skipped { left: u64 },
}

/// A message that was read or skipped, and the format of its header, if any.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// A message.
    Message(Bytes, Option<Format>),
    /// The message is skipped.
    Skipped(Skipped, Option<Format>),
}

/// A message that was skipped.
#[derive(Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The reason.
    pub reason: Reason,
    /// The id, if the reader [finds](FrameReader::finding_ids) ids.
    pub id: Option<UnreadId>,
}

/// The reason why a message is skipped.
#[derive(Debug, PartialEq, Eq)]
pub enum Reason {
    /// The message exceeds the maximum size.
    TooLarge,
    /// The message exceeds the memory budget.
    OutOfMemory(OutOfMemory),
}

/// The error that ends the input.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Reading failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The header part is malformed, so the start of the next message is unknown.
    #[error("malformed message header: {0}")]
    Header(&'static str),
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    /// Creates a reader of messages of at most `limit` bytes.
    pub fn new(input: R, framing: Framing, limit: usize) -> Self {
        Self {
            input,
            framing,
            limit,
            buffer: BytesMut::new(),
            started: None,
            next: Next::Unknown { seen: 0 },
            memory: None,
            reserved: None,
            finds_ids: false,
            formats: &[Format::Json],
        }
    }

    /// Sets the formats that the header of a message may name. Default: JSON.
    pub fn with_formats(self, formats: &'static [Format]) -> Self {
        Self { formats, ..self }
    }

    /// Finds the ids of skipped lines, also after the limit: many clients write them last. A skipped line is returned at
    /// its end instead of at the limit.
    pub fn finding_ids(mut self) -> Self {
        self.finds_ids = true;
        self
    }

    /// Counts messages in a memory budget while any part of them is referenced.
    pub fn with_memory_budget(mut self, memory: MemoryBudget) -> Self {
        self.memory = Some(memory);
        self
    }

    /// Returns the next message, or `None` at the end of the stream.
    ///
    /// # Cancel safety
    /// Data that has been read is kept for the next call.
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

    /// Returns the next message, or `None` at the end of the stream. Fails with `TimedOut` if a message is
    /// incomplete `limit` after its first bytes.
    ///
    /// # Cancel safety
    /// Data that has been read is kept for the next call, and the time continues to run.
    pub async fn next_within(&mut self, limit: Duration) -> Result<Option<Frame>, ReadError> {
        loop {
            if let Some(frame) = self.take()? {
                self.started = None;
                return Ok(Some(frame));
            }
            if let Some(refused) = self.reserve() {
                return Ok(Some(refused));
            }
            self.buffer.reserve(CHUNK);
            let count = if self.is_between() {
                self.started = None;
                self.input.read_buf(&mut self.buffer).await?
            } else {
                let started = *self.started.get_or_insert_with(Instant::now);
                let left = limit.saturating_sub(started.elapsed());
                let read = timeout(left, self.input.read_buf(&mut self.buffer)).await;
                read.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??
            };
            if count == 0 {
                return self.take_last();
            }
        }
    }

    /// Whether the stream is between messages.
    fn is_between(&self) -> bool {
        self.buffer.is_empty() && matches!(self.next, Next::Unknown { .. })
    }

    /// Takes the next message from the buffer, if it is complete.
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
                        let Some(Header { length, format }) = self.header(seen)? else {
                            return Ok(None);
                        };
                        self.next = match usize::try_from(length) {
                            Ok(length) if length <= self.limit => Next::Body { length, format },
                            _ => Next::Skipped { left: length },
                        };
                        match self.next {
                            Next::Skipped { .. } => {
                                return Ok(Some(Frame::skipped(Reason::TooLarge, format)));
                            }
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
                Next::SkippedLine(ref mut refusal) => {
                    let end = memchr(b'\n', &self.buffer);
                    if let Some(refusal) = refusal {
                        refusal.1.scan(&self.buffer[..end.unwrap_or(self.buffer.len())]);
                    }
                    let Some(end) = end else {
                        self.buffer.clear();
                        continue;
                    };
                    let refusal = refusal.take();
                    self.skip(end + 1);
                    if let Some(refusal) = refusal {
                        return Ok(Some(refused(*refusal)));
                    }
                }
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
            return match self.skip_line(Reason::TooLarge) {
                Some(frame) => Found::Frame(frame),
                None => Found::Incomplete,
            };
        };
        self.next = Next::Unknown { seen: 0 };
        let line = self.split(end + 1);
        let line = line.slice_ref(line.trim_ascii());
        match line.len() {
            0 => Found::Nothing,
            length if length > self.limit => {
                Found::Frame(self.skipped(Reason::TooLarge, &line, None))
            }
            _ => Found::Frame(self.message(line, None)),
        }
    }

    /// The next header part, if it is complete.
    fn header(&mut self, seen: usize) -> Result<Option<Header>, ReadError> {
        // The end marker may have started in the bytes that were searched before.
        let from = seen.saturating_sub(END.len() - 1);
        match memmem::find(&self.buffer[from..], END) {
            Some(at) if from + at <= MAX_HEADER => {
                let header = self.buffer.split_to(from + at + END.len());
                Header::parse(&header[..from + at], self.formats)
                    .map(Some)
                    .map_err(ReadError::Header)
            }
            None if self.buffer.len() <= MAX_HEADER => {
                self.next = Next::Unknown { seen: self.buffer.len() };
                Ok(None)
            }
            _ => Err(ReadError::Header("longer than 4 KiB")),
        }
    }

    /// Takes the rest of the buffer at the end of the input. The last line may lack its line feed.
    fn take_last(&mut self) -> Result<Option<Frame>, ReadError> {
        let rest = self.buffer.split().freeze();
        match (&mut self.next, self.framing) {
            (Next::SkippedLine(refusal), _) => Ok(refusal.take().map(|refusal| refused(*refusal))),
            (Next::Unknown { .. }, Framing::Lines) => {
                let line = rest.slice_ref(rest.trim_ascii());
                Ok((!line.is_empty()).then(|| self.message(line, None)))
            }
            (Next::Unknown { .. }, Framing::Headers) if rest.is_empty() => Ok(None),
            _ => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
        }
    }

    /// Reserves memory for an incomplete message. If the budget is exhausted, the message is skipped and refused.
    fn reserve(&mut self) -> Option<Frame> {
        let memory = self.memory.as_ref().filter(|_| self.buffer.len() > CHUNK)?;
        let count = self.buffer.len();
        let grown = match &mut self.reserved {
            Some(reserved) => reserved.resize(count),
            None => memory.reserve(count).map(|reserved| self.reserved = Some(reserved)),
        };
        let error = grown.err()?;
        self.reserved = None;
        let reason = Reason::OutOfMemory(error);
        match self.next {
            Next::Unknown { .. } => self.skip_line(reason),
            Next::Body { length, format } => {
                self.next = Next::Skipped { left: length.saturating_sub(count) as u64 };
                self.buffer = BytesMut::new();
                Some(Frame::skipped(reason, format))
            }
            Next::SkippedLine(_) | Next::Skipped { .. } => None,
        }
    }

    /// Skips the line in the buffer. Returns its refusal, unless the rest of the line is read for its id.
    fn skip_line(&mut self, reason: Reason) -> Option<Frame> {
        let buffer = std::mem::take(&mut self.buffer);
        if !self.finds_ids {
            self.next = Next::SkippedLine(None);
            return Some(Frame::skipped(reason, None));
        }
        let mut scanner = IdScanner::default();
        scanner.scan(&buffer);
        self.next = Next::SkippedLine(Some(Box::new((reason, scanner))));
        None
    }

    /// The refusal of a complete message.
    fn skipped(&self, reason: Reason, text: &[u8], format: Option<Format>) -> Frame {
        let id = if self.finds_ids { IdScanner::find(text) } else { None };
        Frame::Skipped(Skipped { reason, id }, format)
    }

    /// Counts a message in the memory budget, if there is one.
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
            Err(error) => self.skipped(Reason::OutOfMemory(error), &text, format),
        }
    }

    fn skip(&mut self, count: usize) {
        drop(self.buffer.split_to(count));
        self.next = Next::Unknown { seen: 0 };
    }

    /// Splits a message off the buffer. A large message leaves the buffer with memory for the rest only.
    fn split(&mut self, count: usize) -> Bytes {
        let message = self.buffer.split_to(count).freeze();
        if count > CHUNK {
            self.buffer = BytesMut::from(&self.buffer[..]);
        }
        message
    }
}

impl Frame {
    fn skipped(reason: Reason, format: Option<Format>) -> Self {
        Self::Skipped(Skipped { reason, id: None }, format)
    }
}

/// The refusal of a line, at its end.
fn refused((reason, scanner): (Reason, IdScanner)) -> Frame {
    Frame::Skipped(Skipped { reason, id: scanner.finish() }, None)
}

/// The result of looking for a line in the buffer.
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
