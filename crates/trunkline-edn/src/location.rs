//! Locations of errors: in a text, and in a value.

use std::fmt;

/// A position in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Offset in bytes, from 0.
    pub offset: usize,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl Position {
    /// The position of a byte offset.
    #[must_use]
    pub fn of(text: &str, offset: usize) -> Self {
        let before = &text.as_bytes()[..offset.min(text.len())];
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        let start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
        // Continuation bytes are part of the character before them.
        let column = before[start..].iter().filter(|byte| **byte & 0xc0 != 0x80).count() + 1;
        Self { offset, line, column }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// The path from a value to a value in it, written as a JSON Pointer (RFC 6901): `/features/0`. Empty for the value
/// itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Path(Vec<Step>);

/// One step of a [`Path`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The value of the key with this text: its key in JSON, else its EDN. Long text is truncated.
    Key(String),
    /// An element of a list, a vector or a set.
    Index(usize),
}

/// A step to a form in a text. In contrast to a [`Step`], it can lead to a key, and it is unambiguous if the index is
/// known.
#[derive(Debug, Clone)]
pub(crate) enum FormStep {
    /// The form with this index. Keys and values of maps alternate.
    Nth(usize),
    /// The value of the key with this text.
    ValueOf(String),
}

impl FormStep {
    /// The key of an entry.
    pub(crate) fn key(entry: usize) -> Self {
        Self::Nth(2 * entry)
    }

    /// The value of an entry.
    pub(crate) fn value(entry: usize) -> Self {
        Self::Nth(2 * entry + 1)
    }
}

impl From<&Step> for FormStep {
    fn from(step: &Step) -> Self {
        match step {
            Step::Key(text) => Self::ValueOf(text.clone()),
            Step::Index(index) => Self::Nth(*index),
        }
    }
}

/// Maximum length of a key, in characters.
const MAX_KEY: usize = 64;
/// Maximum length of a path in messages, in characters.
const MAX_PATH: usize = 256;

impl Path {
    /// The steps, from the outermost.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Adds a step at the beginning.
    #[must_use]
    pub fn within(mut self, step: Step) -> Self {
        self.0.insert(0, step);
        self
    }

    /// The text, truncated in the middle.
    pub(crate) fn truncated(&self) -> String {
        let text = self.to_string();
        let ends =
            text.char_indices().nth(MAX_PATH / 2).zip(text.char_indices().nth_back(MAX_PATH / 2));
        match ends {
            Some(((head, _), (tail, _))) if head < tail => {
                format!("{}…{}", &text[..head], &text[tail..])
            }
            _ => text,
        }
    }
}

impl Step {
    /// The step to the value of a key.
    #[must_use]
    pub fn key(text: &str) -> Self {
        Self::Key(truncate(text, MAX_KEY).into())
    }
}

/// The first `length` characters of a text.
pub(crate) fn truncate(text: &str, length: usize) -> Box<str> {
    match text.char_indices().nth(length) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

impl FromIterator<Step> for Path {
    fn from_iter<T: IntoIterator<Item = Step>>(steps: T) -> Self {
        Self(steps.into_iter().collect())
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|step| match step {
            Step::Key(text) => write!(f, "/{}", text.replace('~', "~0").replace('/', "~1")),
            Step::Index(index) => write!(f, "/{index}"),
        })
    }
}
