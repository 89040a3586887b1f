use std::fmt;

use crate::json;
use crate::value::Value;

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

    /// The same by the key itself.
    pub(crate) fn of_key(key: &Value) -> Self {
        Self::key(&json::key_text(key).unwrap_or_else(|_| key.to_string()))
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
