use std::fmt;
use std::str::FromStr;

use smol_str::SmolStr;

use crate::error::{Error, Reason, quoted};
use crate::syntax;

/// A symbol, `name` or `namespace/name`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(SmolStr);

/// A keyword, `:name` or `:namespace/name`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Keyword(SmolStr);

impl Symbol {
    /// The symbol of this text.
    ///
    /// # Errors
    /// [`Reason::Symbol`] when the reader does not accept the text as a symbol: a number, `nil`, white space.
    pub fn new(text: &str) -> Result<Self, Error> {
        if syntax::is_symbol(text) {
            return Ok(Self(text.into()));
        }
        Err(Error::from(Reason::Symbol { text: quoted(text) }))
    }
}

impl Keyword {
    /// The keyword of this text, which has no colon.
    ///
    /// # Errors
    /// [`Reason::Keyword`] when the reader does not accept `:text` as a keyword.
    pub fn new(text: &str) -> Result<Self, Error> {
        if syntax::is_keyword(text) {
            return Ok(Self(text.into()));
        }
        Err(Error::from(Reason::Keyword { text: quoted(text) }))
    }

    /// The keyword of this text if every reader of EDN accepts it. Keys of JSON become such keywords.
    ///
    /// In contrast to [`new`](Self::new), no part begins with a digit, there is one slash at most, and the
    /// only ASCII characters are letters, digits and `.*+!-_?$%&=<>:#`.
    #[must_use]
    pub fn plain(text: &str) -> Option<Self> {
        syntax::is_plain_keyword(text).then(|| Self(text.into()))
    }
}

macro_rules! name {
    ($type:ident) => {
        impl $type {
            /// `text` is valid.
            pub(crate) fn from_checked(text: impl AsRef<str>) -> Self {
                Self(SmolStr::new(text))
            }

            /// The whole text, of a keyword without the colon: `namespace/name`.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The text before the first slash.
            #[must_use]
            pub fn namespace(&self) -> Option<&str> {
                syntax::split_name(&self.0).0
            }

            /// The text after the namespace.
            #[must_use]
            pub fn name(&self) -> &str {
                syntax::split_name(&self.0).1
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }
        }
    };
}

name!(Symbol);
name!(Keyword);

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

/// Accepts the text with or without its colon.
impl FromStr for Keyword {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::new(text.strip_prefix(':').unwrap_or(text))
    }
}

/// Includes the colon.
impl fmt::Display for Keyword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ":{}", self.0)
    }
}
