//! What is wrong with EDN, and where.

use std::fmt::{self, Write as _};

use crate::location::{Leg, Path, Position, Step};

/// Why a text is no EDN, a value is no JSON, or neither is what a type wants; with the place, as far as
/// it is known.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    reason: Reason,
    path: Path,
    position: Option<Position>,
    /// The way to the place in a text, from the innermost leg, until the position is known.
    legs: Vec<Leg>,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// There is no form, or only comments.
    #[error("there is no form")]
    NoForm,
    /// The text goes on behind its only form.
    #[error("there is more text behind the form")]
    TrailingForm,
    /// The text ends within a form.
    #[error("the text ends within {within}")]
    UnexpectedEnd {
        /// What has no end: `a string`.
        within: &'static str,
    },
    /// A bracket closes nothing, or something else than was opened.
    #[error("unmatched `{found}`")]
    UnmatchedDelimiter {
        /// The bracket.
        found: char,
    },
    /// Forms are nested deeper than the limit.
    #[error("nested deeper than {limit} forms")]
    TooDeep {
        /// [`Limits::depth`](crate::Limits::depth).
        limit: usize,
    },
    /// The namespaces of maps make keys longer than the limit.
    #[error("the namespaces of maps add more than {limit} bytes to their keys")]
    LongNamespaces {
        /// [`Limits::namespaces`](crate::Limits::namespaces).
        limit: usize,
    },
    /// A number has more digits than the limit.
    #[error("a ratio, or an integer that is not decimal, has at most {limit} digits")]
    TooManyDigits {
        /// [`Limits::digits`](crate::Limits::digits).
        limit: usize,
    },
    /// The exponent of a decimal number is too large, as it is read or as it would be written.
    #[error("`{text}` has an exponent of more than 32 bits")]
    Exponent {
        /// The token.
        text: Box<str>,
    },
    /// A token that begins like a number is none.
    #[error("`{text}` is not a number")]
    Number {
        /// The token.
        text: Box<str>,
    },
    /// A ratio's denominator is zero.
    #[error("division by zero")]
    DivisionByZero,
    /// A text is not a symbol.
    #[error("`{text}` is not a symbol")]
    Symbol {
        /// The text.
        text: Box<str>,
    },
    /// A text is not a keyword.
    #[error("`:{text}` is not a keyword")]
    Keyword {
        /// The text, without a colon.
        text: Box<str>,
    },
    /// A character that no token has.
    #[error("`{found}` stands in no symbol, keyword or character")]
    Constituent {
        /// The character.
        found: char,
    },
    /// A backslash with what names no character.
    #[error("`\\{text}` is not a character")]
    Character {
        /// What stands behind the backslash.
        text: Box<str>,
    },
    /// A backslash in a string with what is no escape sequence.
    #[error("`\\{text}` is not an escape sequence")]
    Escape {
        /// What stands behind the backslash.
        text: Box<str>,
    },
    /// Half of a surrogate pair without the other.
    #[error("a \\u escape is half of a surrogate pair")]
    LoneSurrogate,
    /// A `#` with what it does not go with.
    #[error("`#{found}` begins nothing")]
    Dispatch {
        /// What stands behind the `#`.
        found: char,
    },
    /// `##` with another symbol than `Inf`, `-Inf` and `NaN`.
    #[error("`##{text}` is not a symbolic value")]
    Symbolic {
        /// What stands behind `##`.
        text: Box<str>,
    },
    /// What stands behind a `#` is not a symbol that could be a tag.
    #[error("a tag is a symbol")]
    Tag,
    /// What stands behind `#:` is not a namespace and a map.
    #[error("`#:` is followed by a namespace and a map")]
    NamespacedMap,
    /// Metadata is nothing that can be metadata, or stands before what has none.
    #[error("metadata is a map, a keyword, a symbol or a string, before a collection or a symbol")]
    Metadata,
    /// `#inst` with what is no instant, or an instant outside of the years 0000 to 9999.
    #[error("\"{text}\" is not an instant")]
    Inst {
        /// The text.
        text: Box<str>,
    },
    /// `#uuid` with what is no UUID.
    #[error("\"{text}\" is not a UUID")]
    Uuid {
        /// The text.
        text: Box<str>,
    },
    /// `#inst` or `#uuid` before what is no string.
    #[error("#{tag} is followed by a string")]
    NoString {
        /// The tag.
        tag: &'static str,
    },
    /// A map's last key has no value.
    #[error("a map has as many values as keys")]
    OddMap,
    /// A key stands in a map, or a value in a set, for the second time.
    #[error("duplicate key: {key}")]
    DuplicateKey {
        /// The key, as EDN.
        key: Box<str>,
    },
    /// Text that is no JSON.
    #[error("not JSON: {what}")]
    Json {
        /// What was expected, or found.
        what: &'static str,
    },
    /// JSON has no such value.
    #[error("JSON has no {what}")]
    NoJson {
        /// The value, or what sort of value: `##Inf`.
        what: Box<str>,
    },
    /// A tag that JSON has no equivalent of.
    #[error("JSON has no equivalent of the tag #{tag}")]
    UnknownTag {
        /// The tag.
        tag: Box<str>,
    },
    /// A key of a map that has no text.
    #[error("a key of JSON is text: there is none for a {key}")]
    NoJsonKey {
        /// What the key is: `vector`.
        key: &'static str,
    },
    /// Two keys of a map have the same text.
    #[error("two keys have the text \"{key}\" in JSON")]
    SameJsonKey {
        /// The text.
        key: Box<str>,
    },
    /// An integer does not fit in a type.
    #[error("the integer is out of range of {range}")]
    OutOfRange {
        /// The type.
        range: &'static str,
    },
    /// A value is not what a type is made of.
    #[error("expected {expected}, found {found}")]
    Mismatch {
        /// What the type wants: `u8`, `a keyword`.
        expected: String,
        /// What there is: ``keyword `:a` ``.
        found: String,
    },
    /// What a type said of the value that it was to be made of.
    #[error("{0}")]
    Other(String),
}

/// As much of what was found is told.
const SHOWN: usize = 64;

impl Reason {
    pub(crate) fn number(text: &str) -> Self {
        Self::Number { text: shown(text) }
    }
}

/// A text, cut if it is long.
pub(crate) fn shown(text: &str) -> Box<str> {
    cut(text, SHOWN)
}

/// A text of which at most so many characters are told.
pub(crate) fn cut(text: &str, length: usize) -> Box<str> {
    match text.char_indices().nth(length) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

impl Error {
    /// What is wrong.
    #[must_use]
    pub fn reason(&self) -> &Reason {
        &self.0.reason
    }

    /// The way to what is wrong, in the value.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// The place of what is wrong, if it was in a text.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        self.0.position
    }

    /// The same error in a part of another value.
    #[must_use]
    pub fn within(mut self, step: Step) -> Self {
        self.0.legs.push(Leg::from(&step));
        self.0.path = self.0.path.within(step);
        self
    }

    /// The same by a leg that tells more than the step.
    #[must_use]
    pub(crate) fn within_part(mut self, step: Step, leg: Leg) -> Self {
        self.0.path = self.0.path.within(step);
        self.at_part(leg)
    }

    /// The same error in a part that the path does not tell.
    #[must_use]
    pub(crate) fn at_part(mut self, leg: Leg) -> Self {
        self.0.legs.push(leg);
        self
    }

    /// The legs to the place in a text, from the innermost.
    pub(crate) fn legs(&self) -> &[Leg] {
        &self.0.legs
    }

    #[must_use]
    pub(crate) fn in_path(mut self, path: Path) -> Self {
        self.0.path = path;
        self
    }

    #[must_use]
    pub(crate) fn at(mut self, position: Position) -> Self {
        self.0.position = Some(position);
        self
    }
}

impl From<Reason> for Error {
    fn from(reason: Reason) -> Self {
        Self(Box::new(Inner { reason, path: Path::default(), position: None, legs: Vec::new() }))
    }
}

/// By what they tell.
impl PartialEq for Error {
    fn eq(&self, other: &Self) -> bool {
        self.reason() == other.reason()
            && self.path() == other.path()
            && self.position() == other.position()
    }
}

/// The reason, behind the place if it is known: `line 3, column 7, in /features/0: …`. It is one line:
/// control characters are escaped. Of a long path, the middle is left out.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { reason, path, position, .. } = &*self.0;
        let mut line = Line(f);
        if let Some(position) = position {
            write!(line, "{position}")?;
        }
        if !path.steps().is_empty() {
            let comma = if position.is_some() { ", " } else { "" };
            write!(line, "{comma}in {}", path.shown())?;
        }
        let colon = if position.is_some() || !path.steps().is_empty() { ": " } else { "" };
        write!(line, "{colon}{reason}")
    }
}

/// Writes what may come from a document to where a terminal may read it.
struct Line<'a, 'f>(&'a mut fmt::Formatter<'f>);

impl fmt::Write for Line<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.split_inclusive(char::is_control).try_for_each(|part| match part.chars().next_back() {
            Some(last) if last.is_control() => {
                let rest = &part[..part.len() - last.len_utf8()];
                write!(self.0, "{rest}{}", last.escape_default())
            }
            _ => self.0.write_str(part),
        })
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { reason, path, position, .. } = &*self.0;
        f.debug_struct("Error")
            .field("reason", reason)
            .field("path", path)
            .field("position", position)
            .finish()
    }
}

impl std::error::Error for Error {}
