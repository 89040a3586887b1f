//! Request ids (JSON-RPC 2.0, section 4).

use std::fmt;

use bytes::Bytes;

use crate::conversion;

/// The id of a request: a string, a number or null, kept as the text that the client sent.
///
/// The reply must contain the same id, and number types cannot represent all of them (`1.0`, `1e400`, integers above
/// 2^64), so the text is echoed. Two ids are equal if their texts are.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Id(Bytes);

impl Id {
    /// The id `null`, for replies to invalid bodies.
    pub const NULL: Self = Self(Bytes::from_static(b"null"));

    /// An id from the validated JSON text of a string, a number or null.
    pub fn from_raw(raw: Bytes) -> Self {
        Self(raw)
    }

    /// The JSON text of the id, including quotes.
    #[must_use]
    pub fn as_raw(&self) -> &str {
        std::str::from_utf8(&self.0).expect("ids are valid UTF-8")
    }

    /// Whether the id is an integer, in any form: `1`, `1.0` or `1e2`. One with a decimal point or an exponent must fit in
    /// 64 bits.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        let number = &*self.0;
        let is_plain = number.iter().all(|byte| *byte == b'-' || byte.is_ascii_digit());
        let is_number = || matches!(number.first(), Some(b'-' | b'0'..=b'9'));
        is_plain || is_number() && conversion::is_integer(number)
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
