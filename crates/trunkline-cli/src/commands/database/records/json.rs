//! NDJSON, and JSON arrays. `serde_json` reads an array as a whole, without the places of its elements.

use std::io::BufRead;

use anyhow::bail;

use super::input::Line;
use super::{Item, MAX_RECORD, RecordReader, invalid, json_record, too_long};

const NOT_CLOSED: &str = "the array is not closed; the file may be incomplete";

impl<R: BufRead> RecordReader<R> {
    pub(super) fn next_line(&mut self) -> anyhow::Result<Option<Item>> {
        loop {
            self.text.clear();
            let line = self.input.line + 1;
            match self.input.line(&mut self.text, MAX_RECORD)? {
                Line::Missing => return Ok(None),
                Line::TooLong => {
                    self.text.clear();
                    self.input.skip_line()?;
                    return Ok(Some(invalid(line, None, too_long(), b"")));
                }
                Line::Complete => {}
            }
            if !self.text.trim_ascii().is_empty() {
                return Ok(Some(json_record(line, &self.text, self.options.encoding)));
            }
        }
    }

    pub(super) fn begin_array(&mut self) -> anyhow::Result<()> {
        self.skip_blanks()?;
        match self.input.byte()? {
            Some(b'[') => Ok(()),
            Some(b'{') => bail!(
                "expected a JSON array of objects; for one object per line, use --format ndjson"
            ),
            _ => bail!("expected a JSON array of objects"),
        }
    }

    pub(super) fn next_element(&mut self) -> anyhow::Result<Option<Item>> {
        self.skip_blanks()?;
        let mut is_expected = false;
        if self.records > 0 && self.input.peek()? != Some(b']') {
            match self.input.byte()? {
                Some(b',') => self.skip_blanks()?,
                None => bail!(NOT_CLOSED),
                Some(_) => bail!("line {}: expected `,` or `]`", self.input.line + 1),
            }
            is_expected = true;
        }
        let line = self.input.line + 1;
        self.text.clear();
        match self.input.peek()? {
            Some(b']' | b',')
                if is_expected || self.records == 0 && self.input.peek()? == Some(b',') =>
            {
                let reason = "an element is missing before or after a comma";
                Ok(Some(invalid(line, None, reason.to_owned(), b"")))
            }
            Some(b']') => {
                self.input.byte()?;
                self.skip_blanks()?;
                match self.input.peek()? {
                    None => Ok(None),
                    Some(_) => bail!("line {}: text follows the array", self.input.line + 1),
                }
            }
            None => bail!(NOT_CLOSED),
            Some(_) if self.read_element()? => {
                Ok(Some(json_record(line, &self.text, self.options.encoding)))
            }
            Some(_) => {
                self.text.clear();
                Ok(Some(invalid(line, None, too_long(), b"")))
            }
        }
    }

    /// Reads up to the end of an element, valid or not: a comma or a bracket outside of strings and brackets. Returns
    /// false if it is too long, and its text is not complete.
    fn read_element(&mut self) -> anyhow::Result<bool> {
        let start = self.input.offset;
        let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
        let mut is_complete = true;
        loop {
            let available = self.input.available()?;
            if available.is_empty() {
                bail!(NOT_CLOSED);
            }
            let (mut length, mut lines, mut has_ended) = (0, 0, false);
            for byte in available {
                match byte {
                    _ if is_escaped => is_escaped = false,
                    b'\\' if in_string => is_escaped = true,
                    b'"' => in_string = !in_string,
                    _ if in_string => {}
                    b'{' | b'[' => depth += 1,
                    b',' | b']' if depth == 0 => {
                        has_ended = true;
                        break;
                    }
                    b'}' | b']' => {
                        depth = depth.saturating_sub(1);
                        has_ended = depth == 0;
                    }
                    _ => {}
                }
                length += 1;
                lines += u64::from(*byte == b'\n');
                if has_ended {
                    break;
                }
            }
            is_complete &= self.text.len() + length <= MAX_RECORD;
            if is_complete {
                self.text.extend_from_slice(&available[..length]);
            }
            self.input.consume(length, lines);
            if has_ended {
                return Ok(is_complete);
            }
            self.input.check_skipped(start)?;
        }
    }

    fn skip_blanks(&mut self) -> anyhow::Result<()> {
        while self.input.peek()?.is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.input.byte()?;
        }
        Ok(())
    }
}
