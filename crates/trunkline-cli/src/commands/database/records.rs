//! Records of CSV, NDJSON and JSON files, read one at a time, with their places in the file.

mod csv;
mod json;

use std::io::{BufRead, Seek, SeekFrom};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use trunkline_sql::transfer::{ExportFormat, ImportRecord, RejectedRecord, read_json};

/// The place after a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Position {
    /// In bytes.
    pub(super) offset: u64,
    /// Number of lines so far.
    pub(super) line: u64,
    /// Number of records so far, without the header.
    pub(super) records: u64,
}

/// A record, or the reason why it cannot be read.
#[derive(Debug)]
pub(super) enum Item {
    Record(ImportRecord),
    Invalid(RejectedRecord),
}

/// The details of CSV files.
#[derive(Clone, Debug)]
pub(super) struct CsvOptions {
    pub(super) delimiter: u8,
    /// The text of NULL, unless it is in quotes.
    pub(super) null: String,
}

/// Reads the records of a file.
pub(super) struct RecordReader<R> {
    input: R,
    format: ExportFormat,
    options: CsvOptions,
    position: Position,
    /// The names of the columns of a CSV file.
    header: Vec<String>,
    /// The text of the current record.
    text: Vec<u8>,
    has_ended: bool,
}

/// Maximum size of a record in bytes, as of a value in SQLite.
const MAX_RECORD: usize = 16 << 20;

impl<R: BufRead> RecordReader<R> {
    /// Reads the beginning of a file.
    pub(super) fn new(input: R, format: ExportFormat, options: CsvOptions) -> anyhow::Result<Self> {
        let position = Position::default();
        let (header, text) = (Vec::new(), Vec::new());
        let mut reader = Self { input, format, options, position, header, text, has_ended: false };
        match format {
            ExportFormat::Csv => reader.read_header()?,
            ExportFormat::Json => reader.begin_array()?,
            ExportFormat::NdJson => {}
        }
        Ok(reader)
    }

    /// The names of the columns of a CSV file.
    pub(super) fn header(&self) -> &[String] {
        &self.header
    }

    /// The place after the last record.
    pub(super) fn position(&self) -> Position {
        self.position
    }

    /// The size of the last record in bytes.
    pub(super) fn record_size(&self) -> usize {
        self.text.len()
    }

    /// Reads the next record. None at the end of the file.
    pub(super) fn next(&mut self) -> anyhow::Result<Option<Item>> {
        if self.has_ended {
            return Ok(None);
        }
        let item = match self.format {
            ExportFormat::Csv => self.next_row()?,
            ExportFormat::NdJson => self.next_line()?,
            ExportFormat::Json => self.next_element()?,
        };
        self.has_ended = item.is_none();
        self.position.records += u64::from(item.is_some());
        Ok(item)
    }

    /// Appends the next line, with its line break. False at the end of the file.
    fn read_line(&mut self) -> anyhow::Result<bool> {
        let before = self.text.len();
        loop {
            let available = self.input.fill_buf().context("cannot read the file")?;
            let end = available.iter().position(|byte| *byte == b'\n');
            let length = end.map_or(available.len(), |end| end + 1);
            self.text.extend_from_slice(&available[..length]);
            self.input.consume(length);
            if self.text.len() > MAX_RECORD {
                bail!(
                    "line {}: the record has more than {MAX_RECORD} bytes",
                    self.position.line + 1
                );
            }
            if end.is_some() || length == 0 {
                break;
            }
        }
        let read = self.text.len() - before;
        self.position.offset += read as u64;
        self.position.line += u64::from(read > 0);
        Ok(read > 0)
    }
}

impl<R: BufRead + Seek> RecordReader<R> {
    /// Continues after a record.
    pub(super) fn resume(&mut self, position: Position) -> anyhow::Result<()> {
        if position.records > 0 {
            self.input.seek(SeekFrom::Start(position.offset)).context("cannot read the file")?;
            self.position = position;
        }
        Ok(())
    }
}

/// The record of a JSON text.
fn json_record(line: u64, text: &[u8]) -> Item {
    let invalid = |reason: String| {
        let record = String::from_utf8_lossy(text).into_owned();
        Item::Invalid(RejectedRecord {
            line,
            column: None,
            reason,
            record: Some(Json::String(record)),
        })
    };
    match read_json(text) {
        Ok(Json::Object(data)) => Item::Record(ImportRecord { line, data }),
        Ok(_) => invalid("expected an object of values by column name".to_owned()),
        Err(error) => invalid(format!("invalid JSON: {error}")),
    }
}

/// A record from the names and values of columns.
fn record(line: u64, names: &[String], values: impl Iterator<Item = Json>) -> Item {
    let data: Map<String, Json> = names.iter().cloned().zip(values).collect();
    Item::Record(ImportRecord { line, data })
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// Renders records as JSON, and invalid ones as their reason.
    fn all(text: &str, format: ExportFormat, capacity: usize) -> Result<Vec<String>, String> {
        let input = std::io::BufReader::with_capacity(capacity, Cursor::new(text.as_bytes()));
        let options = CsvOptions { delimiter: b',', null: String::new() };
        let read = || -> anyhow::Result<Vec<String>> {
            let mut reader = RecordReader::new(input, format, options.clone())?;
            let mut found = Vec::new();
            let mut ends = Vec::new();
            while let Some(item) = reader.next()? {
                found.push(show(&item));
                ends.push(reader.position());
            }
            assert!(reader.next()?.is_none(), "{text}");
            // Each place can be resumed.
            for (index, end) in ends.into_iter().enumerate() {
                let input = Cursor::new(text.as_bytes());
                let mut reader = RecordReader::new(input, format, options.clone())?;
                reader.resume(end)?;
                let next = reader.next()?.map(|item| show(&item));
                assert_eq!(next.as_ref(), found.get(index + 1), "{text}");
            }
            Ok(found)
        };
        read().map_err(|error| error.to_string())
    }

    fn show(item: &Item) -> String {
        match item {
            Item::Record(record) => {
                format!("{}: {}", record.line, serde_json::to_string(&record.data).unwrap())
            }
            Item::Invalid(rejected) => format!("{}: {}", rejected.line, rejected.reason),
        }
    }

    #[track_caller]
    fn check(format: ExportFormat, text: &str, expected: &[&str]) {
        for capacity in [1, 3, 4096] {
            assert_eq!(all(text, format, capacity).unwrap(), expected, "{text:?} {capacity}");
        }
    }

    #[track_caller]
    fn fails(format: ExportFormat, text: &str, expected: &str) {
        let error = all(text, format, 4096).unwrap_err();
        assert!(error.contains(expected), "{text:?}: {error}");
    }

    #[test]
    fn csv_files() {
        use ExportFormat::Csv;
        check(Csv, "a,b\n1,x\n", &[r#"2: {"a":"1","b":"x"}"#]);
        check(
            Csv,
            "\u{feff}a,\"b,\"\r\n1,\r\n\r\n\"\",y",
            &[r#"2: {"a":"1","b,":null}"#, r#"4: {"a":"","b,":"y"}"#],
        );
        check(Csv, "a\n\"x\ny\"\"z\"\n2\n", &[r#"2: {"a":"x\ny\"z"}"#, r#"4: {"a":"2"}"#]);
        check(
            Csv,
            "a,b\n1\n2,3,4\n5,6\n",
            &[
                "2: expected 2 fields, found 1",
                "3: expected 2 fields, found 3",
                r#"4: {"a":"5","b":"6"}"#,
            ],
        );
        check(Csv, "a\n\"x\"y\n1\n", &["2: text follows a quoted field", r#"3: {"a":"1"}"#]);
        check(Csv, "a\n\"x\n1\n", &["2: a quoted field is not closed"]);
        check(Csv, "a\n", &[]);
        fails(Csv, "", "has no header");
        fails(Csv, "a,A\n", "duplicate column");
        fails(Csv, "a,\n", "empty column name");
    }

    #[test]
    fn ndjson_files() {
        use ExportFormat::NdJson;
        check(
            NdJson,
            "{\"a\": 1}\n\n {\"a\": [2]} \r\n[1]\n{\n{\"a\":null}",
            &[
                r#"1: {"a":1}"#,
                r#"3: {"a":[2]}"#,
                "4: expected an object of values by column name",
                "5: invalid JSON: EOF while parsing an object at line 1 column 1",
                r#"6: {"a":null}"#,
            ],
        );
        check(NdJson, "", &[]);
    }

    #[test]
    fn json_files() {
        use ExportFormat::Json;
        check(
            Json,
            " [ {\"a\": \"]},\\\"{\"},\n{\"b\": [1, {}]}\n, 7 ,{\"a\":}, {}]\n",
            &[
                r#"1: {"a":"]},\"{"}"#,
                r#"2: {"b":[1,{}]}"#,
                "3: expected an object of values by column name",
                "3: invalid JSON: expected value at line 1 column 6",
                "3: {}",
            ],
        );
        check(Json, "[]", &[]);
        fails(Json, "{\"a\": 1}", "expected a JSON array");
        fails(Json, "[{\"a\": 1}", "the array is not closed");
        fails(Json, "[{\"a\": 1} {}]", "expected `,`");
        fails(Json, "[] x", "text follows the array");
    }
}
