//! What was read from stdin and not yet converted.

use std::io::{self, ErrorKind, Read};

use trunkline_edn::Position;

use super::end::End;
use super::failure::{Failure, Wrong};

/// How much is read at once, at most.
const PIECE: usize = 64 << 10;

/// Up to this length, a text that was not complete is tried again whenever a document may end.
const SHORT: usize = 4 << 10;

pub(super) struct Input<R> {
    source: R,
    /// What was read, from the document on that is being read.
    buffer: Vec<u8>,
    /// Where in it the text begins that was not yet taken.
    at: usize,
    /// Up to where it was searched for the end of a document.
    searched: usize,
    end: End,
    /// The least length with which a text that was not complete is tried again: less often than it
    /// grows, or reading it again and again would take for ever.
    retry: usize,
    /// Whether nothing more follows.
    has_ended: bool,
    max_bytes: usize,
    /// The position of the first byte of the buffer.
    start: Position,
}

impl<R: Read> Input<R> {
    pub(super) fn new(source: R, end: End, max_bytes: usize) -> Self {
        let start = Position { offset: 0, line: 1, column: 1 };
        let (buffer, at, searched, retry) = (Vec::new(), 0, 0, 0);
        Self { source, buffer, at, searched, end, retry, has_ended: false, max_bytes, start }
    }

    /// Searches what was read for the next place where a document may end. It is that of
    /// [`pending`](Self::pending) then.
    pub(super) fn find_end(&mut self) -> bool {
        if self.at == self.searched {
            // White space before a document is no part of it.
            let is_space = |byte: &&u8| self.end.is_space(**byte);
            self.at += self.buffer[self.at..].iter().take_while(is_space).count();
            self.searched = self.at;
        }
        while let Some(length) = self.end.find(&self.buffer[self.searched..]) {
            self.searched += length;
            if self.searched - self.at >= self.retry {
                return true;
            }
        }
        self.searched = self.buffer.len();
        false
    }

    /// Reads on; false at the end.
    pub(super) fn fill(&mut self) -> io::Result<bool> {
        self.start = self.position(self.at);
        self.buffer.drain(..self.at);
        self.searched -= self.at;
        self.at = 0;
        let length = self.buffer.len();
        self.buffer.resize(length + PIECE, 0);
        let read = loop {
            match self.source.read(&mut self.buffer[length..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.buffer.truncate(length + *read.as_ref().unwrap_or(&0));
        self.has_ended = matches!(read, Ok(0));
        read.map(|count| count > 0)
    }

    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// What was searched and not yet taken.
    pub(super) fn pending(&self) -> Result<&str, Wrong> {
        let wrong = |error: std::str::Utf8Error| {
            Wrong::new(error.valid_up_to(), "the text is not UTF-8".to_owned())
        };
        let text = std::str::from_utf8(&self.buffer[self.at..self.searched]).map_err(wrong)?;
        // To EDN it would be a symbol.
        if self.start.offset + self.at == 0 && text.starts_with('\u{feff}') {
            return Err(Wrong::new(0, "the text begins with a byte-order mark".to_owned()));
        }
        Ok(text)
    }

    /// Whether what is pending is not too long for a document.
    pub(super) fn check_size(&self) -> Result<(), Wrong> {
        if self.searched - self.at <= self.max_bytes {
            return Ok(());
        }
        let reason = format!("it has more than {} bytes (see --max-bytes)", self.max_bytes);
        Err(Wrong::new(0, reason))
    }

    /// Takes so many bytes of what is pending. The rest is the beginning of a document.
    pub(super) fn take(&mut self, length: usize) {
        self.at += length;
        let rest = self.searched - self.at;
        self.retry = if rest > SHORT { rest * 2 } else { 1 };
    }

    /// Takes what is pending.
    pub(super) fn take_all(&mut self) {
        self.at = self.searched;
        self.retry = 0;
    }

    /// A failure in what is pending.
    pub(super) fn failure(&self, number: usize, wrong: Wrong) -> Failure {
        let position = self.position(self.at + wrong.offset);
        Failure::Document { number, position, wrong }
    }

    /// The position in the whole input of a byte of the buffer.
    fn position(&self, at: usize) -> Position {
        let before = &self.buffer[..at];
        let Position { offset, line, column } = self.start;
        let lines = before.iter().filter(|byte| **byte == b'\n').count();
        let last_line = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        // What is no continuation of a character begins one.
        let columns = last_line.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
        let column = if lines == 0 { column + columns } else { columns + 1 };
        Position { offset: offset + at, line: line + lines, column }
    }
}
