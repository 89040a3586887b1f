//! JSON to EDN text without values in between, which take many times the memory of a text of numbers.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;

use super::reader::{FromJson, Keys, Reader, Sink};
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
    let mut transcription = Transcription { out: String::with_capacity(text.len()) };
    Reader::with_options(text, options.clone()).document(&mut transcription)?;
    Ok(transcription.out)
}

/// Writes EDN on one line.
#[derive(Default)]
pub(super) struct Transcription {
    out: String,
}

impl<'a> Sink<'a> for Transcription {
    /// The keys of an object.
    type Open = HashSet<Cow<'a, str>>;

    fn scalar(&mut self, value: Value) {
        // Writing to a string cannot fail.
        let _ = write!(self.out, "{value}");
    }

    fn string(&mut self, text: Cow<'a, str>) {
        match text {
            // A string without escape sequences in JSON has none in EDN.
            Cow::Borrowed(text) => self.out.extend(["\"", text, "\""]),
            Cow::Owned(text) => self.scalar(Value::String(text)),
        }
    }

    fn open(&mut self, is_object: bool) -> Self::Open {
        self.out.push(if is_object { '{' } else { '[' });
        HashSet::new()
    }

    fn key(&mut self, keys: &mut Self::Open, key: Cow<'a, str>, kind: Keys) -> bool {
        if kind == Keys::Keyword && syntax::is_plain_keyword(&key) {
            self.out.extend([":", &key]);
        } else {
            self.string(key.clone());
        }
        self.out.push(' ');
        keys.insert(key)
    }

    fn separate(&mut self, is_object: bool) {
        self.out.push_str(if is_object { ", " } else { " " });
    }

    fn close(&mut self, _keys: Self::Open, is_object: bool) -> Result<(), Error> {
        self.out.push(if is_object { '}' } else { ']' });
        Ok(())
    }
}
