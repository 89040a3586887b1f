//! Errors and their reasons.

use std::fmt::{self, Write as _};

use crate::location::{FormStep, Path, Position, Step, truncate};

/// An error of reading, conversion or serde, with its location if that is known.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    reason: Reason,
    path: Path,
    position: Option<Position>,
    /// The forms that lead to the error in a text, from the innermost. They locate an error without a position.
    form_path: Vec<FormStep>,
}

/// The reason of an [`Error`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The text has no form.
    #[error("the text contains no form")]
    NoForm,
    /// There is text after the form.
    #[error("unexpected text after the form")]
    TrailingForm,
    /// The text ends within a form.
    #[error("the text ends within {within}")]
    UnexpectedEnd {
        /// The form without an end: `a string`.
        within: &'static str,
    },
    /// A bracket does not match an opening bracket.
    #[error("unmatched `{found}`")]
    UnmatchedDelimiter {
        /// The bracket.
        found: char,
    },
    /// Nesting is deeper than the limit.
    #[error("nested deeper than {limit} forms")]
    TooDeep {
        /// [`Limits::depth`](crate::Limits::depth), or another limit on depth.
        limit: usize,
    },
    /// The namespaces of maps make keys longer than the limit.
    #[error("the namespaces of maps add more than {limit} bytes to their keys")]
    LongNamespaces {
        /// [`Limits::namespaces`](crate::Limits::namespaces).
        limit: usize,
    },
    /// A number has more digits than the limit.
    #[error("a ratio or a non-decimal integer must have at most {limit} digits")]
    TooManyDigits {
        /// [`Limits::digits`](crate::Limits::digits).
        limit: usize,
    },
    /// The exponent of a decimal is too large, in the text or in its normal notation.
    #[error("`{text}` has an exponent of more than 32 bits")]
    Exponent {
        /// The token.
        text: Box<str>,
    },
    /// A token that begins with a digit is not a number.
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
    /// A character is not allowed in tokens.
    #[error("`{found}` is not allowed in a symbol, keyword or character")]
    Constituent {
        /// The character.
        found: char,
    },
    /// The text after a backslash is not the name of a character.
    #[error("`\\{text}` is not a character")]
    Character {
        /// The text after the backslash.
        text: Box<str>,
    },
    /// A string has an invalid escape sequence.
    #[error("`\\{text}` is not an escape sequence")]
    Escape {
        /// The text after the backslash.
        text: Box<str>,
    },
    /// Half of a surrogate pair without the other.
    #[error("lone surrogate in a \\u escape")]
    LoneSurrogate,
    /// A `#` before an invalid character.
    #[error("`#{found}` is not valid syntax")]
    Dispatch {
        /// The character after the `#`.
        found: char,
    },
    /// `##` before a symbol other than `Inf`, `-Inf` and `NaN`.
    #[error("`##{text}` is not a symbolic value")]
    Symbolic {
        /// The text after `##`.
        text: Box<str>,
    },
    /// A tag is not a symbol.
    #[error("a tag must be a symbol")]
    Tag,
    /// `#:` is not followed by a namespace and a map.
    #[error("`#:` must be followed by a namespace and a map")]
    NamespacedMap,
    /// Metadata has an invalid type, or precedes a value that cannot have metadata.
    #[error(
        "metadata must be a map, a keyword, a symbol or a string, before a collection or a symbol"
    )]
    Metadata,
    /// Not an instant, or outside of the years 0000 to 9999.
    #[error("\"{text}\" is not an instant")]
    Inst {
        /// The text.
        text: Box<str>,
    },
    /// Not a UUID.
    #[error("\"{text}\" is not a UUID")]
    Uuid {
        /// The text.
        text: Box<str>,
    },
    /// `#inst` or `#uuid` is not followed by a string.
    #[error("#{tag} must be followed by a string")]
    NoString {
        /// The tag.
        tag: &'static str,
    },
    /// A map's last key has no value.
    #[error("the last key of the map has no value")]
    OddMap,
    /// A map has a duplicate key, or a set a duplicate value.
    #[error("duplicate key: {key}")]
    DuplicateKey {
        /// The key, as EDN.
        key: Box<str>,
    },
    /// The text is not JSON.
    #[error("invalid JSON: {what}")]
    Json {
        /// The problem.
        what: &'static str,
    },
    /// JSON cannot represent the value.
    #[error("JSON cannot represent {what}")]
    NoJson {
        /// The value: `##Inf`.
        what: Box<str>,
    },
    /// JSON has no equivalent of a tag.
    #[error("JSON cannot represent the tag #{tag}")]
    UnknownTag {
        /// The tag.
        tag: Box<str>,
    },
    /// JSON cannot represent a key.
    #[error("a {key} cannot be a key in JSON")]
    NoJsonKey {
        /// The type of the key: `vector`.
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
    /// A value does not match a type.
    #[error("expected {expected}, found {found}")]
    Mismatch {
        /// The type: `u8`, `a keyword`.
        expected: String,
        /// The value: ``keyword `:a` ``.
        found: String,
    },
    /// A message of a type, or of serde.
    #[error("{0}")]
    Other(String),
}

/// Maximum length of quoted text, in characters.
const MAX_QUOTED: usize = 64;

impl Reason {
    pub(crate) fn number(text: &str) -> Self {
        Self::Number { text: quoted(text) }
    }
}

/// Text of a message, truncated.
pub(crate) fn quoted(text: &str) -> Box<str> {
    truncate(text, MAX_QUOTED)
}

impl Error {
    /// The reason.
    #[must_use]
    pub fn reason(&self) -> &Reason {
        &self.0.reason
    }

    /// The path to the error in the value.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// The position of the error in the text, if there is one.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        self.0.position
    }

    /// The error in a value that contains this one.
    #[must_use]
    pub fn within(mut self, step: Step) -> Self {
        self.0.form_path.push(FormStep::from(&step));
        self.0.path = self.0.path.within(step);
        self
    }

    /// [`within`](Self::within) with the exact step to the form.
    #[must_use]
    pub(crate) fn within_form(mut self, step: Step, form: FormStep) -> Self {
        self.0.path = self.0.path.within(step);
        self.at_form(form)
    }

    /// Adds a step to a form, which is not part of the path.
    #[must_use]
    pub(crate) fn at_form(mut self, form: FormStep) -> Self {
        self.0.form_path.push(form);
        self
    }

    /// The steps to the form in a text, from the innermost.
    pub(crate) fn form_path(&self) -> &[FormStep] {
        &self.0.form_path
    }

    #[must_use]
    pub(crate) fn at(mut self, position: Position) -> Self {
        self.0.position = Some(position);
        self
    }
}

impl From<Reason> for Error {
    fn from(reason: Reason) -> Self {
        Self(Box::new(Inner {
            reason,
            path: Path::default(),
            position: None,
            form_path: Vec::new(),
        }))
    }
}

/// By reason, path and position.
impl PartialEq for Error {
    fn eq(&self, other: &Self) -> bool {
        self.reason() == other.reason()
            && self.path() == other.path()
            && self.position() == other.position()
    }
}

/// The location if it is known, then the reason: `line 3, column 7, in /features/0: …`. Control characters are
/// escaped, so that the text is one line. A long path is truncated in the middle.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { reason, path, position, .. } = &*self.0;
        let mut line = EscapeControls(f);
        if let Some(position) = position {
            write!(line, "{position}")?;
        }
        if !path.steps().is_empty() {
            let comma = if position.is_some() { ", " } else { "" };
            write!(line, "{comma}in {}", path.truncated())?;
        }
        let colon = if position.is_some() || !path.steps().is_empty() { ": " } else { "" };
        write!(line, "{colon}{reason}")
    }
}

/// Escapes control characters of a document, which a terminal would interpret.
struct EscapeControls<'a, 'f>(&'a mut fmt::Formatter<'f>);

impl fmt::Write for EscapeControls<'_, '_> {
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
