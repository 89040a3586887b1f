//! Message formats.

/// A message format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// JSON, `application/json`.
    #[default]
    Json,
    /// EDN, `application/edn`; see [`edn`](crate::edn).
    #[cfg(feature = "edn")]
    Edn,
}

impl Format {
    /// All formats that this build supports.
    pub const ALL: &'static [Self] = &[
        Self::Json,
        #[cfg(feature = "edn")]
        Self::Edn,
    ];

    /// The `Content-Type` of messages.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            // JSON is always UTF-8. EDN has no such rule, and some clients read text without a charset as
            // ISO 8859-1.
            #[cfg(feature = "edn")]
            Self::Edn => "application/edn; charset=utf-8",
        }
    }

    /// The media type, without parameters.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            #[cfg(feature = "edn")]
            Self::Edn => "application/edn",
        }
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
