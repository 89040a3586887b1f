//! The formats of messages.

/// What messages are written in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// JSON, `application/json`.
    #[default]
    Json,
    /// EDN, `application/edn`: see [`edn`](crate::edn).
    #[cfg(feature = "edn")]
    Edn,
}

impl Format {
    /// All formats that this build knows.
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
            // JSON is UTF-8 wherever it goes. Of EDN nobody has said so, and there are clients that
            // read any text without a charset as ISO 8859-1.
            #[cfg(feature = "edn")]
            Self::Edn => "application/edn; charset=utf-8",
        }
    }

    /// The media type. [`content_type`](Self::content_type) is the header.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            #[cfg(feature = "edn")]
            Self::Edn => "application/edn",
        }
    }
}

/// What a message is written in, and what its reply shall be. Default: both in JSON.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Formats {
    /// Of the message.
    pub request: Format,
    /// Of the reply.
    pub reply: Format,
}

impl Formats {
    /// The same for both.
    #[must_use]
    pub const fn both(format: Format) -> Self {
        Self { request: format, reply: format }
    }
}
