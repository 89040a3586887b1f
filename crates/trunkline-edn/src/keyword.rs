use std::fmt;
use std::str::FromStr;

use smol_str::SmolStr;

use crate::error::{Error, Reason, shown};
use crate::name;

/// A keyword, `:name` or `:namespace/name`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Keyword(SmolStr);

impl Keyword {
    /// The keyword of this text, which has no colon.
    ///
    /// # Errors
    /// [`Reason::Keyword`] when `:text` would not be read as this keyword.
    pub fn new(text: &str) -> Result<Self, Error> {
        if name::is_keyword(text) {
            return Ok(Self(text.into()));
        }
        Err(Error::from(Reason::Keyword { text: shown(text) }))
    }

    /// The keyword of this text, if every reader of EDN takes it: what JSON keys become.
    ///
    /// Unlike with [`new`](Self::new), no part begins with a digit, there is one slash at most, and of
    /// ASCII there are only letters, digits and `.*+!-_?$%&=<>:#`.
    #[must_use]
    pub fn plain(text: &str) -> Option<Self> {
        name::is_plain_keyword(text).then(|| Self(text.into()))
    }

    /// `text` was checked.
    pub(crate) fn from_checked(text: impl AsRef<str>) -> Self {
        Self(SmolStr::new(text))
    }

    /// All of it without the colon: `namespace/name`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What stands before the first slash.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        name::split(&self.0).0
    }

    /// What stands behind the namespace.
    #[must_use]
    pub fn name(&self) -> &str {
        name::split(&self.0).1
    }
}

/// With its colon or without.
impl FromStr for Keyword {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::new(text.strip_prefix(':').unwrap_or(text))
    }
}

/// With its colon.
impl fmt::Display for Keyword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ":{}", self.0)
    }
}

impl fmt::Debug for Keyword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
