//! Records of CSV, NDJSON and JSON files, read one at a time, with their places in the file.

mod csv;
mod encoding;
mod fields;
mod input;
mod json;

use std::io::{BufRead, Seek};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use trunkline_sql::transfer::{ExportFormat, ImportRecord, RejectedRecord, read_json};

pub(super) use encoding::Encoding;
use input::Input;

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

/// The details of a file.
#[derive(Clone, Debug)]
pub(super) struct FileOptions {
    /// The separator of the fields of CSV. By default, that of the file.
    pub(super) delimiter: Option<u8>,
    /// The text of NULL in CSV, unless it is in quotes.
    pub(super) null: String,
    pub(super) encoding: Encoding,
}

/// Reads the records of a file.
pub(super) struct RecordReader<R> {
    input: Input<R>,
    format: ExportFormat,
    options: FileOptions,
    delimiter: u8,
    /// Number of records so far.
    records: u64,
    /// Number of bytes that were read again because of wrong quotes.
    read_again: u64,
    /// The names of the columns of a CSV file.
    header: Vec<String>,
    /// The number of columns after them that have no name, and whose fields are empty.
    unnamed: usize,
    /// The text of the current record.
    text: Vec<u8>,
    notice: Option<String>,
    has_ended: bool,
}

/// Maximum size of a record in bytes, as of a value in SQLite.
const MAX_RECORD: usize = 16 << 20;

impl<R: BufRead> RecordReader<R> {
    /// Reads the beginning of a file.
    pub(super) fn new(
        input: R,
        format: ExportFormat,
        options: FileOptions,
    ) -> anyhow::Result<Self> {
        let mut input = Input::new(input);
        let mark = encoding::check(input.sample(4, usize::MAX)?, options.encoding)?;
        input.consume(mark, 0);
        let mut reader = Self {
            input,
            format,
            options,
            delimiter: b',',
            records: 0,
            read_again: 0,
            header: Vec::new(),
            unnamed: 0,
            text: Vec::new(),
            notice: None,
            has_ended: false,
        };
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

    pub(super) fn options(&self) -> &FileOptions {
        &self.options
    }

    /// The separator of the fields of CSV.
    pub(super) fn delimiter(&self) -> u8 {
        self.delimiter
    }

    /// The assumption about the file that the user should know.
    pub(super) fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    /// The place after the last record.
    pub(super) fn position(&self) -> Position {
        let Input { offset, line, .. } = self.input;
        Position { offset, line, records: self.records }
    }

    /// The text of the last record.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
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
        self.records += u64::from(item.is_some());
        Ok(item)
    }
}

impl<R: BufRead + Seek> RecordReader<R> {
    /// Continues after a record.
    pub(super) fn resume(&mut self, position: Position) -> anyhow::Result<()> {
        if position.records > 0 {
            self.input.seek(position.offset, position.line)?;
            self.records = position.records;
        }
        Ok(())
    }
}

/// The record of a JSON text.
fn json_record(line: u64, text: &[u8], encoding: Encoding) -> Item {
    let text = text.trim_ascii();
    let read = encoding.decode(text.to_vec()).and_then(|decoded| {
        read_json(decoded.as_bytes()).map_err(|error| format!("invalid JSON: {error}"))
    });
    match read {
        Ok(Json::Object(data)) => Item::Record(ImportRecord { line, data }),
        Ok(_) => {
            let reason = "expected an object of values by column name".to_owned();
            invalid(line, None, reason, text)
        }
        Err(reason) => invalid(line, None, reason, text),
    }
}

/// A record from the names and values of columns.
fn record(line: u64, names: &[String], values: impl Iterator<Item = Json>) -> Item {
    let data: Map<String, Json> = names.iter().cloned().zip(values).collect();
    Item::Record(ImportRecord { line, data })
}

/// A record that cannot be read, with its text unless that is too long.
fn invalid(line: u64, column: Option<String>, reason: String, text: &[u8]) -> Item {
    let text = String::from_utf8_lossy(text.trim_ascii_end());
    let record = (!text.is_empty()).then(|| Json::String(text.into_owned()));
    Item::Invalid(RejectedRecord { line, column, reason, record })
}

fn too_long() -> String {
    format!("the record has more than {MAX_RECORD} bytes")
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// Renders records as JSON, and invalid ones as their reason.
    fn all(text: &str, format: ExportFormat, capacity: usize) -> Result<Vec<String>, String> {
        let input = std::io::BufReader::with_capacity(capacity, Cursor::new(text.as_bytes()));
        let options =
            FileOptions { delimiter: None, null: String::new(), encoding: Encoding::Utf8 };
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

    /// As [`all`], without reading again.
    fn once(text: &str, format: ExportFormat) -> Vec<String> {
        let options =
            FileOptions { delimiter: None, null: String::new(), encoding: Encoding::Utf8 };
        let mut reader = RecordReader::new(Cursor::new(text.as_bytes()), format, options).unwrap();
        std::iter::from_fn(|| reader.next().unwrap()).map(|item| show(&item)).collect()
    }

    fn show(item: &Item) -> String {
        match item {
            Item::Record(record) => {
                // Numbers of CSV are shown as texts, and documents with the text of the file.
                let value = |value: &Json| match value.get("\0json").and_then(Json::as_str) {
                    Some(text) if text.starts_with(['{', '[']) => text.to_owned(),
                    Some(number) => format!("\"{number}\""),
                    None => value.to_string(),
                };
                let member = |(name, json): (&String, &Json)| format!("{name:?}:{}", value(json));
                let data: Vec<String> = record.data.iter().map(member).collect();
                format!("{}: {{{}}}", record.line, data.join(","))
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
            "\u{feff}a,\"b,\"\r\n1,\r\n\r\n\"\",y\r\n\n\n",
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
        let follows = "2: text follows a quoted field; double the quotes within it";
        check(Csv, "a\n\"x\"y\n1\n", &[r#"2: {"a":"xy"}"#, r#"3: {"a":"1"}"#]);
        check(Csv, "a\n\"x\n1\n", &["2: a quoted field is not closed"]);
        check(Csv, "a\n\"x\n", &["2: a quoted field is not closed"]);
        // A quote too many, and a quote that is missing in a text of several lines.
        let again = "the following lines are read as records";
        check(
            Csv,
            "a,b\n1,\"x\n2,\"y\"\n3,z",
            &[&format!("{follows}; {again}"), r#"3: {"a":"2","b":"y"}"#, r#"4: {"a":"3","b":"z"}"#],
        );
        let unclosed = format!("2: a quoted field is not closed; {again}");
        check(Csv, "a,b\n1,\"x\n2,y\n", &[&unclosed, r#"3: {"a":"2","b":"y"}"#]);
        check(Csv, "a,b\n1,\"x\ny z\n\n!\n", &["2: a quoted field is not closed"]);
        check(
            Csv,
            "a,b\n1,\"x\ny \"z\" \n!\"\n2,y",
            &[follows, "4: expected 2 fields, found 1", r#"5: {"a":"2","b":"y"}"#],
        );
        check(Csv, "a\n", &[]);
        fails(Csv, "", "has no header");
        fails(Csv, "a,a\n", "duplicate column");
        fails(Csv, ",a\n", "column 1 in the header of the CSV file has no name");
        fails(Csv, "a,,b\n", "column 2 in the header of the CSV file has no name");
        fails(Csv, ",\n", "has no header");
    }

    /// The end of the header is that of all lines.
    #[test]
    fn csv_files_with_other_line_ends() {
        use ExportFormat::Csv;
        for (text, expected) in [
            ("a,b\r1,2\r3,4\r", &[r#"2: {"a":"1","b":"2"}"#, r#"3: {"a":"3","b":"4"}"#][..]),
            ("a,b\r1,2", &[r#"2: {"a":"1","b":"2"}"#]),
            ("a,b\r", &[]),
            (
                "\u{feff}\"a\",b\r1,\r\r\"\",y\r\r",
                &[r#"2: {"a":"1","b":null}"#, r#"4: {"a":"","b":"y"}"#],
            ),
            ("a;b\r1;2,5\r", &[r#"2: {"a":"1","b":"2,5"}"#]),
            ("sep=;\ra;b\r1;2\r", &[r#"3: {"a":"1","b":"2"}"#]),
            ("\r\ra\r1\r", &[r#"4: {"a":"1"}"#]),
            // Line ends in quotes are kept.
            (
                "a,b\r\"x\ry\",\"\n\"\r\"\r\n\",z\r",
                &[r#"2: {"a":"x\ry","b":"\n"}"#, r#"5: {"a":"\r\n","b":"z"}"#],
            ),
            ("\"a\rb\",c\r1,2\r", &[r#"3: {"a\rb":"1","c":"2"}"#]),
            // A mixture, and line ends that a program has written twice.
            (
                "a,b\r1,2\n3,4\r\n5,6\r",
                &[r#"2: {"a":"1","b":"2"}"#, r#"3: {"a":"3","b":"4"}"#, r#"4: {"a":"5","b":"6"}"#],
            ),
            ("a,b\r\r\n1,2\r\r\n", &[r#"3: {"a":"1","b":"2"}"#]),
            // Records that are not valid.
            ("a,b\r1\r2,3\r", &["2: expected 2 fields, found 1", r#"3: {"a":"2","b":"3"}"#]),
            (
                "a,b\r1,\"x\r2,y\r",
                &[
                    "2: a quoted field is not closed; the following lines are read as records",
                    r#"3: {"a":"2","b":"y"}"#,
                ],
            ),
            // In other files, a carriage return is a character.
            ("a,b\nx\ry,\"\r\"\n", &[r#"2: {"a":"x\ry","b":"\r"}"#]),
            ("a,b\r\nx\ry,\"\r\"\r\n", &[r#"2: {"a":"x\ry","b":"\r"}"#]),
            ("\r\n\r\na,b\r\n1,x\ry\r\n", &[r#"4: {"a":"1","b":"x\ry"}"#]),
            ("\"a\rb\"\n1\n", &[r#"2: {"a\rb":"1"}"#]),
            ("a,b\n1,2\r", &[r#"2: {"a":"1","b":"2\r"}"#]),
        ] {
            check(Csv, text, expected);
        }
    }

    #[test]
    fn csv_files_of_others() {
        use ExportFormat::Csv;
        // A quote within a field is literal.
        check(
            Csv,
            "id,name\n1,19\" monitor\n2,desk\n",
            &[r#"2: {"id":"1","name":"19\" monitor"}"#, r#"3: {"id":"2","name":"desk"}"#],
        );
        check(Csv, "a,b\nx\"y\"z,=\"001\"\n", &[r#"2: {"a":"x\"y\"z","b":"001"}"#]);
        check(Csv, "a\n=\"\"\n", &[r#"2: {"a":""}"#]);
        // A separator at the end of the lines.
        check(
            Csv,
            "a,b,\n1,x,\n2,y\n3,z,1\n4,,\n5,x,,\n",
            &[
                r#"2: {"a":"1","b":"x"}"#,
                r#"3: {"a":"2","b":"y"}"#,
                "4: a field after the 2 columns with names is not empty",
                r#"5: {"a":"4","b":null}"#,
                "6: expected 2 fields, found 4",
            ],
        );
        check(Csv, "a;b;;\n1;x;;\n", &[r#"2: {"a":"1","b":"x"}"#]);
        check(Csv, "a,\"\"\n1,x\n", &[r#"2: {"":"x","a":"1"}"#]);
        // Separators that the file names, or that its header has.
        for (text, expected) in [
            ("sep=;\na;b\n1;2\n", r#"3: {"a":"1","b":"2"}"#),
            ("\u{feff}sep=;\r\na;b\r\n1;2\r\n", r#"3: {"a":"1","b":"2"}"#),
            ("SEP=|\na,c|b\n1|2", r#"3: {"a,c":"1","b":"2"}"#),
            ("sep=\t\na\tb\n1\t2\n", r#"3: {"a":"1","b":"2"}"#),
            ("a;b\n1;2,5\n", r#"2: {"a":"1","b":"2,5"}"#),
            ("a\tb;c\td\n1\t2\t3\n", r#"2: {"a":"1","b;c":"2","d":"3"}"#),
            ("a|b\n1|2\n", r#"2: {"a":"1","b":"2"}"#),
            ("sep\n1\n", r#"2: {"sep":"1"}"#),
            ("sep=;x\n1\n", r#"2: {"sep=":"1","x":null}"#),
            ("\"a;b\"\n1;2\n", r#"2: {"a;b":"1;2"}"#),
            ("\"sep=;\"\n1\n", r#"2: {"sep=;":"1"}"#),
        ] {
            let found = all(text, Csv, 4096).unwrap();
            let expected =
                if text.starts_with("sep=;x") { "2: expected 2 fields, found 1" } else { expected };
            assert_eq!(found, [expected], "{text:?}");
            assert_eq!(all(text, Csv, 1).unwrap(), found, "{text:?}");
        }
        // A single damaged character, and a whole file of another encoding.
        let damaged = b"a,b\n1,caf\xe9\n2,x\n";
        let options =
            || FileOptions { delimiter: None, null: String::new(), encoding: Encoding::Utf8 };
        let mut reader = RecordReader::new(Cursor::new(damaged), Csv, options()).unwrap();
        let Some(Item::Invalid(rejected)) = reader.next().unwrap() else { panic!("not rejected") };
        assert_eq!((rejected.line, rejected.column.as_deref()), (2, Some("b")));
        assert!(rejected.reason.contains("0xE9"), "{rejected:?}");
        assert!(matches!(reader.next(), Ok(Some(Item::Record(_)))));
        let encoded = b"a;b\nna\xefve;caf\xe9\n";
        let error = RecordReader::new(Cursor::new(encoded), Csv, options()).err().unwrap();
        assert!(error.to_string().contains("--encoding windows-1252"), "{error}");
        let options = FileOptions { encoding: Encoding::Windows1252, ..options() };
        let mut reader = RecordReader::new(Cursor::new(encoded), Csv, options).unwrap();
        let Some(item) = reader.next().unwrap() else { panic!("no record") };
        assert_eq!(show(&item), r#"2: {"a":"naïve","b":"café"}"#);
    }

    /// A record that is too long is rejected, and the next ones are read.
    #[test]
    fn records_that_are_too_long() {
        let long = "x".repeat(MAX_RECORD + 1);
        let reason = format!("the record has more than {MAX_RECORD} bytes");
        for (format, text, line) in [
            (ExportFormat::Csv, format!("a\n{long}\n1\n"), 2),
            (ExportFormat::NdJson, format!("{{\"a\":\"{long}\"}}\n{{\"a\":\"1\"}}\n"), 1),
            (ExportFormat::Json, format!("[{{\"a\":\"{long}\"}},\n{{\"a\":\"1\"}}]"), 1),
        ] {
            let next = format!("{}: {{\"a\":\"1\"}}", line + 1);
            assert_eq!(once(&text, format), [format!("{line}: {reason}"), next]);
        }
        // A quote that is not closed for as long.
        let row = format!("2,{}\n", "x".repeat(1 << 16));
        let count = MAX_RECORD / row.len() + 2;
        let found = once(&format!("a,b\n1,\"x\n{}", row.repeat(count)), ExportFormat::Csv);
        assert!(found[0].starts_with("2: a quoted field is not closed"), "{}", found[0]);
        assert_eq!(found.len(), 1 + count);
        // A line without an end is not skipped for ever.
        let endless = std::io::BufReader::with_capacity(1 << 20, std::io::repeat(b'x'));
        let options =
            FileOptions { delimiter: None, null: String::new(), encoding: Encoding::Utf8 };
        let mut reader = RecordReader::new(endless, ExportFormat::NdJson, options).unwrap();
        let error = reader.next().unwrap_err().to_string();
        assert!(error.contains("check the format of the file"), "{error}");
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
        check(NdJson, "\u{feff}{\"a\":1}\n\n", &[r#"1: {"a":1}"#]);
    }

    #[test]
    fn json_files() {
        use ExportFormat::Json;
        check(
            Json,
            " [ {\"a\": \"]},\\\"{\"},\n{\"b\": [1, {}]}\n, 7 ,{\"a\":}, {}]\n",
            &[
                r#"1: {"a":"]},\"{"}"#,
                r#"2: {"b":[1, {}]}"#,
                "3: expected an object of values by column name",
                "3: invalid JSON: expected value at line 1 column 6",
                "3: {}",
            ],
        );
        check(Json, "[]", &[]);
        check(Json, "\u{feff}[{}]\n\n", &["1: {}"]);
        let missing = "1: an element is missing before or after a comma";
        check(Json, "[{},]", &["1: {}", missing]);
        check(Json, "[,{}]", &[missing, "1: {}"]);
        check(Json, "[{},,{}]", &["1: {}", missing, "1: {}"]);
        fails(Json, "{\"a\": 1}", "expected a JSON array");
        fails(Json, "[{\"a\": 1}", "the array is not closed");
        fails(Json, "[{\"a\": 1} {}]", "expected `,`");
        fails(Json, "[] x", "text follows the array");
    }
}
