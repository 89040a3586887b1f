//! The bytes of a file, with the place in it.

use std::io::{BufRead, Seek, SeekFrom};

use anyhow::{Context, bail};

/// Maximum number of bytes of a record that are skipped because it is too long. A file with a longer one has no records.
const MAX_SKIPPED: u64 = 256 << 20;

/// A reader of which bytes can be returned to it.
pub(super) struct Input<R> {
    inner: R,
    /// Bytes before those of the reader.
    returned: Vec<u8>,
    /// The number of returned bytes that are read again already.
    read_again: usize,
    pub(super) line_end: LineEnd,
    /// Number of bytes so far.
    pub(super) offset: u64,
    /// Number of line breaks so far.
    pub(super) line: u64,
}

/// The characters that end lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineEnd {
    /// A line feed, after which a carriage return is ignored.
    LineFeed,
    /// A carriage return, a line feed, or both.
    CarriageReturn,
}

impl LineEnd {
    /// The length of the line at the beginning of bytes, and whether its end is among them.
    fn length(self, mut bytes: &[u8]) -> anyhow::Result<(usize, bool)> {
        let all = bytes;
        if self == Self::LineFeed {
            // Faster than an iterator.
            let length = bytes.skip_until(b'\n')?;
            return Ok((length, all[..length].ends_with(b"\n")));
        }
        let Some(end) = all.iter().position(|byte| matches!(byte, b'\r' | b'\n')) else {
            return Ok((all.len(), false));
        };
        Ok((end + if all[end..].starts_with(b"\r\n") { 2 } else { 1 }, true))
    }

    /// The lines of a text, with their ends.
    pub(super) fn lines(self, mut text: &[u8]) -> impl Iterator<Item = &[u8]> {
        std::iter::from_fn(move || {
            let (length, _) = self.length(text).ok()?;
            let line;
            (line, text) = text.split_at(length);
            (length > 0).then_some(line)
        })
    }

    /// The text of a line, and its end.
    pub(super) fn split(self, line: &[u8]) -> (&[u8], &[u8]) {
        let length = match line {
            [rest @ .., b'\r', b'\n'] | [rest @ .., b'\n'] => rest.len(),
            [rest @ .., b'\r'] if self == Self::CarriageReturn => rest.len(),
            line => line.len(),
        };
        line.split_at(length)
    }
}

/// The outcome of reading a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    Complete,
    /// Its end is not read yet.
    TooLong,
    /// The end of the file.
    Missing,
}

impl<R: BufRead> Input<R> {
    pub(super) fn new(inner: R) -> Self {
        let line_end = LineEnd::LineFeed;
        Self { inner, returned: Vec::new(), read_again: 0, line_end, offset: 0, line: 0 }
    }

    /// The next bytes. Empty at the end of the file.
    pub(super) fn available(&mut self) -> anyhow::Result<&[u8]> {
        if self.read_again < self.returned.len() {
            return Ok(&self.returned[self.read_again..]);
        }
        self.returned.clear();
        self.read_again = 0;
        self.inner.fill_buf().context("cannot read the file")
    }

    /// Consumes available bytes with a number of line breaks.
    pub(super) fn consume(&mut self, length: usize, lines: u64) {
        match self.returned.is_empty() {
            true => self.inner.consume(length),
            false => self.read_again += length,
        }
        self.offset += length as u64;
        self.line += lines;
    }

    /// The next byte, which is not consumed.
    pub(super) fn peek(&mut self) -> anyhow::Result<Option<u8>> {
        Ok(self.available()?.first().copied())
    }

    pub(super) fn byte(&mut self) -> anyhow::Result<Option<u8>> {
        let byte = self.peek()?;
        if let Some(byte) = byte {
            self.consume(1, u64::from(byte == b'\n'));
        }
        Ok(byte)
    }

    /// Appends the next line with its line break, unless the text then has more than `max` bytes.
    pub(super) fn line(&mut self, text: &mut Vec<u8>, max: usize) -> anyhow::Result<Line> {
        let before = text.len();
        loop {
            let line_end = self.line_end;
            let available = self.available()?;
            let (length, has_end) = line_end.length(available)?;
            if length == 0 {
                return Ok(if text.len() > before { Line::Complete } else { Line::Missing });
            }
            if text.len() + length > max {
                return Ok(Line::TooLong);
            }
            text.extend_from_slice(&available[..length]);
            self.consume(length, u64::from(has_end));
            if has_end {
                if text.ends_with(b"\r") && self.skip_line_feed()? {
                    text.push(b'\n');
                }
                return Ok(Line::Complete);
            }
        }
    }

    /// Consumes a line feed after a carriage return, both of which are one end of a line. Returns whether there is one.
    fn skip_line_feed(&mut self) -> anyhow::Result<bool> {
        let is_line_feed = self.peek()? == Some(b'\n');
        if is_line_feed {
            self.consume(1, 0);
        }
        Ok(is_line_feed)
    }

    /// Consumes the rest of a line that is too long.
    pub(super) fn skip_line(&mut self) -> anyhow::Result<()> {
        let start = self.offset;
        loop {
            let line_end = self.line_end;
            let available = self.available()?;
            let (length, has_end) = line_end.length(available)?;
            let is_return = has_end && available[..length].ends_with(b"\r");
            self.consume(length, u64::from(has_end));
            if is_return {
                self.skip_line_feed()?;
            }
            if has_end || length == 0 {
                return Ok(());
            }
            self.check_skipped(start)?;
        }
    }

    /// Refuses a record that is much too long. `start` is the place of its beginning.
    pub(super) fn check_skipped(&self, start: u64) -> anyhow::Result<()> {
        if self.offset - start > MAX_SKIPPED {
            let line = self.line + 1;
            bail!(
                "line {line}: a record has more than {MAX_SKIPPED} bytes; check the format of the file"
            );
        }
        Ok(())
    }

    /// Returns the last bytes that were read.
    pub(super) fn unread(&mut self, mut bytes: Vec<u8>) {
        self.offset -= bytes.len() as u64;
        let line_end = self.line_end;
        let has_end = |line: &&[u8]| !line_end.split(line).1.is_empty();
        self.line -= line_end.lines(&bytes).filter(has_end).count() as u64;
        bytes.extend_from_slice(&self.returned[self.read_again..]);
        (self.returned, self.read_again) = (bytes, 0);
    }

    /// The next bytes, which are not consumed: at least `min`, unless the file has less, and at most `max` of those that
    /// need not be waited for.
    pub(super) fn sample(&mut self, min: usize, max: usize) -> anyhow::Result<&[u8]> {
        while self.returned.len() - self.read_again < min {
            let more = self.inner.fill_buf().context("cannot read the file")?;
            let length = more.len();
            self.returned.extend_from_slice(more);
            self.inner.consume(length);
            if length == 0 {
                break;
            }
        }
        let sample = &self.returned[self.read_again..];
        Ok(&sample[..sample.len().min(max)])
    }
}

impl<R: BufRead + Seek> Input<R> {
    /// Continues at a place.
    pub(super) fn seek(&mut self, offset: u64, line: u64) -> anyhow::Result<()> {
        self.inner.seek(SeekFrom::Start(offset)).context("cannot read the file")?;
        self.returned.clear();
        (self.read_again, self.offset, self.line) = (0, offset, line);
        Ok(())
    }
}
