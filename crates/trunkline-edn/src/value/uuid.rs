use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Reason, quoted};

/// A UUID (RFC 9562): `#uuid "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Uuid([u8; 16]);

/// The offsets of the dashes.
const DASHES: [usize; 4] = [8, 13, 18, 23];

impl Uuid {
    /// The UUID of these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    #[must_use]
    pub const fn into_bytes(self) -> [u8; 16] {
        self.0
    }
}

/// In groups of 8, 4, 4, 4 and 12 digits, upper or lower case.
impl FromStr for Uuid {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let invalid = || Error::from(Reason::Uuid { text: quoted(text) });
        if text.len() != 36 || DASHES.iter().any(|at| text.as_bytes()[*at] != b'-') {
            return Err(invalid());
        }
        let mut digits = text.bytes().enumerate().filter(|(at, _)| !DASHES.contains(at));
        let mut digit = || char::from(digits.next()?.1).to_digit(16);
        let mut bytes = [0; 16];
        for byte in &mut bytes {
            let (high, low) = digit().zip(digit()).ok_or_else(invalid)?;
            *byte = (high * 16 + low) as u8;
        }
        Ok(Self(bytes))
    }
}

/// In lower case.
impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.0.iter().enumerate() {
            let dash = if [4, 6, 8, 10].contains(&at) { "-" } else { "" };
            write!(f, "{dash}{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#uuid \"{self}\"")
    }
}
