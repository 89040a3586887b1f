//! JSON to values.

use std::collections::HashSet;
use std::ops::Range;

use super::writer::write_string;
use crate::error::{Error, Reason, quoted};
use crate::location::{Path, Position, Step};
use crate::value::{Keyword, Map, Value};

/// Options for reading JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FromJson {
    /// The type of keys of objects. Default [`Keys::Keyword`].
    pub keys: Keys,
    /// Maximum depth of arrays and objects. Default 1,024. A larger limit requires a larger stack: see
    /// [`Value`].
    pub depth: usize,
}

impl Default for FromJson {
    fn default() -> Self {
        Self { keys: Keys::default(), depth: 1_024 }
    }
}

/// The type of keys of objects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Keys {
    /// Keywords if every reader of EDN accepts them ([`Keyword::plain`]), else strings.
    #[default]
    Keyword,
    /// Strings.
    String,
}

/// Reads the value of a JSON text (RFC 8259).
///
/// # Errors
/// The text is not one JSON value, is nested deeper than 1,024, or has a duplicate key or an exponent of more than
/// 32 bits.
pub fn from_str(text: &str) -> Result<Value, Error> {
    from_str_with(text, &FromJson::default())
}

/// [`from_str`] with options.
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

/// Reads the JSON values of a text. The first error is the last item.
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
    /// The offset of the next byte.
    pub(super) at: usize,
    /// The range of the last value.
    span: Range<usize>,
    /// The open arrays and objects, from the outermost.
    frames: Vec<Frame>,
    /// The keys and values of all frames.
    values: Vec<Value>,
}

/// An open array or object.
#[derive(Debug)]
struct Frame {
    is_object: bool,
    /// The index of its first value among the values of all frames.
    start: usize,
    /// Its offset in the text.
    offset: usize,
}

/// An error and its offset.
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
    /// A reader of the values of `text`.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self::with_options(text, FromJson::default())
    }

    /// [`new`](Self::new) with options.
    #[must_use]
    pub fn with_options(text: &'a str, options: FromJson) -> Self {
        let (frames, values) = (Vec::new(), Vec::new());
        Self { text, options, at: 0, span: 0..0, frames, values }
    }

    /// The range of the last value in bytes, without white space around it.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Reads the next value, if there is one.
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

    /// Reads a scalar, or opens an array or an object. Returns a complete value.
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

    /// Opens an array or an object, up to its first value. Returns an empty one.
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

    /// Adds a complete value to the innermost frame, and continues up to the next value. Returns the document once it
    /// is complete.
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

    /// Reads a key and the colon after it.
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

    /// Closes the innermost array or object, at its bracket.
    fn close(&mut self) -> Result<Value, Fault> {
        self.at += 1;
        let Some(frame) = self.frames.pop() else { return Ok(Value::Nil) };
        let parts = self.values.drain(frame.start..);
        if !frame.is_object {
            return Ok(Value::Vector(parts.collect()));
        }
        match Map::of_entries(Map::pairs(parts)) {
            Ok(map) => Ok(Value::Map(map)),
            Err(error) => Err(self
                .duplicate_key(frame.offset)
                .unwrap_or_else(|| Fault { reason: error.reason().clone(), offset: frame.offset })),
        }
    }

    /// Skips white space.
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

    /// The location of the first duplicate key in a complete object.
    #[cold]
    fn duplicate_key(&self, object: usize) -> Option<Fault> {
        let mut reader = Reader::new(self.text);
        reader.options.depth = usize::MAX;
        reader.at = object;
        let mut keys = HashSet::new();
        loop {
            // A bracket, or a comma.
            reader.at += 1;
            reader.skip_space();
            let offset = reader.at;
            let key = reader.string().ok()?;
            if keys.contains(&key) {
                let mut text = String::new();
                write_string(&key, &mut text);
                let reason = Reason::DuplicateKey { key: quoted(&text) };
                return Some(Fault { reason, offset });
            }
            keys.insert(key);
            reader.colon().ok()?;
            reader.document().ok()?;
            reader.skip_space();
        }
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
