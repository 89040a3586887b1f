//! Locations of errors: in a text, and in a value.

use std::fmt;

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// In bytes, from 0.
    pub offset: usize,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
}

impl Position {
    /// Where `offset` is in `text`.
    #[must_use]
    pub fn of(text: &str, offset: usize) -> Self {
        let before = &text.as_bytes()[..offset.min(text.len())];
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        let start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
        // What is no continuation of a character begins one.
        let column = before[start..].iter().filter(|byte| **byte & 0xc0 != 0x80).count() + 1;
        Self { offset, line, column }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// The way from a value to a part of it, written as a JSON Pointer (RFC 6901): `/features/0`. Empty
/// for the value itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Path(Vec<Step>);

/// One step of a [`Path`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// To the value of the key with this text: that of JSON if it has one, else its EDN. Long texts
    /// are cut.
    Key(String),
    /// To an element of a list, a vector or a set.
    Index(usize),
}

/// A step as a text has it. Unlike the text of a key, it leads to one part alone, which may be a key.
#[derive(Debug, Clone)]
pub(crate) enum Leg {
    /// To the part behind so many others. Keys of maps are parts as values are.
    Part(usize),
    /// To the value of a key that is known by its text only.
    Value(String),
}

impl Leg {
    /// To the key of an entry.
    pub(crate) fn key(entry: usize) -> Self {
        Self::Part(2 * entry)
    }

    /// To the value of an entry.
    pub(crate) fn value(entry: usize) -> Self {
        Self::Part(2 * entry + 1)
    }
}

impl From<&Step> for Leg {
    fn from(step: &Step) -> Self {
        match step {
            Step::Key(text) => Self::Value(text.clone()),
            Step::Index(index) => Self::Part(*index),
        }
    }
}

/// As much of a key is told.
const KEY: usize = 64;
/// As much of a path is told, and a little more.
const SHOWN: usize = 256;

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

    /// Its text, cut in the middle if it is long.
    pub(crate) fn shown(&self) -> String {
        let text = self.to_string();
        let ends = text.char_indices().nth(SHOWN / 2).zip(text.char_indices().nth_back(SHOWN / 2));
        match ends {
            Some(((head, _), (tail, _))) if head < tail => {
                format!("{}…{}", &text[..head], &text[tail..])
            }
            _ => text,
        }
    }
}

impl Step {
    /// To the value of a key.
    #[must_use]
    pub fn key(text: &str) -> Self {
        match text.char_indices().nth(KEY) {
            Some((end, _)) => Self::Key(format!("{}…", &text[..end])),
            None => Self::Key(text.to_owned()),
        }
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
