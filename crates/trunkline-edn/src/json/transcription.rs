//! JSON to EDN text without values in between, which take many times the memory of a text of numbers.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;

use super::reader::{FromJson, Keys, Reader, from_str_with};
use crate::error::Error;
use crate::syntax;
use crate::value::Value;

/// Converts a JSON text to EDN on one line, with the same result as [`from_str_with`].
///
/// # Errors
/// Those of [`from_str_with`].
///
/// ```
/// use trunkline_edn::json::{self, FromJson};
///
/// let edn = json::to_edn(r#"{"id": 7, "due date": null}"#, &FromJson::default())?;
/// assert_eq!(edn, r#"{:id 7, "due date" nil}"#);
/// # Ok::<(), trunkline_edn::Error>(())
/// ```
pub fn to_edn(text: &str, options: &FromJson) -> Result<String, Error> {
    let reader = Reader::with_options(text, options.clone());
    let mut transcription = Transcription { reader, out: String::with_capacity(text.len()) };
    match transcription.document() {
        Some(()) => Ok(transcription.out),
        // The reader of values returns the error with its location.
        None => from_str_with(text, options).map(|value| value.to_string()),
    }
}

struct Transcription<'a> {
    reader: Reader<'a>,
    out: String,
}

/// Each function returns `None` if the text is invalid.
impl<'a> Transcription<'a> {
    fn document(&mut self) -> Option<()> {
        self.reader.skip_space();
        self.value(self.reader.options.depth)?;
        self.reader.skip_space();
        self.reader.peek().is_none().then_some(())
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        match self.reader.peek()? {
            b'{' => self.object(depth.checked_sub(1)?),
            b'[' => self.array(depth.checked_sub(1)?),
            b'"' => {
                let text = self.reader.string().ok()?;
                self.string(&text)
            }
            b'-' | b'0'..=b'9' => {
                let number = self.reader.number().ok()?;
                self.scalar(&number)
            }
            _ => {
                let literal = self.reader.literal().ok()?;
                self.scalar(&literal)
            }
        }
    }

    fn array(&mut self, depth: usize) -> Option<()> {
        self.out.push('[');
        let mut ends = self.begins_empty(b']');
        while !ends {
            self.value(depth)?;
            ends = self.ends(b']')?;
            if !ends {
                self.out.push(' ');
            }
        }
        self.out.push(']');
        Some(())
    }

    fn object(&mut self, depth: usize) -> Option<()> {
        self.out.push('{');
        let mut keys = HashSet::new();
        let mut ends = self.begins_empty(b'}');
        while !ends {
            let key = self.key()?;
            if !keys.insert(key) {
                return None;
            }
            self.value(depth)?;
            ends = self.ends(b'}')?;
            if !ends {
                self.out.push_str(", ");
            }
        }
        self.out.push('}');
        Some(())
    }

    /// Begins an array or an object: whether it ends at once.
    fn begins_empty(&mut self, close: u8) -> bool {
        self.reader.at += 1;
        self.reader.skip_space();
        let is_empty = self.reader.is_at(close);
        self.reader.at += usize::from(is_empty);
        is_empty
    }

    /// Passes the comma or the bracket after a value: whether it is the bracket.
    fn ends(&mut self, close: u8) -> Option<bool> {
        self.reader.skip_space();
        let found = self.reader.peek()?;
        self.reader.at += 1;
        self.reader.skip_space();
        (found == close || found == b',').then_some(found == close)
    }

    fn key(&mut self) -> Option<Cow<'a, str>> {
        if !self.reader.is_at(b'"') {
            return None;
        }
        let key = self.reader.string().ok()?;
        if self.reader.options.keys == Keys::Keyword && syntax::is_plain_keyword(&key) {
            self.out.push(':');
            self.out.push_str(&key);
        } else {
            self.string(&key)?;
        }
        self.out.push(' ');
        self.reader.colon().ok()?;
        Some(key)
    }

    #[expect(clippy::ptr_arg, reason = "only an owned string had escape sequences")]
    fn string(&mut self, text: &Cow<'a, str>) -> Option<()> {
        match text {
            // A string without escape sequences in JSON has none in EDN.
            Cow::Borrowed(text) => {
                self.out.push('"');
                self.out.push_str(text);
                self.out.push('"');
                Some(())
            }
            Cow::Owned(text) => self.scalar(&Value::String(text.clone())),
        }
    }

    fn scalar(&mut self, value: &Value) -> Option<()> {
        write!(self.out, "{value}").ok()
    }
}
