//! Conversion of the documents of a stream, each when it is complete.

use std::io::{self, BufRead, Write};

use trunkline_edn::Position;

use super::conversion::{Conversion, Document};
use super::failure::{Failure, Problem};

/// An incomplete text up to this length is parsed again with each piece that arrives.
const SHORT: usize = 4 << 10;

/// The characters that end a token.
const DELIMITERS: [char; 9] = ['"', '[', ']', '{', '}', '(', ')', ';', ','];

pub(super) struct Stream<R> {
    source: R,
    conversion: Conversion,
    max_bytes: usize,
    /// The bytes that were read and not yet converted.
    buffer: Vec<u8>,
    /// The position of its first byte.
    start: Position,
    /// The number of documents that were converted and written.
    written: usize,
}

impl<R: BufRead> Stream<R> {
    pub(super) fn new(source: R, conversion: Conversion, max_bytes: usize) -> Self {
        let start = Position { offset: 0, line: 1, column: 1 };
        Self { source, conversion, max_bytes, buffer: Vec::new(), start, written: 0 }
    }

    /// Converts all documents. A longer incomplete text is parsed again when it is four times as long, or when `is_idle`
    /// reports that no more is available: parsing it with each piece would take quadratic time.
    pub(super) fn convert(
        &mut self,
        out: &mut impl Write,
        is_idle: impl Fn() -> bool,
    ) -> Result<(), Failure> {
        let mut retry = 0;
        loop {
            let has_ended = !self.fill().map_err(Failure::Input)?;
            if has_ended || self.buffer.len() >= retry || is_idle() {
                self.convert_complete(out, has_ended)?;
                retry = if self.buffer.len() > SHORT { self.buffer.len() * 4 } else { 0 };
                // The writer of the next document may wait for the result of this one.
                out.flush().map_err(Failure::Output)?;
            }
            if has_ended {
                return Ok(());
            }
        }
    }

    /// Reads a piece. Returns false at the end.
    fn fill(&mut self) -> io::Result<bool> {
        let piece = self.source.fill_buf()?;
        let length = piece.len();
        self.buffer.extend_from_slice(piece);
        self.source.consume(length);
        Ok(length > 0)
    }

    fn convert_complete(&mut self, out: &mut impl Write, has_ended: bool) -> Result<(), Failure> {
        let Some(chunk) = self.buffer.utf8_chunks().next() else { return Ok(()) };
        let text = chunk.valid();
        // EDN would read it as a symbol.
        if self.start.offset == 0 && text.starts_with('\u{feff}') {
            return Err(self.failure(Problem::new(0, "the text begins with a byte-order mark")));
        }
        let too_long = |at| {
            let reason = format!("larger than {} bytes; increase --max-bytes", self.max_bytes);
            Problem::new(at, reason)
        };
        let (mut taken, mut count) = (0, 0);
        let mut problem = None;
        for document in self.conversion.documents(text) {
            match document {
                Ok(Document { span, .. })
                    if !has_ended && may_continue(&text[..span.end], text) =>
                {
                    break;
                }
                Ok(Document { span, .. }) if span.len() > self.max_bytes => {
                    problem = Some(too_long(span.start));
                    break;
                }
                Ok(Document { text, span }) => {
                    writeln!(out, "{text}").map_err(Failure::Output)?;
                    count += 1;
                    taken = span.end;
                }
                Err(found) if !has_ended && is_incomplete(&found, text) => break,
                Err(found) => {
                    problem = Some(found);
                    break;
                }
            }
        }
        taken += text[taken..].len() - self.conversion.trim_start(&text[taken..]).len();
        let rest = self.buffer.len() - taken;
        let is_cut = text.len() + chunk.invalid().len() == self.buffer.len() && !has_ended;
        if problem.is_none() && !chunk.invalid().is_empty() && !is_cut {
            problem = Some(Problem::new(text.len(), "the text is not valid UTF-8"));
        } else if problem.is_none() && rest > self.max_bytes {
            problem = Some(too_long(taken));
        }
        self.written += count;
        if let Some(problem) = problem {
            return Err(self.failure(problem));
        }
        self.start = self.position(taken);
        self.buffer.drain(..taken);
        Ok(())
    }

    fn failure(&self, problem: Problem) -> Failure {
        let position = self.position(problem.offset);
        Failure::Document { number: self.written + 1, position, problem }
    }

    /// The position in the whole input of a byte of the buffer.
    fn position(&self, at: usize) -> Position {
        let before = &self.buffer[..at];
        let Position { offset, line, column } = self.start;
        let lines = before.iter().filter(|byte| **byte == b'\n').count();
        let last_line = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        // Every byte but the continuation bytes of UTF-8 begins a character.
        let columns = last_line.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
        let column = if lines == 0 { column + columns } else { columns + 1 };
        Position { offset: offset + at, line: line + lines, column }
    }
}

/// Whether what is read next may belong to the last token of a document.
fn may_continue(document: &str, text: &str) -> bool {
    document.len() == text.len() && !document.ends_with([')', ']', '}', '"'])
}

/// Whether more text may make a document valid: it ends within a form, or in the invalid token.
fn is_incomplete(problem: &Problem, text: &str) -> bool {
    let is_end = |c: char| c.is_whitespace() || DELIMITERS.contains(&c);
    problem.is_incomplete || !text[problem.offset..].contains(is_end)
}
