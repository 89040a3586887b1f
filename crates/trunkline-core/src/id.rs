//! Request ids (JSON-RPC 2.0, section 4).

use std::fmt;

use bytes::Bytes;

/// A request's id: a string, a number or null, kept as the text that the client wrote.
///
/// The reply must carry the same id, and number types lose what clients send (`1.0`, `1e400`,
/// integers above 2^64), so the text itself is echoed. Two ids are equal when their texts are.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Id(Bytes);

impl Id {
    /// The id `null`: of replies to what could not be read.
    pub const NULL: Self = Self(Bytes::from_static(b"null"));

    /// `raw` is the JSON text of a string, number or null that the envelope has accepted.
    pub fn from_raw(raw: Bytes) -> Self {
        Self(raw)
    }

    /// The id's JSON text, quotes included.
    #[must_use]
    pub fn as_raw(&self) -> &str {
        std::str::from_utf8(&self.0).expect("ids come from text that was checked to be UTF-8")
    }
}

impl From<i64> for Id {
    fn from(number: i64) -> Self {
        Self(Bytes::from(number.to_string()))
    }
}

impl From<&str> for Id {
    fn from(text: &str) -> Self {
        Self(Bytes::from(serde_json::Value::from(text).to_string()))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_raw())
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({self})")
    }
}
