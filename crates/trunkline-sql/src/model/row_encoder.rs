use std::collections::{HashMap, HashSet};

use bytes::Bytes;

use super::error::Error;
use super::exact_json;
use super::export::{ExportFormat, ExportText, Exported};
use super::file_value::{self, ColumnKind};
use super::json_text;
use super::rowset::ResultColumn;
use super::visibility::ResultMasks;

/// The size of a part of the text, unless a row is larger.
const PART: usize = 64 << 10;

/// Encodes rows as text, in parts.
#[derive(Debug)]
pub(crate) struct RowEncoder {
    format: ExportFormat,
    csv: CsvText,
    max_rows: u64,
    /// The kinds of the columns of a table. None for the rows of a statement.
    kinds: Vec<ColumnKind>,
    masks: ResultMasks,
    columns: Vec<ResultColumn>,
    /// The names of the columns as JSON, each followed by a colon.
    keys: Vec<Vec<u8>>,
    text: Vec<u8>,
    cell: Vec<u8>,
    rows: u64,
    bytes: u64,
}

impl RowEncoder {
    pub(crate) fn new(text: ExportText, max_rows: u64) -> Self {
        let ExportText { format, spreadsheet_safe, delimiter } = text;
        Self {
            format,
            csv: CsvText { delimiter, spreadsheet_safe },
            max_rows,
            kinds: Vec::new(),
            masks: ResultMasks::default(),
            columns: Vec::new(),
            keys: Vec::new(),
            text: Vec::with_capacity(PART + PART / 4),
            cell: Vec::new(),
            rows: 0,
            bytes: 0,
        }
    }

    /// Masks columns.
    pub(crate) fn masked_by(mut self, masks: ResultMasks) -> Self {
        self.masks = masks;
        self
    }

    /// Writes the rows of a table with columns of these kinds, so that an import of CSV reads the same values.
    pub(crate) fn of_table(mut self, kinds: Vec<ColumnKind>) -> Self {
        self.kinds = kinds;
        self
    }

    /// Writes the beginning of the text. Columns of equal names get numbers in objects.
    pub(crate) fn begin(&mut self, columns: Vec<ResultColumn>) {
        let names = match self.format {
            ExportFormat::Csv => columns.iter().map(|column| column.name.clone()).collect(),
            ExportFormat::NdJson | ExportFormat::Json => distinct_names(&columns),
        };
        match self.format {
            ExportFormat::Csv => {
                for (index, name) in names.iter().enumerate() {
                    self.separate(index);
                    self.csv.write_name(&mut self.text, name.as_bytes());
                }
                self.text.push(b'\n');
            }
            ExportFormat::NdJson => {}
            ExportFormat::Json => self.text.push(b'['),
        }
        let key = |name: &String| {
            let mut key = Vec::new();
            json_text::string(&mut key, name);
            key.push(b':');
            key
        };
        self.keys = names.iter().map(key).collect();
        self.columns = columns;
    }

    /// Number of columns.
    pub(crate) fn width(&self) -> usize {
        self.columns.len()
    }

    /// Writes a row. `write` appends the JSON of the value of a column.
    pub(crate) fn row<E: From<Error>>(
        &mut self,
        mut write: impl FnMut(usize, &mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.rows == self.max_rows {
            return Err(too_many_rows(self.max_rows).into());
        }
        if self.format == ExportFormat::Json {
            self.text.extend_from_slice(if self.rows == 0 { b"\n" } else { b",\n" });
        }
        let is_csv = self.format == ExportFormat::Csv;
        if !is_csv {
            self.text.push(b'{');
        }
        for index in 0..self.width() {
            self.separate(index);
            if is_csv {
                self.cell.clear();
                write(index, &mut self.cell)?;
                self.masks.apply(index, &mut self.cell, 0);
                // An empty line would be no row.
                if self.columns.len() == 1 && self.cell == b"null" {
                    let null = if self.kinds.is_empty() { "" } else { file_value::NULL };
                    self.csv.write_field(&mut self.text, null.as_bytes());
                } else {
                    let kind = self.kinds.get(index).copied();
                    self.csv.write_value(&mut self.text, &self.cell, kind);
                }
            } else {
                self.text.extend_from_slice(&self.keys[index]);
                let start = self.text.len();
                write(index, &mut self.text)?;
                self.masks.apply(index, &mut self.text, start);
                if self.format == ExportFormat::NdJson {
                    json_text::on_one_line(&mut self.text[start..]);
                }
            }
        }
        if !is_csv {
            self.text.push(b'}');
        }
        if self.format != ExportFormat::Json {
            self.text.push(b'\n');
        }
        self.rows += 1;
        Ok(())
    }

    fn separate(&mut self, index: usize) {
        if index > 0 {
            let is_csv = self.format == ExportFormat::Csv;
            self.text.push(if is_csv { self.csv.delimiter } else { b',' });
        }
    }

    /// The next part, if there is enough text.
    pub(crate) fn part(&mut self) -> Option<Bytes> {
        (self.text.len() >= PART).then(|| self.take())
    }

    fn take(&mut self) -> Bytes {
        self.bytes += self.text.len() as u64;
        Bytes::from(std::mem::replace(&mut self.text, Vec::with_capacity(PART + PART / 4)))
    }

    /// The last part, which can be empty.
    pub(crate) fn finish(mut self) -> (Bytes, Exported) {
        if self.format == ExportFormat::Json {
            self.text.extend_from_slice(b"\n]\n");
        }
        let last = self.take();
        (last, Exported { rows: self.rows, bytes: self.bytes, columns: self.columns })
    }
}

/// The names of columns, with a number after those that are not the first of their name.
fn distinct_names(columns: &[ResultColumn]) -> Vec<String> {
    let mut known = HashSet::with_capacity(columns.len());
    // The next number of each repeated name.
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut names = Vec::with_capacity(columns.len());
    for column in columns {
        let mut name = column.name.clone();
        while !known.insert(name.clone()) {
            let number = numbers.entry(&column.name).or_insert(2);
            name = format!("{}_{number}", column.name);
            *number += 1;
        }
        names.push(name);
    }
    names
}

fn too_many_rows(max: u64) -> Error {
    Error::OverLimit {
        message: format!(
            "the export has more than {max} rows; narrow it, or raise the maximum (--max-export-rows)"
        ),
    }
}

/// The details of CSV.
#[derive(Clone, Copy, Debug)]
struct CsvText {
    delimiter: u8,
    spreadsheet_safe: bool,
}

/// Whether a field is in quotes although it has no special characters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    IfNeeded,
    Always,
}

impl CsvText {
    /// Writes the name of a column. An import could read some names as other separators.
    fn write_name(self, text: &mut Vec<u8>, name: &[u8]) {
        let is_separator = |byte: &u8| matches!(byte, b';' | b'\t' | b'|');
        let is_special = name.iter().any(is_separator) || name.starts_with("\u{feff}".as_bytes());
        let quotes = if is_special { Quotes::Always } else { Quotes::IfNeeded };
        self.write_text(text, name, quotes);
    }

    /// Writes the JSON of a value.
    fn write_value(self, text: &mut Vec<u8>, json: &[u8], kind: Option<ColumnKind>) {
        match json.first() {
            Some(b'n') => {}
            Some(_) if kind == Some(ColumnKind::Json) => self.write_field(text, json),
            Some(b'"') => {
                // Most texts have no escape sequences.
                let bare = &json[1..json.len() - 1];
                if bare.contains(&b'\\') {
                    let field = serde_json::from_slice::<String>(json).unwrap_or_default();
                    if file_value::looks_like_object(field.as_bytes()) {
                        let mut object = Vec::new();
                        json_text::bytes(&mut object, "$text", field.as_bytes());
                        self.write_field(text, &object);
                    } else {
                        self.write_text(text, field.as_bytes(), Quotes::IfNeeded);
                    }
                } else {
                    let is_like_number = kind == Some(ColumnKind::Any)
                        && std::str::from_utf8(bare).is_ok_and(exact_json::is_number_text);
                    let quotes = if is_like_number { Quotes::Always } else { Quotes::IfNeeded };
                    self.write_text(text, bare, quotes);
                }
            }
            Some(b'{' | b'[') => self.write_field(text, json),
            _ => text.extend_from_slice(json),
        }
    }

    fn write_text(self, text: &mut Vec<u8>, field: &[u8], quotes: Quotes) {
        let is_prefixed = self.spreadsheet_safe && may_be_formula(field);
        let prefix: &[u8] = if is_prefixed { b"'" } else { b"" };
        self.write_prefixed(text, (prefix, field), quotes);
    }

    fn write_field(self, text: &mut Vec<u8>, field: &[u8]) {
        self.write_prefixed(text, (b"", field), Quotes::IfNeeded);
    }

    /// Writes a field, in quotes if it has a separator, or is empty, since an empty field is NULL.
    fn write_prefixed(self, text: &mut Vec<u8>, (prefix, field): (&[u8], &[u8]), quotes: Quotes) {
        let is_special =
            |byte: &u8| *byte == self.delimiter || matches!(byte, b'"' | b'\n' | b'\r');
        let has_space = field.first().is_some_and(u8::is_ascii_whitespace)
            || field.last().is_some_and(u8::is_ascii_whitespace);
        let is_plain = !field.is_empty() && !has_space && !field.iter().any(is_special);
        if is_plain && quotes == Quotes::IfNeeded {
            text.extend_from_slice(prefix);
            text.extend_from_slice(field);
            return;
        }
        text.push(b'"');
        text.extend_from_slice(prefix);
        for byte in field {
            if *byte == b'"' {
                text.push(b'"');
            }
            text.push(*byte);
        }
        text.push(b'"');
    }
}

/// Whether a spreadsheet could read a text as a formula, also after it has removed white space.
fn may_be_formula(field: &[u8]) -> bool {
    /// The characters with which formulas begin. Some spreadsheets accept the fullwidth forms of them.
    const FIRST: [&str; 8] = ["=", "+", "-", "@", "\u{ff1d}", "\u{ff0b}", "\u{ff0d}", "\u{ff20}"];
    let is_separator = matches!(field.first(), Some(b'\t' | b'\r' | b'\n'));
    let rest = field.trim_ascii_start();
    is_separator
        || (FIRST.iter().any(|first| rest.starts_with(first.as_bytes())) && !is_negative(field))
}

/// Whether a text is a negative number, as the values of exact types are.
fn is_negative(field: &[u8]) -> bool {
    let Some(digits) = field.strip_prefix(b"-") else { return false };
    let mut parts = digits.split(|byte| *byte == b'.');
    let is_number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    parts.next().is_some_and(is_number)
        && parts.next().is_none_or(is_number)
        && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::{ColumnKind, Error, ExportFormat, ExportText, ResultColumn, RowEncoder};

    #[track_caller]
    fn check(format: impl Into<ExportText>, names: &[&str], rows: &[&[&str]], expected: &str) {
        check_rows(RowEncoder::new(format.into(), 2), names, rows, expected);
    }

    #[track_caller]
    fn check_table(kinds: &[ColumnKind], names: &[&str], rows: &[&[&str]], expected: &str) {
        let encoder = RowEncoder::new(ExportFormat::Csv.into(), 2).of_table(kinds.to_vec());
        check_rows(encoder, names, rows, expected);
    }

    #[track_caller]
    fn check_rows(mut encoder: RowEncoder, names: &[&str], rows: &[&[&str]], expected: &str) {
        let column = |name: &&str| ResultColumn { name: (*name).to_owned(), declared_type: None };
        encoder.begin(names.iter().map(column).collect());
        for row in rows {
            let write = |index: usize, text: &mut Vec<u8>| {
                text.extend_from_slice(row[index].as_bytes());
                Ok::<_, Error>(())
            };
            encoder.row(write).unwrap();
        }
        let (text, exported) = encoder.finish();
        assert_eq!(String::from_utf8_lossy(&text), expected, "{names:?}");
        assert_eq!(exported.bytes, text.len() as u64);
    }

    /// `json` of PostgreSQL keeps the line breaks of a document.
    #[test]
    fn records_of_ndjson_are_lines() {
        let rows: &[&[&str]] = &[&["{\"a\":\n 1,\r\n\"b\": \"\\n\"}"]];
        check(ExportFormat::NdJson, &["j"], rows, "{\"j\":{\"a\":  1,  \"b\": \"\\n\"}}\n");
        check(ExportFormat::Json, &["j"], rows, "[\n{\"j\":{\"a\":\n 1,\r\n\"b\": \"\\n\"}}\n]\n");
    }

    #[test]
    fn rows_in_each_format() {
        use ExportFormat::{Csv, Json, NdJson};
        let names = ["a", "b,c", "a"];
        let rows: [&[&str]; 2] = [&["1", "\"x\"", "null"], &["-2.5", "\"\"", "\"é \\\"\\n,\""]];
        check(Csv, &names, &rows, "a,\"b,c\",a\n1,x,\n-2.5,\"\",\"é \"\"\n,\"\n");
        check(
            NdJson,
            &names,
            &rows,
            "{\"a\":1,\"b,c\":\"x\",\"a_2\":null}\n{\"a\":-2.5,\"b,c\":\"\",\"a_2\":\"é \\\"\\n,\"}\n",
        );
        let names = ["a", "a_2", "a", "a", "a_2"];
        let row = ["1", "2", "3", "4", "5"];
        check(NdJson, &names, &[&row], "{\"a\":1,\"a_2\":2,\"a_3\":3,\"a_4\":4,\"a_2_2\":5}\n");
        check(Json, &["a"], &rows, "[\n{\"a\":1},\n{\"a\":-2.5}\n]\n");
        check(Json, &["a"], &[], "[\n]\n");
        check(Csv, &["a"], &[], "a\n");
        check(NdJson, &["a"], &[], "");
        check(
            Csv,
            &["a"],
            &[&["{\"$blob\":\"AAE=\",\"bytes\":2}"], &["\" x\""]],
            "a\n\"{\"\"$blob\"\":\"\"AAE=\"\",\"\"bytes\"\":2}\"\n\" x\"\n",
        );
        check(Csv, &["a"], &[&["null"], &["1"]], "a\n\"\"\n1\n");
        // Names and texts that an import could take for something else.
        check(Csv, &["a;b"], &[&["1"]], "\"a;b\"\n1\n");
        check(Csv, &["\u{feff}a"], &[&["1"]], "\"\u{feff}a\"\n1\n");
        let text = r#""{\"$blob\": \"\"}""#;
        let object = r#""{""$text"":""eyIkYmxvYiI6ICIifQ=="",""bytes"":13}""#;
        check(Csv, &["a"], &[&[text]], &format!("a\n{object}\n"));
        let tabs = ExportText { delimiter: b'\t', ..Csv.into() };
        check(tabs, &["a", "b"], &[&["\"x,y\"", "\"x\\ty\""]], "a\tb\nx,y\t\"x\ty\"\n");
    }

    #[test]
    fn values_of_tables() {
        use ColumnKind::{Any, Json, Other};
        let rows: [&[&str]; 2] = [&["\"1\"", "\"1\"", "\"1\""], &["1", "1", "1"]];
        let expected = "a,b,c\n\"1\",\"\"\"1\"\"\",1\n1,1,1\n";
        check_table(&[Any, Json, Other], &["a", "b", "c"], &rows, expected);
        let null = r#""{""$null"":true}""#;
        check_table(&[Other], &["a"], &[&["null"], &["\"\""]], &format!("a\n{null}\n\"\"\n"));
    }

    #[test]
    fn texts_are_not_formulas_of_spreadsheets() {
        let safe = ExportText::spreadsheet_safe(ExportFormat::Csv).unwrap();
        for (value, expected) in [
            ("\"=cmd|' /C calc'!A0\"", "'=cmd|' /C calc'!A0"),
            ("\"@SUM(1,1)\"", "\"'@SUM(1,1)\""),
            ("\"+1+1\"", "'+1+1"),
            ("\"-1+1\"", "'-1+1"),
            ("\"-\"", "'-"),
            ("\"-1.\"", "'-1."),
            ("\"-1.2.3\"", "'-1.2.3"),
            ("\" =1+1\"", "\"' =1+1\""),
            ("\"\\t=1\"", "\"'\t=1\""),
            ("\"\\tx\"", "\"'\tx\""),
            ("\"\\r=1\"", "\"'\r=1\""),
            ("\"\\n=1\"", "\"'\n=1\""),
            ("\"\\u003d1\"", "'=1"),
            ("\"\u{ff1d}1\"", "'\u{ff1d}1"),
            // Neither numbers nor other texts are changed.
            ("-2.5", "-2.5"),
            ("-1e300", "-1e300"),
            ("\"-12.50\"", "-12.50"),
            ("\"-7\"", "-7"),
            ("\"a=b\"", "a=b"),
            ("\"'=1\"", "'=1"),
            ("\"\"", "\"\""),
            ("null", "\"\""),
            ("{\"$blob\":\"AA==\"}", "\"{\"\"$blob\"\":\"\"AA==\"\"}\""),
        ] {
            check(safe, &["a"], &[&[value]], &format!("a\n{expected}\n"));
        }
        check(safe, &["=1+1", "b"], &[], "'=1+1,b\n");
        check(ExportFormat::Csv, &["=1"], &[&["\"@x\""]], "=1\n@x\n");
    }

    #[test]
    fn the_number_of_rows_is_limited() {
        let mut encoder = RowEncoder::new(ExportFormat::Csv.into(), 1);
        encoder.begin(Vec::new());
        assert!(encoder.row(|_, _| Ok::<_, Error>(())).is_ok());
        assert!(encoder.row(|_, _| Ok::<_, Error>(())).is_err());
    }
}
