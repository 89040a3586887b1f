//! Records of CSV, with the separator that a file uses.

use std::collections::HashSet;
use std::io::BufRead;

use anyhow::bail;
use serde_json::Value as Json;
use trunkline_sql::transfer::csv_field;

use super::fields::{Field, FieldParser, Problem};
use super::input::{Line, LineEnd};
use super::{Item, MAX_RECORD, RecordReader, invalid, record, too_long};

/// Maximum number of bytes that are read again after quotes that are not closed.
const MAX_READ_AGAIN: u64 = 1 << 30;

/// Separators that a header without commas may have.
const OTHER_DELIMITERS: [u8; 3] = *b";\t|";

/// A record with the number of its first line.
type Row = (u64, Result<Vec<Field>, Problem>);

impl<R: BufRead> RecordReader<R> {
    pub(super) fn read_header(&mut self) -> anyhow::Result<()> {
        let named = self.named_delimiter()?;
        let given = self.options.delimiter;
        self.delimiter = given.or(named).unwrap_or(b',');
        // Programs of older Macintosh computers end lines with carriage returns. In other files, they are characters.
        self.input.line_end = LineEnd::CarriageReturn;
        let Some((_, fields)) = self.fields()? else { bail!("the CSV file has no header") };
        if !self.text.ends_with(b"\r") {
            let lines = |line_end: LineEnd| line_end.lines(&self.text).count() as u64;
            self.input.line -= lines(LineEnd::CarriageReturn) - lines(LineEnd::LineFeed);
            self.input.line_end = LineEnd::LineFeed;
        }
        let mut fields = match fields {
            Ok(fields) => fields,
            Err(problem) => bail!("invalid header of the CSV file: {}", problem.reason),
        };
        if given.or(named).is_none()
            && let Some((delimiter, found)) = self.detected(&fields)
        {
            let shown = char::from(delimiter).escape_default();
            self.notice =
                Some(format!("the header has no comma; fields are separated by `{shown}`"));
            (self.delimiter, fields) = (delimiter, found);
        }
        // Spreadsheets and databases end lines with separators.
        let is_empty = |field: &Field| field.text.is_empty() && !field.is_quoted;
        let named = fields.iter().rposition(|field| !is_empty(field)).map_or(0, |last| last + 1);
        self.unnamed = fields.split_off(named).len();
        if fields.is_empty() {
            bail!("the CSV file has no header");
        }
        let mut known = HashSet::with_capacity(fields.len());
        for (number, field) in (1..).zip(&fields) {
            if is_empty(field) {
                bail!(
                    "column {number} in the header of the CSV file has no name; name or remove it"
                );
            }
            let name = &field.text;
            if !known.insert(name) {
                bail!("duplicate column `{}` in the header of the CSV file", name.escape_debug());
            }
        }
        self.header = fields.into_iter().map(|field| field.text).collect();
        Ok(())
    }

    /// The separator that spreadsheets read from a first line `sep=;`, which is consumed.
    fn named_delimiter(&mut self) -> anyhow::Result<Option<u8>> {
        const NAME: &[u8] = b"sep=";
        for length in 1..=NAME.len() {
            // Not more is read than necessary, since the rest may not be written yet.
            let sample = self.input.sample(length, length)?;
            if !sample.eq_ignore_ascii_case(&NAME[..length]) {
                return Ok(None);
            }
        }
        let sample = self.input.sample(7, 7)?;
        let (delimiter, length) = match sample {
            [_, _, _, _, delimiter, b'\r', b'\n'] => (*delimiter, 7),
            [_, _, _, _, delimiter, b'\r' | b'\n', ..] => (*delimiter, 6),
            _ => return Ok(None),
        };
        if !delimiter.is_ascii() || matches!(delimiter, b'"' | b'\r' | b'\n') {
            return Ok(None);
        }
        self.input.consume(length, 1);
        Ok(Some(delimiter))
    }

    /// The separator of a header that has one field, and its fields.
    fn detected(&self, fields: &[Field]) -> Option<(u8, Vec<Field>)> {
        let [Field { is_quoted: false, .. }] = fields else { return None };
        let parse = |delimiter: u8| {
            let (encoding, line_end) = (self.options.encoding, self.input.line_end);
            let fields = FieldParser::parse(&self.text, delimiter, encoding, line_end);
            fields.ok().filter(|fields| fields.len() > 1).map(|fields| (delimiter, fields))
        };
        OTHER_DELIMITERS.into_iter().filter_map(parse).max_by_key(|(_, fields)| fields.len())
    }

    pub(super) fn next_row(&mut self) -> anyhow::Result<Option<Item>> {
        let Some((line, fields)) = self.fields()? else { return Ok(None) };
        let fields = fields.and_then(|fields| self.named(fields));
        Ok(Some(match fields {
            Ok(fields) => {
                let value = |field: Field| match field {
                    Field { text, is_quoted: false } if text == self.options.null => Json::Null,
                    Field { text, is_quoted } => csv_field(text, is_quoted),
                };
                record(line, &self.header, fields.into_iter().map(value))
            }
            Err(Problem { reason, field }) => {
                let column = field.and_then(|field| self.header.get(field)).cloned();
                invalid(line, column, reason, &self.text)
            }
        }))
    }

    /// The fields of the columns with names.
    fn named(&self, mut fields: Vec<Field>) -> Result<Vec<Field>, Problem> {
        let (width, found) = (self.header.len(), fields.len());
        if found == width + self.unnamed {
            let rest = fields.split_off(width);
            if rest.iter().any(|field| !field.text.is_empty()) {
                let reason = format!("a field after the {width} columns with names is not empty");
                return Err(Problem { reason, field: None });
            }
        }
        if fields.len() == width {
            return Ok(fields);
        }
        let reason = format!("expected {width} fields, found {found}");
        Err(Problem { reason, field: None })
    }

    /// The next record. Lines without text are skipped.
    fn fields(&mut self) -> anyhow::Result<Option<Row>> {
        loop {
            self.text.clear();
            let line = self.input.line + 1;
            let mut parser = self.parser();
            let mut first_line = 0;
            let is_closed = loop {
                let before = self.text.len();
                match self.input.line(&mut self.text, MAX_RECORD)? {
                    Line::Complete => {}
                    Line::Missing if before == 0 => return Ok(None),
                    Line::TooLong if before == 0 => {
                        self.text.clear();
                        self.input.skip_line()?;
                        return Ok(Some((line, Err(Problem { reason: too_long(), field: None }))));
                    }
                    Line::Missing | Line::TooLong => break false,
                }
                if before == 0 {
                    first_line = self.text.len();
                }
                if !parser.line(&self.text[before..]) {
                    break true;
                }
            };
            let is_open = !is_closed;
            let fields = match is_open {
                true => {
                    Err(Problem { reason: "a quoted field is not closed".to_owned(), field: None })
                }
                false => parser.finish(),
            };
            if (is_open || fields.is_err()) && self.text.len() > first_line {
                return self.broken(line, first_line, fields).map(Some);
            }
            if is_open || !is_blank(&self.text) {
                return Ok(Some((line, fields)));
            }
        }
    }

    /// Rejects a record of several lines whose quotes are wrong. If its other lines are records by themselves, there is a
    /// quote too many in the first one, and they are read again.
    fn broken(
        &mut self,
        line: u64,
        first_line: usize,
        mut fields: Result<Vec<Field>, Problem>,
    ) -> anyhow::Result<Row> {
        let rest = &self.text[first_line..];
        let are_records = self.are_records(rest) && self.read_again < MAX_READ_AGAIN;
        if are_records {
            self.read_again += rest.len() as u64;
            self.input.unread(self.text.split_off(first_line));
            if let Err(problem) = &mut fields {
                problem.reason.push_str("; the following lines are read as records");
            }
        } else if self.input.line_end.split(rest).1.is_empty() {
            self.input.skip_line()?;
        }
        Ok((line, fields))
    }

    fn parser(&self) -> FieldParser {
        FieldParser::new(self.delimiter, self.options.encoding, self.input.line_end)
    }

    /// Whether nearly all of the first lines are records. With one column, any text would be.
    fn are_records(&self, text: &[u8]) -> bool {
        const EXAMINED: usize = 100;
        let is_record = |line: &&[u8]| {
            let mut parser = self.parser();
            let is_open = parser.line(line);
            !is_open && parser.finish().and_then(|fields| self.named(fields)).is_ok()
        };
        let lines = self.input.line_end.lines(text).filter(|line| !is_blank(line));
        let lines: Vec<&[u8]> = lines.take(EXAMINED).collect();
        let records = lines.iter().filter(|line| is_record(line)).count();
        self.header.len() > 1 && records > 0 && records * 10 >= lines.len() * 9
    }
}

fn is_blank(text: &[u8]) -> bool {
    text.iter().all(|byte| matches!(byte, b'\r' | b'\n'))
}
