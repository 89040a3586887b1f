//! Conversion of the JSON of rows to lines of tab-separated values, in one pass over the text.
//!
//! | JSON | cell |
//! |---|---|
//! | `null` | `NULL` |
//! | number | unchanged |
//! | string | its content with JSON's escapes, but a bare `"`; so an empty cell is an empty string, and a tab, line break or backslash is `\t`, `\n`, `\\` |
//! | `{"$blob": base64, …}`, `$text`, `$float` | `$blob base64` |
//!
//! A string that looks like one of the others, `NULL` or `$blob …`, has its first character escaped:
//! `\u004eULL`. So every cell can be read back, except for the difference between the number 5 and the
//! string "5", and except for long cells, which are abbreviated: `…[+2000 characters]`, `…[3000 bytes]`.

/// Tags of values that JSON has no form for.
const TAGS: [&str; 3] = ["$blob ", "$text ", "$float "];

/// The maximum length of a string that is not abbreviated, in characters and escapes.
pub(super) const MAX_CHARS: usize = 500;
/// The length of an abbreviated string.
pub(super) const KEPT_CHARS: usize = 400;
/// The maximum length of base64 that is not abbreviated.
pub(super) const MAX_BASE64: usize = 128;
/// The length of abbreviated base64: 48 bytes.
pub(super) const KEPT_BASE64: usize = 64;

/// Instructions for reading the rest of abbreviated cells.
pub(super) const REST: &str = "read the rest with substr(column, 401) of text, or substr(column, 49) of a BLOB, \
                               in execute_raw_query";

/// Appends a line of names, which are JSON strings.
pub(super) fn header<'n>(text: &mut String, names: impl Iterator<Item = &'n str>) -> Option<()> {
    for (index, name) in names.enumerate() {
        if index > 0 {
            text.push('\t');
        }
        self::name(text, name)?;
    }
    text.push('\n');
    Some(())
}

/// Appends a name, which is a JSON string.
pub(super) fn name(text: &mut String, name: &str) -> Option<()> {
    let mut json = Json { rest: name, abbreviated: 0 };
    json.whole_string(text)?;
    json.is_at_end()
}

/// Appends a line for each row of a JSON array of arrays without white space, as `rowset` writes it, and returns the
/// number of abbreviated cells. None for anything else; the text may then end anywhere.
pub(super) fn rows(text: &mut String, rows: &str) -> Option<u64> {
    let (abbreviated, rest) = rows_before(text, rows)?;
    rest.is_empty().then_some(abbreviated)
}

/// [`rows`] of an array that other text follows, which is also returned.
pub(super) fn rows_before<'a>(text: &mut String, rows: &'a str) -> Option<(u64, &'a str)> {
    let mut json = Json { rest: rows, abbreviated: 0 };
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
    Some((json.abbreviated, json.rest))
}

struct Json<'a> {
    rest: &'a str,
    /// The number of abbreviated cells.
    abbreviated: u64,
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
        let start = text.len();
        self.whole_string(text)?;
        // A cheap check first: no character has less than one byte.
        if text.len() - start > MAX_CHARS {
            self.abbreviated += u64::from(abbreviate(text, start));
        }
        Some(())
    }

    fn whole_string(&mut self, text: &mut String) -> Option<()> {
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
        let value = self.until("\"")?;
        let size = self.until("}")?.strip_prefix(",\"bytes\":");
        match (value.get(..KEPT_BASE64), size) {
            (Some(kept), Some(size)) if value.len() > MAX_BASE64 => {
                text.push_str(&format!("{kept}…[{size} bytes]"));
                self.abbreviated += 1;
            }
            _ => text.push_str(value),
        }
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

/// Abbreviates the string from `start` on if it is too long, and returns whether it was. Does not cut escapes.
fn abbreviate(text: &mut String, start: usize) -> bool {
    let (mut count, mut kept) = (0, start);
    let mut rest = text[start..].char_indices();
    while let Some((index, first)) = rest.next() {
        if count == KEPT_CHARS {
            kept = start + index;
        }
        count += 1;
        if first == '\\' && rest.next().is_some_and(|(_, kind)| kind == 'u') {
            rest.nth(3);
        }
    }
    if count <= MAX_CHARS {
        return false;
    }
    text.truncate(kept);
    text.push_str(&format!("…[+{} characters]", count - KEPT_CHARS));
    true
}
