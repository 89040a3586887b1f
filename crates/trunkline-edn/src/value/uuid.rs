use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Reason, quoted};

/// A UUID (RFC 9562): `#uuid "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Uuid(uuid::Uuid);

impl Uuid {
    /// The UUID of these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(uuid::Uuid::from_bytes(bytes))
    }

    /// The bytes.
    #[must_use]
    pub const fn into_bytes(self) -> [u8; 16] {
        self.0.into_bytes()
    }
}

/// In groups of 8, 4, 4, 4 and 12 digits, upper or lower case.
impl FromStr for Uuid {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let canonical = text.parse().ok().filter(|_| text.len() == 36).map(Self);
        canonical.ok_or_else(|| Error::from(Reason::Uuid { text: quoted(text) }))
    }
}

/// In lower case.
impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#uuid \"{self}\"")
    }
}
