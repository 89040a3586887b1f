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

/// As much of a key is told.
const KEY: usize = 64;

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
