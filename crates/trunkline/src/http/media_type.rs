//! Media types as HTTP has them.

use http::HeaderValue;

use crate::format::Format;
use crate::media_type::{MediaType, named};

impl Format {
    /// The `Content-Type` of a reply.
    #[must_use]
    pub fn content_type(self) -> HeaderValue {
        match self {
            Self::Json => HeaderValue::from_static("application/json"),
            // JSON is UTF-8 wherever it goes. Of EDN nobody has said so, and there are clients that
            // read any text without a charset as ISO 8859-1.
            #[cfg(feature = "edn")]
            Self::Edn => HeaderValue::from_static("application/edn; charset=utf-8"),
        }
    }
}

/// The format that a `Content-Type` names, if it is one, in UTF-8.
pub(super) fn format(value: &str) -> Option<Format> {
    let media_type = MediaType::parse(value)?;
    let format = named(media_type.name)?;
    media_type.is_in(&["utf-8"]).then_some(format)
}
