//! Message formats: JSON, and those of [codecs](Codec).

mod codec;
mod encoding;

use std::fmt;

use bytes::Bytes;

use crate::limits::calls::Limits;

pub use codec::{Codec, CodecError, SentRequest};
pub use encoding::Encoding;
pub(crate) use encoding::encoding_of;

/// A message format.
#[derive(Clone, Copy, Default)]
pub enum Format {
    /// JSON, `application/json`.
    #[default]
    Json,
    /// The format of a codec.
    Other(&'static dyn Codec),
}

/// The media types of JSON.
const JSON_TYPES: [&str; 3] =
    ["application/json", "application/json-rpc", "application/jsonrequest"];

impl Format {
    /// The media type, without parameters.
    #[inline]
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => JSON_TYPES[0],
            Self::Other(codec) => codec.media_type(),
        }
    }

    /// The `Content-Type` of messages.
    #[inline]
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Json => JSON_TYPES[0],
            Self::Other(codec) => codec.content_type(),
        }
    }

    /// Whether this is the format of a media type without parameters, in any case.
    #[must_use]
    pub fn has_media_type(self, name: &str) -> bool {
        let is_named = |known: &str| name.eq_ignore_ascii_case(known);
        match self {
            Self::Json => JSON_TYPES.into_iter().any(is_named),
            Self::Other(codec) => is_named(codec.media_type()),
        }
    }

    /// Whether a line of a stream has no message, such as a comment.
    #[must_use]
    pub fn is_blank(self, line: &[u8]) -> bool {
        match self {
            Self::Json => false,
            Self::Other(codec) => codec.is_blank(line),
        }
    }

    /// Converts a message in this format to JSON text, for protocols with messages that are not calls. JSON is
    /// returned unchanged and not validated.
    ///
    /// ```
    /// use trunkline::{Limits, edn};
    ///
    /// let json = edn::FORMAT.read("{:ids [1 2]}".into(), &Limits::default())?;
    /// assert_eq!(json, r#"{"ids":[1,2]}"#);
    /// assert_eq!(edn::FORMAT.write(json.into())?, b"{:ids [1 2]}");
    /// # Ok::<(), trunkline::ErrorObject>(())
    /// ```
    ///
    /// # Errors
    /// As for a call: -32700 if the text is not of this format or nested deeper than the limit, -32603 if it cannot be
    /// represented in JSON.
    pub fn read(self, text: Bytes, limits: &Limits) -> Result<Bytes, CodecError> {
        match self {
            Self::Json => Ok(text),
            Self::Other(codec) => codec.read(&text, limits),
        }
    }

    /// Converts JSON text to a message in this format, the inverse of [`read`](Self::read).
    ///
    /// # Errors
    /// -32603 if the text is not JSON or cannot be represented in this format, such as an object with duplicate keys in
    /// EDN. Text that serde has written from a type or a [`Value`](serde_json::Value) can be represented, unless it is
    /// nested more than 1,024 deep.
    pub fn write(self, json: Vec<u8>) -> Result<Vec<u8>, CodecError> {
        match self {
            Self::Json => Ok(json),
            Self::Other(codec) => codec.write(&json),
        }
    }
}

/// Formats are the same if their media types are.
impl PartialEq for Format {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Json, Self::Json) => true,
            (Self::Other(one), Self::Other(other)) => one.media_type() == other.media_type(),
            _ => false,
        }
    }
}

impl Eq for Format {}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.media_type())
    }
}

/// The formats of a request and its reply. Default: JSON.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Formats {
    /// The format of the request.
    pub request: Format,
    /// The format of the reply.
    pub reply: Format,
}

impl Formats {
    /// The same format for both.
    #[must_use]
    pub const fn both(format: Format) -> Self {
        Self { request: format, reply: format }
    }
}
