//! CSV (RFC 4180). The crate `csv` does not distinguish an empty field, which is NULL, from an empty text in quotes, and
//! does not limit the size of a record whose quote is not closed.

use std::collections::HashSet;
use std::io::BufRead;

use anyhow::bail;
use serde_json::Value as Json;
use trunkline_sql::transfer::{RejectedRecord, csv_field};

use super::{Item, RecordReader, record};

/// Maximum number of fields of a record: the most columns of a table in PostgreSQL. SQLite has fewer.
const MAX_FIELDS: usize = 1_600;

struct Field {
    text: String,
    is_quoted: bool,
}

impl<R: BufRead> RecordReader<R> {
    pub(super) fn read_header(&mut self) -> anyhow::Result<()> {
        let Some((_, fields)) = self.fields()? else { bail!("the CSV file has no header") };
        let fields = match fields {
            Ok(fields) => fields,
            Err(reason) => bail!("invalid header of the CSV file: {reason}"),
        };
        let mut names: Vec<String> = Vec::with_capacity(fields.len());
        let mut known = HashSet::with_capacity(fields.len());
        for (index, field) in fields.into_iter().enumerate() {
            let name = match index {
                0 => field.text.trim_start_matches('\u{feff}').to_owned(),
                _ => field.text,
            };
            if name.is_empty() {
                bail!("empty column name in the header of the CSV file");
            }
            if !known.insert(name.to_ascii_lowercase()) {
                bail!("duplicate column `{}` in the header of the CSV file", name.escape_debug());
            }
            names.push(name);
        }
        self.header = names;
        Ok(())
    }

    pub(super) fn next_row(&mut self) -> anyhow::Result<Option<Item>> {
        let Some((line, fields)) = self.fields()? else { return Ok(None) };
        let width = self.header.len();
        let fields = fields.and_then(|fields| match fields.len() {
            found if found == width => Ok(fields),
            found => Err(format!("expected {width} fields, found {found}")),
        });
        Ok(Some(match fields {
            Ok(fields) => {
                let value = |field: Field| match field {
                    Field { text, is_quoted: false } if text == self.options.null => Json::Null,
                    Field { text, is_quoted } => csv_field(text, is_quoted),
                };
                record(line, &self.header, fields.into_iter().map(value))
            }
            Err(reason) => {
                let text = String::from_utf8_lossy(self.text.trim_ascii_end()).into_owned();
                Item::Invalid(RejectedRecord {
                    line,
                    column: None,
                    reason,
                    record: Some(Json::String(text)),
                })
            }
        }))
    }

    /// The number of the first line of the next row, and its fields. Lines without text are skipped.
    #[expect(clippy::type_complexity, reason = "a place, and the fields or the reason")]
    fn fields(&mut self) -> anyhow::Result<Option<(u64, Result<Vec<Field>, String>)>> {
        loop {
            self.text.clear();
            let line = self.position.line + 1;
            if !self.read_line()? {
                return Ok(None);
            }
            // A line break within quotes belongs to the field.
            let mut quotes = count(&self.text);
            while quotes % 2 == 1 {
                let before = self.text.len();
                if !self.read_line()? {
                    return Ok(Some((line, Err("a quoted field is not closed".to_owned()))));
                }
                quotes += count(&self.text[before..]);
            }
            let end = match self.text.as_slice() {
                [rest @ .., b'\r', b'\n'] | [rest @ .., b'\n'] => rest.len(),
                text => text.len(),
            };
            let row = &self.text[..end];
            if !row.is_empty() {
                return Ok(Some((line, split(row, self.options.delimiter))));
            }
        }
    }
}

fn count(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte == b'"').count()
}

fn split(row: &[u8], delimiter: u8) -> Result<Vec<Field>, String> {
    let mut fields = Vec::new();
    let mut rest = row;
    loop {
        let (field, after) = match rest.strip_prefix(b"\xef\xbb\xbf").unwrap_or(rest) {
            [b'"', quoted @ ..] => quoted_field(quoted)?,
            _ => {
                let end = rest.iter().position(|byte| *byte == delimiter).unwrap_or(rest.len());
                let text = text(rest[..end].to_vec())?;
                (Field { text, is_quoted: false }, &rest[end..])
            }
        };
        if fields.len() == MAX_FIELDS {
            return Err(format!("more than {MAX_FIELDS} fields"));
        }
        fields.push(field);
        match after.split_first() {
            None => return Ok(fields),
            Some((first, after)) if *first == delimiter => rest = after,
            Some(_) => return Err("text follows a quoted field".to_owned()),
        }
    }
}

/// A field after its first quote, and the text after its last one.
fn quoted_field(text_after: &[u8]) -> Result<(Field, &[u8]), String> {
    let mut content = Vec::new();
    let mut rest = text_after;
    loop {
        let Some(end) = rest.iter().position(|byte| *byte == b'"') else {
            return Err("a quoted field is not closed".to_owned());
        };
        content.extend_from_slice(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix(b"\"") {
            Some(after) => {
                content.push(b'"');
                rest = after;
            }
            None => return Ok((Field { text: text(content)?, is_quoted: true }, rest)),
        }
    }
}

fn text(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|_| "a field is not valid UTF-8".to_owned())
}
