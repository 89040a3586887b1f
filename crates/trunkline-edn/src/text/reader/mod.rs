//! Text to values, with a stack of frames on the heap.

mod frame;
mod locate;
mod number;
mod string;
mod token;

use std::str::FromStr;

use crate::error::{Error, Reason};
use crate::location::{Path, Position};
use crate::syntax;
use crate::value::MAX_DIGITS;
use crate::value::{Keyword, Map, Set, Value};
use frame::{Frame, Kind};

/// Limits on text that is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Maximum depth of forms: collections, and tags, metadata and `#_` before a form. Default 1,024. A larger
    /// limit requires a larger stack: see [`Value`].
    pub depth: usize,
    /// Maximum number of digits in each term of a ratio, and in an integer that is not decimal and over 64 bits.
    /// Default 1,024. Other numbers are stored as digits, and their size is not limited.
    pub digits: usize,
    /// Maximum number of bytes that the namespaces of namespaced maps (`#:name{…}`) add to the keys of one form.
    /// Default 16 MiB. Eight times the length of the form is always accepted. Without this limit, the size of
    /// values could be quadratic in the length of the text.
    pub namespaces: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 1_024, digits: MAX_DIGITS, namespaces: 16 << 20 }
    }
}

/// Reads exactly one form, within the default limits.
///
/// # Errors
/// The text is not one form, or exceeds a limit.
pub fn read(text: &str) -> Result<Value, Error> {
    read_with(text, &Limits::default())
}

/// Reads exactly one form.
impl FromStr for Value {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        read(text)
    }
}

/// Reads exactly one form.
///
/// It accepts the same text as Clojure's `clojure.edn`, with two differences. Unknown tags are accepted, and
/// `#inst` and `#uuid` are not checked in discarded forms. These are errors:
///
/// * a second form after the first one,
/// * UUIDs that are not canonical, and instants outside of the years 0000 to 9999,
/// * strings with half of a surrogate pair, and escapes with digits that are not ASCII,
/// * decimals with an exponent over 32 bits, in the text or in its normal notation,
/// * `#:` with anything but white space before the namespace, and keys of such maps that could not be
///   read back: `#:a{:1b 2}`.
///
/// Instants have nanoseconds, where Clojure truncates them to milliseconds: two that differ in nanoseconds only
/// are not duplicates in a set, or as keys.
///
/// # Errors
/// The text is not one form, or exceeds a limit.
pub fn read_with(text: &str, limits: &Limits) -> Result<Value, Error> {
    let mut reader = Reader::with_limits(text, limits.clone());
    let Some(value) = reader.form().map_err(|fault| reader.error(fault))? else {
        return Err(reader.error(Fault { reason: Reason::NoForm, offset: text.len() }));
    };
    // Discarded forms may follow.
    let fault = match reader.form() {
        Ok(None) => return Ok(value),
        Ok(Some(_)) => Fault { reason: Reason::TrailingForm, offset: reader.span.start },
        Err(fault) => fault,
    };
    Err(reader.error(fault))
}

/// Reads the forms of a text. The first error is the last item.
///
/// ```
/// use trunkline_edn::Reader;
///
/// let mut reader = Reader::new(":a #_:b [1 2] ; :c");
/// let forms: Vec<String> = reader.by_ref().map(|form| form.unwrap().to_string()).collect();
/// assert_eq!(forms, [":a", "[1 2]"]);
/// assert_eq!(reader.span(), 8..13);
/// ```
#[derive(Debug)]
pub struct Reader<'a> {
    text: &'a str,
    limits: Limits,
    /// The offset of the next byte.
    at: usize,
    /// The range of the last form.
    span: std::ops::Range<usize>,
    /// The open forms, from the outermost.
    frames: Vec<Frame>,
    /// The values in all frames, and the last one that was read.
    values: Vec<Value>,
    keywords: KeywordCache,
    /// The number of open `#_` forms.
    discarding: usize,
    /// The offset of the current form.
    form_start: usize,
    /// The number of bytes that namespaces have added to its keys.
    namespace_bytes: usize,
}

/// Namespaces may always add this multiple of the length of a form to its keys.
const NAMESPACE_FACTOR: usize = 8;

/// An error and its offset.
struct Fault {
    reason: Reason,
    offset: usize,
}

/// The result of one step.
enum Read {
    /// A complete value, which is the last of the values.
    Value,
    /// The beginning of a form.
    Open,
    End,
}

impl<'a> Reader<'a> {
    /// A reader of the forms of `text`.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self::with_limits(text, Limits::default())
    }

    /// [`new`](Self::new) with limits.
    #[must_use]
    pub fn with_limits(text: &'a str, limits: Limits) -> Self {
        let (frames, values, keywords) = (Vec::new(), Vec::new(), KeywordCache::default());
        Self {
            text,
            limits,
            at: 0,
            span: 0..0,
            frames,
            values,
            keywords,
            discarding: 0,
            form_start: 0,
            namespace_bytes: 0,
        }
    }

    /// The range of the last form in bytes, without white space and comments around it.
    #[must_use]
    pub fn span(&self) -> std::ops::Range<usize> {
        self.span.clone()
    }

    /// Reads the next form, if there is one.
    fn form(&mut self) -> Result<Option<Value>, Fault> {
        loop {
            self.skip_space()?;
            let start = self.at;
            if self.frames.is_empty() {
                (self.form_start, self.namespace_bytes) = (start, 0);
            }
            match self.read_one()? {
                Read::Value => {
                    if self.complete(start)? {
                        self.span = self.form_start..self.at;
                        return Ok(self.values.pop());
                    }
                }
                Read::Open if self.frames.len() > self.limits.depth => {
                    self.frames.pop();
                    let reason = Reason::TooDeep { limit: self.limits.depth };
                    return Err(Fault { reason, offset: start });
                }
                Read::Open => {}
                Read::End => {
                    let Some(frame) = self.frames.last() else { return Ok(None) };
                    let reason = Reason::UnexpectedEnd { within: frame.kind.description() };
                    return Err(Fault { reason, offset: self.text.len() });
                }
            }
        }
    }

    /// Reads a scalar, or the beginning or end of a collection. White space has been skipped.
    // Inlined: this makes reading a fifth faster.
    #[inline(always)]
    fn read_one(&mut self) -> Result<Read, Fault> {
        let Some(first) = self.peek() else { return Ok(Read::End) };
        let value = match first {
            b'"' => self.string()?,
            b':' => self.keyword()?,
            b'0'..=b'9' => self.number()?,
            b'(' => return Ok(self.open(Kind::List, 1)),
            b'[' => return Ok(self.open(Kind::Vector, 1)),
            b'{' => return Ok(self.open(Kind::Map, 1)),
            b')' | b']' | b'}' => self.close(first)?,
            b'\\' => self.character()?,
            b'#' => return self.dispatch(),
            b'^' => return Ok(self.open(Kind::Metadata, 1)),
            _ => self.symbol_or_number()?,
        };
        self.values.push(value);
        Ok(Read::Value)
    }

    fn open(&mut self, kind: Kind, length: usize) -> Read {
        self.frames.push(Frame { kind, start: self.values.len(), offset: self.at });
        self.at += length;
        Read::Open
    }

    /// Closes a collection, and returns it.
    fn close(&mut self, bracket: u8) -> Result<Value, Fault> {
        let offset = self.at;
        let fail = |reason| Err(Fault { reason, offset });
        let Some(frame) = self.frames.pop_if(|frame| frame.kind.close() == Some(bracket)) else {
            return fail(Reason::UnmatchedDelimiter { found: char::from(bracket) });
        };
        self.at += 1;
        let parts = self.values.drain(frame.start..);
        let value = match frame.kind {
            Kind::List => Ok(Value::List(parts.collect())),
            Kind::Set => Set::of_values(parts.collect()).map(Value::Set),
            Kind::Map | Kind::NamespacedMap(_) if !parts.len().is_multiple_of(2) => {
                drop(parts);
                return fail(Reason::OddMap);
            }
            Kind::Map => Map::of_entries(Map::pairs(parts)).map(Value::Map),
            Kind::NamespacedMap(namespace) => {
                let mut entries = Map::pairs(parts);
                self.namespace_bytes += entries.len().saturating_mul(namespace.len());
                let in_proportion = NAMESPACE_FACTOR * (self.at - self.form_start);
                if self.namespace_bytes > self.limits.namespaces.max(in_proportion) {
                    let reason = Reason::LongNamespaces { limit: self.limits.namespaces };
                    return Err(Fault { reason, offset: frame.offset });
                }
                let mut keys = entries.iter_mut().map(|(key, _)| key);
                match keys.try_for_each(|key| frame::qualify(key, &namespace)) {
                    Ok(()) => Map::of_entries(entries).map(Value::Map),
                    Err(reason) => Err(reason.into()),
                }
            }
            // Other frames have no bracket.
            _ => Ok(Value::Vector(parts.collect())),
        };
        value.map_err(|error| self.collection_fault(&error, frame.offset))
    }

    /// The fault for an invalid collection that begins at `offset`.
    #[cold]
    fn collection_fault(&self, error: &Error, offset: usize) -> Fault {
        let reason = error.reason().clone();
        let second = match reason {
            Reason::DuplicateKey { .. } => self.duplicate_offset(offset),
            _ => None,
        };
        Fault { reason, offset: second.unwrap_or(offset) }
    }

    /// Completes the forms that end with the last value: tags, metadata, `#_`, `##`. Returns whether it is a complete
    /// form.
    #[inline(always)]
    fn complete(&mut self, start: usize) -> Result<bool, Fault> {
        let fault = |reason| Fault { reason, offset: start };
        while let Some(frame) = self.frames.last_mut() {
            if frame.kind.close().is_some() {
                return Ok(false);
            }
            let value = self.values.pop().unwrap_or_default();
            let value = match &mut frame.kind {
                Kind::Discard => {
                    self.frames.pop();
                    self.discarding -= 1;
                    return Ok(false);
                }
                Kind::Metadata if frame::is_metadata(&value) => {
                    frame.kind = Kind::WithMetadata;
                    return Ok(false);
                }
                Kind::WithMetadata if frame::has_metadata(&value) => value,
                Kind::Metadata | Kind::WithMetadata => return Err(fault(Reason::Metadata)),
                Kind::Symbolic => frame::symbolic(&value).map_err(fault)?,
                // Tags have no meaning in discarded forms.
                Kind::Tag(tag) => frame::tagged(tag, value, self.discarding == 0).map_err(fault)?,
                // Collections end with a bracket.
                Kind::List | Kind::Vector | Kind::Set | Kind::Map | Kind::NamespacedMap(_) => value,
            };
            self.values.push(value);
            self.frames.pop();
        }
        Ok(true)
    }

    /// Reads a form that begins with `#`.
    fn dispatch(&mut self) -> Result<Read, Fault> {
        let offset = self.at;
        match self.text.as_bytes().get(offset + 1) {
            Some(b'{') => Ok(self.open(Kind::Set, 2)),
            Some(b'_') => {
                self.discarding += 1;
                Ok(self.open(Kind::Discard, 2))
            }
            Some(b'^') => Ok(self.open(Kind::Metadata, 2)),
            Some(b'#') => Ok(self.open(Kind::Symbolic, 2)),
            Some(b':') => self.namespaced_map(),
            _ => match self.text[offset + 1..].chars().next() {
                // The table of dispatch characters in Clojure has 256 entries.
                Some(first) if first.is_alphabetic() && u32::from(first) < 256 => self.tag(),
                Some(found) => Err(Fault { reason: Reason::Dispatch { found }, offset }),
                None => Err(Fault { reason: Reason::UnexpectedEnd { within: "a tag" }, offset }),
            },
        }
    }

    fn tag(&mut self) -> Result<Read, Fault> {
        let offset = self.at;
        self.at += 1;
        let Value::Symbol(tag) = self.symbol_or_number()? else {
            return Err(Fault { reason: Reason::Tag, offset });
        };
        self.frames.push(Frame { kind: Kind::Tag(tag), start: self.values.len(), offset });
        Ok(Read::Open)
    }

    fn namespaced_map(&mut self) -> Result<Read, Fault> {
        let offset = self.at;
        let fault = || Fault { reason: Reason::NamespacedMap, offset };
        self.at += 2;
        self.skip_white();
        let symbol = match self.peek() {
            // A colon begins a keyword, which is not a namespace.
            Some(b':') | None => return Err(fault()),
            Some(_) => self.symbol_or_number().map_err(|_| fault())?,
        };
        let Value::Symbol(namespace) = symbol else { return Err(fault()) };
        self.skip_white();
        // Keys in the namespace `/` could not be read back.
        let is_namespace = namespace.namespace().is_none() && namespace.as_str() != "/";
        if !is_namespace || self.peek() != Some(b'{') {
            return Err(fault());
        }
        let kind = Kind::NamespacedMap(namespace.as_str().into());
        self.frames.push(Frame { kind, start: self.values.len(), offset });
        self.at += 1;
        Ok(Read::Open)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn error(&self, fault: Fault) -> Error {
        let Fault { reason, offset } = fault;
        let path = Path::from_iter(self.frames.iter().enumerate().filter_map(|(at, frame)| {
            let end = self.frames.get(at + 1).map_or(self.values.len(), |inner| inner.start);
            frame.step(&self.values[frame.start..end])
        }));
        Error::from(reason).in_path(path).at(Position::of(self.text, offset))
    }
}

impl Iterator for Reader<'_> {
    type Item = Result<Value, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.form() {
            Ok(form) => form.map(Ok),
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

/// The keywords that were read most recently. Most texts repeat a few keywords: a copy costs less than the
/// validation, and shares the text of long ones.
#[derive(Debug, Default)]
struct KeywordCache(Vec<Option<Keyword>>);

/// The size of the cache. Each text has one slot.
const CACHE_SLOTS: usize = 64;

impl KeywordCache {
    fn get(&self, text: &str) -> Option<Keyword> {
        let keyword = self.0.get(Self::slot(text))?.as_ref()?;
        (keyword.as_str() == text).then(|| keyword.clone())
    }

    fn insert(&mut self, keyword: &Keyword) {
        if self.0.is_empty() {
            self.0.resize(CACHE_SLOTS, None);
        }
        self.0[Self::slot(keyword.as_str())] = Some(keyword.clone());
    }

    fn slot(text: &str) -> usize {
        syntax::fingerprint(text) % CACHE_SLOTS
    }
}
