//! A recursive descent reader.

mod form;
mod locate;
mod number;
mod token;

use std::ops::Range;
use std::str::FromStr;

use crate::error::{Error, Reason};
use crate::scanner::{Notation, Scanner};
use crate::syntax;
use crate::value::MAX_DIGITS;
use crate::value::{Keyword, Map, Set, Symbol, Value};
use form::Kind;

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
/// * strings with a lone surrogate, and escapes with digits that are not ASCII,
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
    let no_form = |reader: &Reader<'_>| reader.input.error(Reason::NoForm, text.len());
    let value = reader.form()?.ok_or_else(|| no_form(&reader))?;
    // Discarded forms may follow.
    match reader.form()? {
        None => Ok(value),
        Some(_) => Err(reader.input.error(Reason::TrailingForm, reader.span.start)),
    }
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
    input: Scanner<'a>,
    limits: Limits,
    /// The range of the last form.
    span: Range<usize>,
    /// The values in all open collections.
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

/// The start of a form that contains others.
enum Opening<'a> {
    Collection(Kind<'a>),
    /// `#tag …`
    Tag(Symbol),
    /// `^…`, before the metadata.
    Metadata,
    /// `## …`
    Symbolic,
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
        Self {
            input: Scanner { text, at: 0 },
            limits,
            span: 0..0,
            values: Vec::new(),
            keywords: KeywordCache::default(),
            discarding: 0,
            form_start: 0,
            namespace_bytes: 0,
        }
    }

    /// The range of the last form in bytes, without white space and comments around it.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Reads the next form, if there is one.
    fn form(&mut self) -> Result<Option<Value>, Error> {
        self.skip_space(0)?;
        let Some(first) = self.input.peek() else { return Ok(None) };
        (self.form_start, self.namespace_bytes) = (self.input.at, 0);
        let value = self.value(first, 0)?;
        self.span = self.form_start..self.input.at;
        Ok(Some(value))
    }

    /// Skips white space, comments and discarded forms, in forms of a depth.
    #[inline]
    fn skip_space(&mut self, depth: usize) -> Result<(), Error> {
        loop {
            self.skip_white();
            match self.input.peek() {
                Some(b';') => {
                    let rest = self.input.rest().as_bytes();
                    self.input.at += memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
                }
                Some(b'#') if self.input.rest().starts_with("#_") => self.discard(depth)?,
                _ => return Ok(()),
            }
        }
    }

    fn discard(&mut self, depth: usize) -> Result<(), Error> {
        if depth == 0 {
            (self.form_start, self.namespace_bytes) = (self.input.at, 0);
        }
        let depth = self.deeper(depth, self.input.at)?;
        self.input.at += 2;
        self.discarding += 1;
        self.next_value(depth, "a discarded form")?;
        self.discarding -= 1;
        Ok(())
    }

    /// The depth of the values in a form that begins at an offset.
    fn deeper(&self, depth: usize, offset: usize) -> Result<usize, Error> {
        if depth < self.limits.depth {
            return Ok(depth + 1);
        }
        Err(self.input.error(Reason::TooDeep { limit: self.limits.depth }, offset))
    }

    /// Reads a value in a form, and returns it with its offset.
    fn next_value(&mut self, depth: usize, within: &'static str) -> Result<(Value, usize), Error> {
        self.skip_space(depth)?;
        let offset = self.input.at;
        let first = self.input.peek().ok_or_else(|| self.input.unexpected_end(within))?;
        Ok((self.value(first, depth)?, offset))
    }

    /// Reads a value, at its first byte.
    // Inlined: this makes reading a fifth faster.
    #[inline(always)]
    fn value(&mut self, first: u8, depth: usize) -> Result<Value, Error> {
        match first {
            b'"' => self.string(),
            b':' => self.keyword(),
            b'0'..=b'9' => self.number(),
            b'(' | b'[' | b'{' | b'#' | b'^' => self.compound(depth),
            b')' | b']' | b'}' => Err(self.unmatched(first)),
            b'\\' => self.character(),
            _ => self.symbol_or_number(),
        }
    }

    fn string(&mut self) -> Result<Value, Error> {
        self.input.string(Notation::Edn).map(|text| Value::String(text.into_owned()))
    }

    #[cold]
    fn unmatched(&self, found: u8) -> Error {
        let reason = Reason::UnmatchedDelimiter { found: char::from(found) };
        self.input.error(reason, self.input.at)
    }

    /// Reads a form that contains others. It recurses, so it has few variables.
    fn compound(&mut self, depth: usize) -> Result<Value, Error> {
        let offset = self.input.at;
        let opening = self.opening()?;
        let depth = self.deeper(depth, offset)?;
        let Opening::Collection(kind) = opening else { return self.prefixed(opening, depth) };
        let start = self.values.len();
        match self.parts(kind, depth) {
            Ok(()) => self.collection(kind, start, offset),
            Err(error) => Err(self.in_collection(kind, start, error)),
        }
    }

    /// Reads a form after its tag, metadata or `##`.
    fn prefixed(&mut self, opening: Opening<'a>, depth: usize) -> Result<Value, Error> {
        let within = match opening {
            Opening::Tag(_) => "a tagged value",
            Opening::Symbolic => "a symbolic value",
            Opening::Metadata | Opening::Collection(_) => "metadata",
        };
        let (mut value, mut offset) = self.next_value(depth, within)?;
        if let Opening::Metadata = opening
            && form::is_metadata(&value)
        {
            (value, offset) = self.next_value(depth, within)?;
            if form::has_metadata(&value) {
                return Ok(value);
            }
        }
        self.apply(opening, value).map_err(|reason| self.input.error(reason, offset))
    }

    /// The value of a tag or of `##`. Metadata is invalid here.
    fn apply(&self, opening: Opening<'a>, value: Value) -> Result<Value, Reason> {
        match opening {
            // Tags have no meaning in discarded forms.
            Opening::Tag(tag) => form::tagged(tag, value, self.discarding == 0),
            Opening::Symbolic => form::symbolic(&value),
            Opening::Metadata | Opening::Collection(_) => Err(Reason::Metadata),
        }
    }

    /// Reads the start of a form that contains others.
    fn opening(&mut self) -> Result<Opening<'a>, Error> {
        let offset = self.input.at;
        let (opening, length) = match &self.input.text.as_bytes()[offset..] {
            [b'(', ..] => (Opening::Collection(Kind::List), 1),
            [b'[', ..] => (Opening::Collection(Kind::Vector), 1),
            [b'{', ..] => (Opening::Collection(Kind::Map(None)), 1),
            [b'^', ..] => (Opening::Metadata, 1),
            [_, b'{', ..] => (Opening::Collection(Kind::Set), 2),
            [_, b'^', ..] => (Opening::Metadata, 2),
            [_, b'#', ..] => (Opening::Symbolic, 2),
            [_, b':', ..] => return self.namespaced_map(),
            _ => match self.input.text[offset + 1..].chars().next() {
                // The table of dispatch characters in Clojure has 256 entries.
                Some(first) if first.is_alphabetic() && u32::from(first) < 256 => {
                    self.input.at += 1;
                    let Value::Symbol(tag) = self.symbol_or_number()? else {
                        return Err(self.input.error(Reason::Tag, offset));
                    };
                    (Opening::Tag(tag), 0)
                }
                Some(found) => return Err(self.input.error(Reason::Dispatch { found }, offset)),
                None => {
                    let reason = Reason::UnexpectedEnd { within: "a tag" };
                    return Err(self.input.error(reason, offset));
                }
            },
        };
        self.input.at += length;
        Ok(opening)
    }

    fn namespaced_map(&mut self) -> Result<Opening<'a>, Error> {
        let offset = self.input.at;
        self.input.at += 2;
        self.skip_white();
        let start = self.input.at;
        // A colon begins a keyword, which is not a namespace.
        let symbol = match self.input.peek() {
            Some(b':') | None => None,
            Some(_) => self.symbol_or_number().ok(),
        };
        let namespace = &self.input.text[start..self.input.at];
        self.skip_white();
        // Keys in the namespace `/` could not be read back.
        let is_namespace = matches!(symbol, Some(Value::Symbol(_))) && !namespace.contains('/');
        if !is_namespace || !self.input.is_at(b'{') {
            return Err(self.input.error(Reason::NamespacedMap, offset));
        }
        self.input.at += 1;
        Ok(Opening::Collection(Kind::Map(Some(namespace))))
    }

    /// Reads the values of a collection into `values`, and skips its closing bracket.
    fn parts(&mut self, kind: Kind<'a>, depth: usize) -> Result<(), Error> {
        loop {
            self.skip_space(depth)?;
            let Some(first) = self.input.peek() else {
                return Err(self.input.unexpected_end(kind.description()));
            };
            if first == kind.close() {
                self.input.at += 1;
                return Ok(());
            }
            let value = self.value(first, depth)?;
            self.values.push(value);
        }
    }

    /// Adds the step in a collection to an error, and removes its values from `start`.
    #[cold]
    fn in_collection(&mut self, kind: Kind<'a>, start: usize, error: Error) -> Error {
        let step = kind.step(&self.values[start..]);
        self.values.truncate(start);
        step.into_iter().fold(error, Error::within)
    }

    /// The collection of the values from `start`.
    fn collection(&mut self, kind: Kind<'a>, start: usize, offset: usize) -> Result<Value, Error> {
        let parts = self.values.drain(start..);
        let value = match kind {
            Kind::List => return Ok(Value::List(parts.collect())),
            Kind::Vector => return Ok(Value::Vector(parts.collect())),
            Kind::Set => Set::of_values(parts.collect()).map(Value::Set),
            Kind::Map(_) if !parts.len().is_multiple_of(2) => {
                return Err(self.input.error(Reason::OddMap, self.input.at - 1));
            }
            Kind::Map(None) => Map::of_entries(Map::pairs(parts)).map(Value::Map),
            Kind::Map(Some(namespace)) => {
                let entries = Map::pairs(parts);
                self.namespaced(entries, namespace, offset)
            }
        };
        value.map_err(|error| self.collection_error(&error, offset))
    }

    /// The map of entries whose keys are in a namespace.
    fn namespaced(
        &mut self,
        mut entries: Vec<(Value, Value)>,
        namespace: &str,
        offset: usize,
    ) -> Result<Value, Error> {
        self.namespace_bytes += entries.len().saturating_mul(namespace.len());
        let in_proportion = NAMESPACE_FACTOR * (self.input.at - self.form_start);
        if self.namespace_bytes > self.limits.namespaces.max(in_proportion) {
            let reason = Reason::LongNamespaces { limit: self.limits.namespaces };
            return Err(self.input.error(reason, offset));
        }
        entries.iter_mut().try_for_each(|(key, _)| form::qualify(key, namespace))?;
        Map::of_entries(entries).map(Value::Map)
    }

    /// The error for an invalid collection that begins at `offset`.
    #[cold]
    fn collection_error(&self, error: &Error, offset: usize) -> Error {
        let second = match error.reason() {
            Reason::DuplicateKey { .. } => self.duplicate_offset(offset),
            _ => None,
        };
        self.input.error(error.reason().clone(), second.unwrap_or(offset))
    }
}

impl Iterator for Reader<'_> {
    type Item = Result<Value, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let form = self.form().transpose();
        if let Some(Err(_)) = form {
            self.input.at = self.input.text.len();
        }
        form
    }
}

/// A cache of recent keywords. Most texts repeat a few keywords. A copy costs less than validation, and shares the
/// text of long keywords.
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
