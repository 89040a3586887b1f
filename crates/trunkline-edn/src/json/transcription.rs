//! JSON as EDN without values between them: a text of numbers would be many times its length as those.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;

use super::number;
use super::options::{FromJson, Keys};
use super::read::{from_str, from_str_with};
use crate::error::Error;
use crate::syntax;
use crate::value::Value;

/// A JSON text as EDN, on one line: as [`from_str_with`] reads it.
///
/// # Errors
/// Those of [`from_str`].
///
/// ```
/// use trunkline_edn::json::{self, FromJson};
///
/// let edn = json::to_edn(r#"{"id": 7, "due date": null}"#, &FromJson::default())?;
/// assert_eq!(edn, r#"{:id 7, "due date" nil}"#);
/// # Ok::<(), trunkline_edn::Error>(())
/// ```
pub fn to_edn(text: &str, options: &FromJson) -> Result<String, Error> {
    let mut transcription = Transcription {
        text,
        at: 0,
        options,
        open: Vec::new(),
        out: String::with_capacity(text.len()),
    };
    match transcription.run() {
        Some(()) => Ok(transcription.out),
        // What is wrong, and where, is told by what reads values.
        None => from_str_with(text, options).map(|value| value.to_string()),
    }
}

struct Transcription<'a, 'o> {
    text: &'a str,
    /// Where the next byte is read.
    at: usize,
    options: &'o FromJson,
    /// The arrays and objects that have begun and not ended, from the outermost.
    open: Vec<Open<'a>>,
    out: String,
}

enum Open<'a> {
    Array,
    Object(Seen<'a>),
}

/// The keys of an object, of which no two are the same.
enum Seen<'a> {
    Few(Vec<Cow<'a, str>>),
    Many(HashSet<Cow<'a, str>>),
}

/// So many keys are compared one by one.
const FEW: usize = 16;

/// None of these goes on if the text is not as it has to be.
impl<'a> Transcription<'a, '_> {
    fn run(&mut self) -> Option<()> {
        loop {
            self.skip_space();
            // An array or an object that is not empty goes on with its first value.
            if self.value()? {
                continue;
            }
            if self.after_value()? {
                return Some(());
            }
        }
    }

    /// Transcribes a value, or the beginning of one that has parts: whether it is that.
    fn value(&mut self) -> Option<bool> {
        match self.peek()? {
            b'{' => self.begin(b'}', Open::Object(Seen::Few(Vec::new()))),
            b'[' => self.begin(b']', Open::Array),
            b'"' => {
                let text = self.string()?;
                self.write_string(&text);
                Some(false)
            }
            b'-' | b'0'..=b'9' => {
                let (number, length) = number::read(&self.text[self.at..])?;
                self.at += length;
                self.write(&number.ok()?)?;
                Some(false)
            }
            _ => {
                let rest = &self.text[self.at..];
                let literals = [("null", "nil"), ("true", "true"), ("false", "false")];
                let (json, edn) = literals.iter().find(|(json, _)| rest.starts_with(json))?;
                self.at += json.len();
                self.out.push_str(edn);
                Some(false)
            }
        }
    }

    /// Goes on behind a value: whether that is the end.
    fn after_value(&mut self) -> Option<bool> {
        loop {
            self.skip_space();
            let Some(open) = self.open.last() else {
                return (self.at == self.text.len()).then_some(true);
            };
            let is_object = matches!(open, Open::Object(_));
            match (self.peek()?, is_object) {
                (b',', true) => {
                    self.at += 1;
                    self.out.push_str(", ");
                    self.key()?;
                    return Some(false);
                }
                (b',', false) => {
                    self.at += 1;
                    self.out.push(' ');
                    return Some(false);
                }
                (b'}', true) | (b']', false) => self.end(),
                _ => return None,
            }
        }
    }

    /// Begins an array or an object: whether it has parts.
    fn begin(&mut self, close: u8, open: Open<'a>) -> Option<bool> {
        if self.open.len() >= self.options.depth {
            return None;
        }
        let is_object = matches!(open, Open::Object(_));
        self.out.push(if is_object { '{' } else { '[' });
        self.open.push(open);
        self.at += 1;
        self.skip_space();
        if self.peek()? == close {
            self.end();
            return Some(false);
        }
        if is_object {
            self.key()?;
        }
        Some(true)
    }

    fn end(&mut self) {
        self.at += 1;
        let is_object = matches!(self.open.pop(), Some(Open::Object(_)));
        self.out.push(if is_object { '}' } else { ']' });
    }

    fn key(&mut self) -> Option<()> {
        self.skip_space();
        if self.peek()? != b'"' {
            return None;
        }
        let key = self.string()?;
        if self.options.keys == Keys::Keyword && syntax::is_plain_keyword(&key) {
            self.out.push(':');
            self.out.push_str(&key);
        } else {
            self.write_string(&key);
        }
        self.out.push(' ');
        let Some(Open::Object(seen)) = self.open.last_mut() else { return None };
        seen.add(key)?;
        self.skip_space();
        (self.peek()? == b':').then(|| self.at += 1)
    }

    /// The string that begins here.
    fn string(&mut self) -> Option<Cow<'a, str>> {
        let (start, bytes) = (self.at, self.text.as_bytes());
        let mut end = start + 1;
        let mut is_escaped = false;
        loop {
            end += memchr::memchr2(b'"', b'\\', bytes.get(end..)?)?;
            if bytes[end] == b'"' {
                break;
            }
            is_escaped = true;
            end += 2;
        }
        self.at = end + 1;
        if is_escaped {
            let Value::String(text) = from_str(&self.text[start..self.at]).ok()? else {
                return None;
            };
            return Some(text.into());
        }
        let text = &self.text[start + 1..end];
        text.bytes().all(|byte| byte >= b' ').then_some(Cow::Borrowed(text))
    }

    #[expect(clippy::ptr_arg, reason = "whether it is borrowed tells whether it needs escapes")]
    fn write_string(&mut self, text: &Cow<'a, str>) {
        match text {
            // What needs no escape in JSON needs none here.
            Cow::Borrowed(text) => {
                self.out.push('"');
                self.out.push_str(text);
                self.out.push('"');
            }
            Cow::Owned(text) => drop(self.write(&Value::String(text.clone()))),
        }
    }

    fn write(&mut self, value: &Value) -> Option<()> {
        write!(self.out, "{value}").ok()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}

impl<'a> Seen<'a> {
    /// None if the key was seen.
    fn add(&mut self, key: Cow<'a, str>) -> Option<()> {
        match self {
            Self::Few(keys) if keys.len() < FEW => {
                let is_new = !keys.contains(&key);
                keys.push(key);
                is_new.then_some(())
            }
            Self::Few(keys) => {
                let mut many: HashSet<_> = std::mem::take(keys).into_iter().collect();
                let is_new = many.insert(key);
                *self = Self::Many(many);
                is_new.then_some(())
            }
            Self::Many(keys) => keys.insert(key).then_some(()),
        }
    }
}
