//! The fields of a record of CSV (RFC 4180). As for Python, SQLite and spreadsheets, a quote within a field without
//! quotes is a character like others, and so is text after a field in quotes. The crate `csv` does not distinguish an
//! empty field, which is NULL, from an empty text in quotes, and does not limit the size of a record whose quote is not
//! closed.

use super::encoding::Encoding;
use super::input::LineEnd;

/// Maximum number of fields of a record: the most columns of a table in PostgreSQL. SQLite has fewer.
const MAX_FIELDS: usize = 1_600;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) text: String,
    pub(super) is_quoted: bool,
}

/// The reason why a record cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) reason: String,
    /// The number of the field from 0.
    pub(super) field: Option<usize>,
}

/// Parses a record line by line.
pub(super) struct FieldParser {
    delimiter: u8,
    encoding: Encoding,
    line_end: LineEnd,
    state: State,
    /// The bytes of the current field, and whether it is in quotes.
    bytes: Vec<u8>,
    is_quoted: bool,
    /// Whether the text in quotes has a line break.
    has_lines: bool,
    fields: Vec<Field>,
    problem: Option<Problem>,
}

#[derive(Clone, Copy)]
enum State {
    /// At the beginning of a field.
    Start,
    Bare,
    Quoted,
    /// After a quote within quotes, which may be their end.
    Closed,
}

impl FieldParser {
    pub(super) fn new(delimiter: u8, encoding: Encoding, line_end: LineEnd) -> Self {
        Self {
            delimiter,
            encoding,
            line_end,
            state: State::Start,
            bytes: Vec::new(),
            is_quoted: false,
            has_lines: false,
            fields: Vec::new(),
            problem: None,
        }
    }

    /// The fields of a record that is complete.
    pub(super) fn parse(
        record: &[u8],
        delimiter: u8,
        encoding: Encoding,
        line_end: LineEnd,
    ) -> Result<Vec<Field>, Problem> {
        let mut parser = Self::new(delimiter, encoding, line_end);
        for line in line_end.lines(record) {
            parser.line(line);
        }
        parser.finish()
    }

    /// Parses a line. Returns whether a field in quotes continues in the next one.
    pub(super) fn line(&mut self, line: &[u8]) -> bool {
        let (mut rest, line_break) = self.line_end.split(line);
        loop {
            match self.state {
                State::Start => {
                    self.is_quoted = rest.first() == Some(&b'"');
                    self.has_lines = false;
                    self.state = if self.is_quoted { State::Quoted } else { State::Bare };
                    rest = &rest[usize::from(self.is_quoted)..];
                }
                State::Bare => {
                    let end = rest.iter().position(|byte| *byte == self.delimiter);
                    self.bytes.extend_from_slice(&rest[..end.unwrap_or(rest.len())]);
                    self.end_field();
                    let Some(end) = end else { return false };
                    rest = &rest[end + 1..];
                }
                State::Quoted => match rest.iter().position(|byte| *byte == b'"') {
                    Some(end) => {
                        self.bytes.extend_from_slice(&rest[..end]);
                        rest = &rest[end + 1..];
                        self.state = State::Closed;
                    }
                    None => {
                        self.bytes.extend_from_slice(rest);
                        self.bytes.extend_from_slice(line_break);
                        self.has_lines = true;
                        return true;
                    }
                },
                State::Closed => match rest.split_first() {
                    Some((b'"', after)) => {
                        self.bytes.push(b'"');
                        rest = after;
                        self.state = State::Quoted;
                    }
                    Some((first, after)) if *first == self.delimiter => {
                        self.end_field();
                        rest = after;
                    }
                    Some(_) => {
                        // After several lines, a quote is missing or too many.
                        if self.has_lines {
                            self.fail("text follows a quoted field; double the quotes within it");
                        }
                        self.state = State::Bare;
                    }
                    None => {
                        self.end_field();
                        return false;
                    }
                },
            }
        }
    }

    pub(super) fn finish(self) -> Result<Vec<Field>, Problem> {
        match self.problem {
            None => Ok(self.fields),
            Some(problem) => Err(problem),
        }
    }

    fn end_field(&mut self) {
        self.state = State::Start;
        let mut bytes = std::mem::take(&mut self.bytes);
        if self.fields.len() == MAX_FIELDS {
            let reason = format!("more than {MAX_FIELDS} fields");
            self.problem.get_or_insert(Problem { reason, field: None });
            return;
        }
        // The form for spreadsheets of a text that looks like a number.
        if !self.is_quoted
            && let [b'=', b'"', inner @ .., b'"'] = bytes.as_slice()
            && !inner.contains(&b'"')
        {
            self.is_quoted = true;
            bytes = inner.to_vec();
        }
        match self.encoding.decode(bytes) {
            Ok(text) => self.fields.push(Field { text, is_quoted: self.is_quoted }),
            Err(reason) => {
                self.fail(&reason);
                self.fields.push(Field { text: String::new(), is_quoted: true });
            }
        }
    }

    fn fail(&mut self, reason: &str) {
        let field = Some(self.fields.len());
        self.problem.get_or_insert(Problem { reason: reason.to_owned(), field });
    }
}

#[cfg(test)]
mod tests {
    use super::{Encoding, FieldParser, LineEnd};

    /// Fields in quotes are shown in angle brackets.
    #[track_caller]
    fn check(record: &str, expected: Result<&[&str], &str>) {
        let (delimiter, line_end) = (b',', LineEnd::LineFeed);
        let found = FieldParser::parse(record.as_bytes(), delimiter, Encoding::Utf8, line_end);
        let found = found.map_err(|problem| problem.reason).map(|fields| {
            let show = |field: super::Field| match field.is_quoted {
                true => format!("<{}>", field.text),
                false => field.text,
            };
            fields.into_iter().map(show).collect::<Vec<_>>()
        });
        match expected {
            Ok(fields) => assert_eq!(found.as_deref(), Ok(owned(fields).as_slice()), "{record:?}"),
            Err(part) => {
                let reason = found.unwrap_err();
                assert!(reason.contains(part), "{record:?}: {reason}");
            }
        }
    }

    fn owned(fields: &[&str]) -> Vec<String> {
        fields.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn fields() {
        check("1,19\" monitor\n", Ok(&["1", "19\" monitor"]));
        check("5' 6\",\"x\"\n", Ok(&["5' 6\"", "<x>"]));
        check("a\"b\"c,d\n", Ok(&["a\"b\"c", "d"]));
        check(" \"x\",y\n", Ok(&[" \"x\"", "y"]));
        check("say \"\"hi\"\",1\n", Ok(&["say \"\"hi\"\"", "1"]));
        check("\"a \"\"b\"\"\",\"\"\n", Ok(&["<a \"b\">", "<>"]));
        check("\"x\r\ny\",1\r\n", Ok(&["<x\r\ny>", "1"]));
        check("\"x\ry\",1\rz\r\n", Ok(&["<x\ry>", "1\rz"]));
        check("\"x\ny\",1", Ok(&["<x\ny>", "1"]));
        check(",,\n", Ok(&["", "", ""]));
        check("=\"001\",=\"\",=1+1\n", Ok(&["<001>", "<>", "=1+1"]));
        check("\"=\"\"001\"\"\"\n", Ok(&["<=\"001\">"]));
        check("=\"a\"\"b\"\n", Ok(&["=\"a\"\"b\""]));
        check("\u{feff}\"x\"\n", Ok(&["\u{feff}\"x\""]));
        check("\"x\"y,\"a\"\n", Ok(&["<xy>", "<a>"]));
        check("\"x\" ,a\n", Ok(&["<x >", "a"]));
        check("\"x\" \"y\",\"\"\\\n", Ok(&["<x \"y\">", "<\\>"]));
        check("\"x\ny\" z,a\n", Err("text follows a quoted field"));
        check(&",".repeat(1_600), Err("more than 1600 fields"));
    }
}
