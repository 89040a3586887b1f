use std::fmt;
use std::str::FromStr;

use smol_str::SmolStr;

use crate::error::{Error, Reason, shown};
use crate::name;

/// A symbol, `name` or `namespace/name`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(SmolStr);

impl Symbol {
    /// The symbol of this text.
    ///
    /// # Errors
    /// [`Reason::Symbol`] when it would not be read as this symbol: a number, `nil`, white space.
    pub fn new(text: &str) -> Result<Self, Error> {
        if name::is_symbol(text) {
            return Ok(Self(text.into()));
        }
        Err(Error::from(Reason::Symbol { text: shown(text) }))
    }

    /// `text` was checked.
    pub(crate) fn from_checked(text: impl AsRef<str>) -> Self {
        Self(SmolStr::new(text))
    }

    /// All of it: `namespace/name`.
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

impl FromStr for Symbol {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::new(text)
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
