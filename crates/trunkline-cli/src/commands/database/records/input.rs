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
    /// Number of bytes so far.
    pub(super) offset: u64,
    /// Number of line breaks so far.
    pub(super) line: u64,
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
        Self { inner, returned: Vec::new(), read_again: 0, offset: 0, line: 0 }
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
            let available = self.available()?;
            let (length, has_end) = line_length(available)?;
            if length == 0 {
                return Ok(if text.len() > before { Line::Complete } else { Line::Missing });
            }
            if text.len() + length > max {
                return Ok(Line::TooLong);
            }
            text.extend_from_slice(&available[..length]);
            self.consume(length, u64::from(has_end));
            if has_end {
                return Ok(Line::Complete);
            }
        }
    }

    /// Consumes the rest of a line that is too long.
    pub(super) fn skip_line(&mut self) -> anyhow::Result<()> {
        let start = self.offset;
        loop {
            let (length, has_end) = line_length(self.available()?)?;
            self.consume(length, u64::from(has_end));
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
        self.line -= bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
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

/// The length of the line at the beginning of bytes, and whether its end is among them.
fn line_length(mut bytes: &[u8]) -> anyhow::Result<(usize, bool)> {
    let all = bytes;
    // Faster than an iterator.
    let length = bytes.skip_until(b'\n')?;
    Ok((length, all[..length].ends_with(b"\n")))
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
