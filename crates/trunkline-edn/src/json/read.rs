//! From JSON to values.

use std::ops::Range;

use super::options::{FromJson, Keys};
use crate::error::{Error, Reason};
use crate::location::{Path, Position, Step};
use crate::value::parts::entries;
use crate::value::{Keyword, Map, Value};

/// The value of a JSON text (RFC 8259).
///
/// # Errors
/// When the text is not one JSON value, is nested deeper than 1,024, has an object with the same key
/// twice, or a number too large for a float and with an exponent of more than 32 bits.
pub fn from_str(text: &str) -> Result<Value, Error> {
    from_str_with(text, &FromJson::default())
}

/// The same with options.
///
/// # Errors
/// Those of [`from_str`].
pub fn from_str_with(text: &str, options: &FromJson) -> Result<Value, Error> {
    let mut reader = Reader::with_options(text, options.clone());
    let fault = match reader.document() {
        Ok(Some(value)) => {
            reader.skip_space();
            if reader.at == text.len() {
                return Ok(value);
            }
            Fault::json("there is more text behind the value", reader.at)
        }
        Ok(None) => Fault::json("there is no value", text.len()),
        Err(fault) => fault,
    };
    Err(reader.error(fault))
}

/// Reads the JSON values of a text, one after the other. It ends behind the first error.
///
/// ```
/// use trunkline_edn::json::Reader;
///
/// let mut reader = Reader::new("{\"a\": 1}\n[2, 3]\n");
/// assert_eq!(reader.next().unwrap()?.to_string(), "{:a 1}");
/// assert_eq!(reader.span(), 0..8);
/// assert_eq!(reader.next().unwrap()?.to_string(), "[2 3]");
/// assert!(reader.next().is_none());
/// # Ok::<(), trunkline_edn::Error>(())
/// ```
#[derive(Debug)]
pub struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) options: FromJson,
    /// Where the next byte is read.
    pub(super) at: usize,
    /// Where the last value begins and ends.
    span: Range<usize>,
    /// The arrays and objects that have begun and not ended, from the outermost.
    frames: Vec<Frame>,
    /// The parts of those, one after the other.
    values: Vec<Value>,
}

/// An array or an object that has begun and not ended.
#[derive(Debug)]
struct Frame {
    is_object: bool,
    /// Where its parts begin, among the parts of all frames.
    start: usize,
    /// Where it begins in the text.
    offset: usize,
}

/// What is wrong, and at which byte.
pub(super) struct Fault {
    pub(super) reason: Reason,
    pub(super) offset: usize,
}

impl Fault {
    pub(super) fn json(what: &'static str, offset: usize) -> Self {
        Self { reason: Reason::Json { what }, offset }
    }
}

impl<'a> Reader<'a> {
    /// Of the values of `text`.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self::with_options(text, FromJson::default())
    }

    /// The same with options.
    #[must_use]
    pub fn with_options(text: &'a str, options: FromJson) -> Self {
        let (frames, values) = (Vec::new(), Vec::new());
        Self { text, options, at: 0, span: 0..0, frames, values }
    }

    /// The bytes that the last value takes, without white space around it.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// The next value; none at the end.
    pub(super) fn document(&mut self) -> Result<Option<Value>, Fault> {
        self.skip_space();
        let begin = self.at;
        if begin == self.text.len() {
            return Ok(None);
        }
        loop {
            if let Some(value) = self.begin()?
                && let Some(value) = self.place(value)?
            {
                self.span = begin..self.at;
                return Ok(Some(value));
            }
        }
    }

    /// Reads a value without parts; none if one with parts begins here.
    fn begin(&mut self) -> Result<Option<Value>, Fault> {
        let Some(first) = self.peek() else { return Err(self.end_within_frame()) };
        match first {
            b'{' => self.open(b'}'),
            b'[' => self.open(b']'),
            b'"' => Ok(Some(Value::String(self.string()?.into_owned()))),
            b'-' | b'0'..=b'9' => self.number().map(Some),
            _ => self.literal().map(Some),
        }
    }

    /// Begins an array or an object, up to its first value. An empty one is complete.
    fn open(&mut self, close: u8) -> Result<Option<Value>, Fault> {
        let (offset, start, is_object) = (self.at, self.values.len(), close == b'}');
        if self.frames.len() >= self.options.depth {
            return Err(Fault { reason: Reason::TooDeep { limit: self.options.depth }, offset });
        }
        self.frames.push(Frame { is_object, start, offset });
        self.at += 1;
        self.skip_space();
        if self.is_at(close) {
            return self.close().map(Some);
        }
        if is_object {
            self.key()?;
        }
        Ok(None)
    }

    /// Puts a value that is complete where it belongs, and goes on to the next: none if there is one.
    fn place(&mut self, mut value: Value) -> Result<Option<Value>, Fault> {
        loop {
            let Some(frame) = self.frames.last() else { return Ok(Some(value)) };
            let is_object = frame.is_object;
            self.values.push(value);
            self.skip_space();
            match self.peek() {
                Some(b',') => {
                    self.at += 1;
                    self.skip_space();
                    if is_object {
                        self.key()?;
                    }
                    return Ok(None);
                }
                Some(b'}') if is_object => value = self.close()?,
                Some(b']') if !is_object => value = self.close()?,
                None => return Err(self.end_within_frame()),
                Some(_) => {
                    let what = match is_object {
                        true => "`,` or `}` is expected",
                        false => "`,` or `]` is expected",
                    };
                    return Err(Fault::json(what, self.at));
                }
            }
        }
    }

    /// Reads a key and the colon behind it.
    fn key(&mut self) -> Result<(), Fault> {
        match self.peek() {
            Some(b'"') => {}
            None => return Err(self.end_within_frame()),
            Some(_) => return Err(Fault::json("a key is expected, in quotes", self.at)),
        }
        let text = self.string()?;
        let keyword = match self.options.keys {
            Keys::Keyword => Keyword::plain(&text).map(Value::Keyword),
            Keys::String => None,
        };
        self.values.push(keyword.unwrap_or_else(|| Value::String(text.into_owned())));
        self.colon()
    }

    pub(super) fn colon(&mut self) -> Result<(), Fault> {
        self.skip_space();
        match self.peek() {
            Some(b':') => {
                self.at += 1;
                self.skip_space();
                Ok(())
            }
            None => Err(self.end_within_frame()),
            Some(_) => Err(Fault::json("`:` is expected", self.at)),
        }
    }

    /// Ends the innermost array or object, at whose bracket the reader is.
    fn close(&mut self) -> Result<Value, Fault> {
        self.at += 1;
        // What is ended has begun.
        let Some(frame) = self.frames.pop() else { return Ok(Value::Nil) };
        let parts = self.values.drain(frame.start..);
        if !frame.is_object {
            return Ok(Value::Vector(parts.collect()));
        }
        match Map::of_entries(entries(parts)) {
            Ok(map) => Ok(Value::Map(map)),
            Err(error) => Err(self
                .second_key(frame.offset)
                .unwrap_or_else(|| Fault { reason: error.reason().clone(), offset: frame.offset })),
        }
    }

    /// Passes white space.
    pub(super) fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn is_at(&self, byte: u8) -> bool {
        self.peek() == Some(byte)
    }

    fn end_within_frame(&self) -> Fault {
        let is_object = self.frames.last().is_some_and(|frame| frame.is_object);
        self.unexpected_end(if is_object { "an object" } else { "an array" })
    }

    pub(super) fn unexpected_end(&self, within: &'static str) -> Fault {
        Fault { reason: Reason::UnexpectedEnd { within }, offset: self.text.len() }
    }

    fn error(&self, fault: Fault) -> Error {
        let Fault { reason, offset } = fault;
        let steps = self.frames.iter().enumerate().filter_map(|(at, frame)| {
            let end = self.frames.get(at + 1).map_or(self.values.len(), |inner| inner.start);
            let parts = &self.values[frame.start..end];
            match frame.is_object {
                true if parts.len().is_multiple_of(2) => None,
                true => parts.last().map(Value::key_step),
                false => Some(Step::Index(parts.len())),
            }
        });
        Error::from(reason).in_path(Path::from_iter(steps)).at(Position::of(self.text, offset))
    }
}

impl Iterator for Reader<'_> {
    type Item = Result<Value, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.document() {
            Ok(value) => value.map(Ok),
            Err(fault) => {
                let error = self.error(fault);
                self.at = self.text.len();
                self.frames.clear();
                self.values.clear();
                Some(Err(error))
            }
        }
    }
}
