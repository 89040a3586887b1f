//! The JSON of rows as lines of values with tabs between them, in one pass over the text.
//!
//! | JSON | cell |
//! |---|---|
//! | `null` | `NULL` |
//! | number | unchanged |
//! | string | its content with JSON's escapes, but a bare `"`; so an empty cell is an empty string, and a tab, line break or backslash is `\t`, `\n`, `\\` |
//! | `{"$blob": base64, …}`, `$text`, `$float` | `$blob base64` |
//!
//! A string that looks like one of the others, `NULL` or `$blob …`, has its first character escaped:
//! `\u004eULL`. So every cell can be read back, but for the difference between the number 5 and the
//! string "5".

/// Tags of values that JSON has no form for.
const TAGS: [&str; 3] = ["$blob ", "$text ", "$float "];

/// Appends a line of names, which are JSON strings.
pub(super) fn header<'n>(text: &mut String, names: impl Iterator<Item = &'n str>) -> Option<()> {
    for (index, name) in names.enumerate() {
        if index > 0 {
            text.push('\t');
        }
        let mut json = Json { rest: name };
        json.string(text)?;
        json.is_at_end()?;
    }
    text.push('\n');
    Some(())
}

/// Appends a line for each row of a JSON array of arrays, as `rowset` writes it: without blanks. None for
/// anything else; the text may then end anywhere.
pub(super) fn rows(text: &mut String, rows: &str) -> Option<()> {
    let mut json = Json { rest: rows };
    json.skip("[")?;
    text.reserve(rows.len());
    if json.skip("]").is_none() {
        loop {
            json.row(text)?;
            if json.skip(",").is_none() {
                break;
            }
        }
        json.skip("]")?;
    }
    json.is_at_end()
}

struct Json<'a> {
    rest: &'a str,
}

impl<'a> Json<'a> {
    fn row(&mut self, text: &mut String) -> Option<()> {
        self.skip("[")?;
        if self.skip("]").is_none() {
            loop {
                self.cell(text)?;
                if self.skip(",").is_none() {
                    break;
                }
                text.push('\t');
            }
            self.skip("]")?;
        }
        text.push('\n');
        Some(())
    }

    fn cell(&mut self, text: &mut String) -> Option<()> {
        match self.rest.as_bytes().first()? {
            b'"' => self.string(text),
            b'{' => self.tagged(text),
            b'n' => {
                self.skip("null")?;
                text.push_str("NULL");
                Some(())
            }
            _ => {
                let is_end = |byte: u8| byte == b',' || byte == b']';
                let end = self.rest.bytes().position(is_end)?;
                text.push_str(self.take(end)?);
                Some(())
            }
        }
    }

    fn string(&mut self, text: &mut String) -> Option<()> {
        self.skip("\"")?;
        if self.rest.starts_with("NULL\"") {
            self.skip("N")?;
            text.push_str("\\u004e");
        } else if TAGS.iter().any(|tag| self.rest.starts_with(tag)) {
            self.skip("$")?;
            text.push_str("\\u0024");
        }
        loop {
            let is_special = |byte: u8| byte == b'"' || byte == b'\\';
            let plain = self.rest.bytes().position(is_special)?;
            text.push_str(self.take(plain)?);
            if self.skip("\"").is_some() {
                return Some(());
            }
            if self.skip("\\\"").is_some() {
                text.push('"');
            } else {
                text.push_str(self.take(2)?);
            }
        }
    }

    /// `{"$blob":"AAE=","bytes":2}`
    fn tagged(&mut self, text: &mut String) -> Option<()> {
        self.skip("{\"$")?;
        text.push('$');
        text.push_str(self.until("\":\"")?);
        text.push(' ');
        text.push_str(self.until("\"")?);
        self.until("}")?;
        Some(())
    }

    fn skip(&mut self, expected: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(expected)?;
        Some(())
    }

    fn until(&mut self, end: &str) -> Option<&'a str> {
        let (part, rest) = self.rest.split_once(end)?;
        self.rest = rest;
        Some(part)
    }

    fn take(&mut self, bytes: usize) -> Option<&'a str> {
        let (part, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        Some(part)
    }

    fn is_at_end(&self) -> Option<()> {
        self.rest.is_empty().then_some(())
    }
}
