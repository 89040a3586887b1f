//! Conversion of JSON to values, or to EDN text.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::ops::Range;

use crate::error::{Error, Reason, quoted};
use crate::location::Step;
use crate::scanner::{Notation, Scanner, write_string};
use crate::syntax;
use crate::value::{Integer, Map, Value};

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
    /// Keywords if every reader of EDN accepts them ([`Keyword::plain`](crate::Keyword::plain)), else strings.
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
    let mut values = Values(Vec::new());
    Reader::with_options(text, options.clone()).document(&mut values)?;
    Ok(values.0.pop().unwrap_or_default())
}

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
    input: Scanner<'a>,
    options: FromJson,
    /// The range of the last value.
    span: Range<usize>,
}

/// The result that is built from the parts of a JSON text.
trait Sink<'a> {
    /// The state of an open array or object.
    type Open;

    fn scalar(&mut self, value: Value);
    fn string(&mut self, text: Cow<'a, str>);
    fn open(&mut self, is_object: bool) -> Self::Open;
    /// Adds a key and returns true, unless it is a duplicate.
    fn key(&mut self, open: &mut Self::Open, key: Cow<'a, str>, keys: Keys) -> bool;
    /// Adds the separator after a value.
    fn separate(&mut self, is_object: bool);
    /// Closes an array or an object. The error is a duplicate key.
    fn close(&mut self, open: Self::Open, is_object: bool) -> Result<(), Error>;
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
        Self { input: Scanner { text, at: 0 }, options, span: 0..0 }
    }

    /// The range of the last value in bytes, without white space around it.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Reads exactly one value.
    fn document(&mut self, sink: &mut impl Sink<'a>) -> Result<(), Error> {
        if !self.next_value(sink)? {
            return Err(self.unexpected("expected a value"));
        }
        self.skip_space();
        match self.input.peek() {
            None => Ok(()),
            Some(_) => Err(self.unexpected("unexpected text after the value")),
        }
    }

    /// Reads the next value. Returns false at the end of the text.
    fn next_value(&mut self, sink: &mut impl Sink<'a>) -> Result<bool, Error> {
        self.skip_space();
        let start = self.input.at;
        if self.input.peek().is_none() {
            return Ok(false);
        }
        self.value(sink, self.options.depth, "a value")?;
        self.span = start..self.input.at;
        Ok(true)
    }

    /// Reads a value in which arrays and objects may nest to a depth.
    fn value(
        &mut self,
        sink: &mut impl Sink<'a>,
        depth: usize,
        within: &'static str,
    ) -> Result<(), Error> {
        match self.input.peek().ok_or_else(|| self.input.unexpected_end(within))? {
            b'[' => return self.array(sink, self.deeper(depth)?),
            b'{' => return self.object(sink, self.deeper(depth)?),
            b'"' => sink.string(self.input.string(Notation::Json)?),
            b'-' | b'0'..=b'9' => sink.scalar(self.number()?),
            _ => sink.scalar(self.literal()?),
        }
        Ok(())
    }

    fn deeper(&self, depth: usize) -> Result<usize, Error> {
        let reason = Reason::TooDeep { limit: self.options.depth };
        depth.checked_sub(1).ok_or_else(|| self.input.error(reason, self.input.at))
    }

    fn array(&mut self, sink: &mut impl Sink<'a>, depth: usize) -> Result<(), Error> {
        let open = sink.open(false);
        let mut count = 0;
        self.skip();
        let mut elements = || {
            while self.continues(count == 0, b']')? {
                if count > 0 {
                    sink.separate(false);
                }
                self.value(sink, depth, "an array")?;
                count += 1;
            }
            Ok(())
        };
        elements().map_err(|error: Error| error.within(Step::Index(count)))?;
        sink.close(open, false)
    }

    fn object(&mut self, sink: &mut impl Sink<'a>, depth: usize) -> Result<(), Error> {
        let offset = self.input.at;
        let mut open = sink.open(true);
        let mut is_first = true;
        self.skip();
        while self.continues(is_first, b'}')? {
            if !is_first {
                sink.separate(true);
            }
            is_first = false;
            let key = self.key(sink, &mut open)?;
            let value = self.colon().and_then(|()| self.value(sink, depth, "an object"));
            value.map_err(|error| error.within(Step::key(&key)))?;
        }
        sink.close(open, true).map_err(|error| self.duplicate(offset).unwrap_or(error))
    }

    /// Whether a value or a key follows in an array or an object. Skips the comma before it, or the closing bracket.
    fn continues(&mut self, is_first: bool, close: u8) -> Result<bool, Error> {
        self.skip_space();
        let is_object = close == b'}';
        match self.input.peek() {
            Some(found) if found == close => {
                self.input.at += 1;
                Ok(false)
            }
            _ if is_first => Ok(true),
            Some(b',') => {
                self.skip();
                Ok(true)
            }
            None if is_object => Err(self.input.unexpected_end("an object")),
            None => Err(self.input.unexpected_end("an array")),
            Some(_) if is_object => Err(self.unexpected("expected `,` or `}`")),
            Some(_) => Err(self.unexpected("expected `,` or `]`")),
        }
    }

    fn key<S: Sink<'a>>(
        &mut self,
        sink: &mut S,
        open: &mut S::Open,
    ) -> Result<Cow<'a, str>, Error> {
        let offset = self.input.at;
        match self.input.peek() {
            Some(b'"') => {}
            None => return Err(self.input.unexpected_end("an object")),
            Some(_) => return Err(self.unexpected("expected a key in quotes")),
        }
        let key = self.input.string(Notation::Json)?;
        if sink.key(open, key.clone(), self.options.keys) {
            return Ok(key);
        }
        let mut text = String::new();
        write_string(&key, Notation::Json, &mut text);
        Err(self.input.error(Reason::DuplicateKey { key: quoted(&text) }, offset))
    }

    fn colon(&mut self) -> Result<(), Error> {
        self.skip_space();
        match self.input.peek() {
            Some(b':') => {
                self.skip();
                Ok(())
            }
            None => Err(self.input.unexpected_end("an object")),
            Some(_) => Err(self.unexpected("expected `:`")),
        }
    }

    fn number(&mut self) -> Result<Value, Error> {
        let offset = self.input.at;
        let word = self.word();
        number(word).map_err(|reason| self.input.error(reason, offset))
    }

    fn literal(&mut self) -> Result<Value, Error> {
        let offset = self.input.at;
        match self.word() {
            "null" => Ok(Value::Nil),
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            _ => Err(self.input.error(Reason::Json { what: "expected a value" }, offset)),
        }
    }

    /// The characters up to the end of a number or a literal, valid or not.
    fn word(&mut self) -> &'a str {
        let rest = self.input.rest();
        let is_word =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_');
        let word = &rest[..rest.bytes().take_while(is_word).count()];
        self.input.at += word.len();
        word
    }

    /// Skips a byte and the white space after it.
    fn skip(&mut self) {
        self.input.at += 1;
        self.skip_space();
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.input.peek() {
            self.input.at += 1;
        }
    }

    #[cold]
    fn unexpected(&self, what: &'static str) -> Error {
        self.input.error(Reason::Json { what }, self.input.at)
    }

    /// The error of the first duplicate key in an object. Reads the object again.
    #[cold]
    fn duplicate(&self, object: usize) -> Option<Error> {
        let options = FromJson { depth: usize::MAX, ..self.options.clone() };
        let mut reader = Self::with_options(self.input.text, options);
        reader.input.at = object;
        reader.next_value(&mut Transcription::default()).err()
    }
}

impl Iterator for Reader<'_> {
    type Item = Result<Value, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut values = Values(Vec::new());
        match self.next_value(&mut values) {
            Ok(_) => values.0.pop().map(Ok),
            Err(error) => {
                self.input.at = self.input.text.len();
                Some(Err(error))
            }
        }
    }
}

/// Parses a number: as an integer, or with a fraction or an exponent as a float, or as a decimal if it is out of the
/// range of floats.
fn number(word: &str) -> Result<Value, Reason> {
    let unsigned = word.strip_prefix('-').unwrap_or(word);
    let digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    let (whole, rest) = unsigned.split_at(digits);
    let has_digit = !rest.starts_with('.') || rest[1..].starts_with(|c: char| c.is_ascii_digit());
    if whole.is_empty() || (digits > 1 && whole.starts_with('0')) || !has_digit {
        return Err(Reason::number(word));
    }
    if rest.is_empty() {
        return Ok(Value::Integer(Integer::from_digits(word.starts_with('-'), whole)));
    }
    if !syntax::is_fraction(rest) {
        return Err(Reason::number(word));
    }
    let is_zero = || {
        let mut mantissa = word.bytes().take_while(|byte| !matches!(byte, b'e' | b'E'));
        !mantissa.any(|byte| matches!(byte, b'1'..=b'9'))
    };
    match word.parse::<f64>() {
        Ok(float) if float.is_finite() && (float != 0.0 || is_zero()) => Ok(Value::Float(float)),
        _ => word.parse().map(Value::Decimal).map_err(|error: Error| error.reason().clone()),
    }
}

/// Builds values. Contains the keys and values of all open arrays and objects.
struct Values(Vec<Value>);

impl<'a> Sink<'a> for Values {
    /// The index of the first value.
    type Open = usize;

    fn scalar(&mut self, value: Value) {
        self.0.push(value);
    }

    fn string(&mut self, text: Cow<'a, str>) {
        self.0.push(Value::String(text.into_owned()));
    }

    fn open(&mut self, _is_object: bool) -> usize {
        self.0.len()
    }

    fn key(&mut self, _open: &mut usize, key: Cow<'a, str>, keys: Keys) -> bool {
        self.0.push(match keys {
            Keys::Keyword => Value::from_name(&key),
            Keys::String => Value::String(key.into_owned()),
        });
        true
    }

    fn separate(&mut self, _is_object: bool) {}

    fn close(&mut self, open: usize, is_object: bool) -> Result<(), Error> {
        let parts = self.0.drain(open..);
        let value = match is_object {
            true => Value::Map(Map::of_entries(Map::pairs(parts))?),
            false => Value::Vector(parts.collect()),
        };
        self.0.push(value);
        Ok(())
    }
}

/// Writes EDN on one line, without intermediate values, which can take many times the memory of the text.
#[derive(Default)]
struct Transcription {
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
