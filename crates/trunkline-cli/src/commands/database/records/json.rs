//! NDJSON, and JSON arrays. `serde_json` reads an array as a whole, without the places of its elements.

use std::io::BufRead;

use anyhow::{Context, bail};

use super::{Item, MAX_RECORD, RecordReader, json_record};

impl<R: BufRead> RecordReader<R> {
    pub(super) fn next_line(&mut self) -> anyhow::Result<Option<Item>> {
        loop {
            self.text.clear();
            if !self.read_line()? {
                return Ok(None);
            }
            let text = self.text.trim_ascii();
            if !text.is_empty() {
                return Ok(Some(json_record(self.position.line, text)));
            }
        }
    }

    pub(super) fn begin_array(&mut self) -> anyhow::Result<()> {
        self.skip_blanks()?;
        match self.byte()? {
            Some(b'[') => Ok(()),
            Some(b'{') => bail!(
                "expected a JSON array of objects; for one object per line, use --format ndjson"
            ),
            _ => bail!("expected a JSON array of objects"),
        }
    }

    pub(super) fn next_element(&mut self) -> anyhow::Result<Option<Item>> {
        self.skip_blanks()?;
        if self.position.records > 0 && self.peek()? != Some(b']') {
            match self.byte()? {
                Some(b',') => self.skip_blanks()?,
                None => bail!("the array is not closed; the file may be incomplete"),
                Some(_) => bail!("line {}: expected `,` or `]`", self.position.line + 1),
            }
        }
        match self.peek()? {
            Some(b']') => {
                self.byte()?;
                self.skip_blanks()?;
                match self.peek()? {
                    None => Ok(None),
                    Some(_) => bail!("line {}: text follows the array", self.position.line + 1),
                }
            }
            None => bail!("the array is not closed; the file may be incomplete"),
            Some(_) => {
                let line = self.position.line + 1;
                self.read_element()?;
                Ok(Some(json_record(line, self.text.trim_ascii())))
            }
        }
    }

    /// Reads up to the end of an element, valid or not: a comma or a bracket outside of strings and brackets.
    fn read_element(&mut self) -> anyhow::Result<()> {
        self.text.clear();
        let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
        while let Some(byte) = self.peek()? {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' if in_string => is_escaped = true,
                b'"' => in_string = !in_string,
                _ if in_string => {}
                b'{' | b'[' => depth += 1,
                b',' | b']' if depth == 0 => return Ok(()),
                b'}' | b']' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        self.text.push(byte);
                        self.byte()?;
                        return Ok(());
                    }
                }
                _ => {}
            }
            self.text.push(byte);
            self.byte()?;
            if self.text.len() > MAX_RECORD {
                let line = self.position.line + 1;
                bail!("line {line}: the element has more than {MAX_RECORD} bytes");
            }
        }
        bail!("the array is not closed; the file may be incomplete")
    }

    fn skip_blanks(&mut self) -> anyhow::Result<()> {
        while self.peek()?.is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.byte()?;
        }
        Ok(())
    }

    fn peek(&mut self) -> anyhow::Result<Option<u8>> {
        Ok(self.input.fill_buf().context("cannot read the file")?.first().copied())
    }

    fn byte(&mut self) -> anyhow::Result<Option<u8>> {
        let byte = self.peek()?;
        if let Some(byte) = byte {
            self.input.consume(1);
            self.position.offset += 1;
            self.position.line += u64::from(byte == b'\n');
        }
        Ok(byte)
    }
}
