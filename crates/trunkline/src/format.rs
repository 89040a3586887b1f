/// What messages are written in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// JSON, `application/json`.
    #[default]
    Json,
    /// EDN, `application/edn`: see [`edn`](crate::edn).
    #[cfg(feature = "edn")]
    Edn,
}

impl Format {
    /// The media type.
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

#[cfg(feature = "edn")]
pub(crate) use crate::edn::Aside;

/// What goes along with a call that JSON does not tell: nothing, without other formats.
#[cfg(not(feature = "edn"))]
#[derive(Debug, Clone)]
pub(crate) enum Aside {}

#[cfg(not(feature = "edn"))]
impl Aside {
    pub(crate) fn refusal(&self) -> Option<&crate::error::ErrorObject> {
        match *self {}
    }

    pub(crate) fn without_params(&self) -> Self {
        match *self {}
    }
}

/// The same of all calls of a body.
#[derive(Debug, Default)]
pub(crate) enum Asides {
    #[default]
    None,
    /// One for each of them.
    #[cfg(feature = "edn")]
    Each(Vec<Aside>),
    #[cfg(feature = "edn")]
    Same(Aside),
}

impl Asides {
    /// Of the call in this place; that of a single request is the first.
    #[cfg(feature = "edn")]
    pub(crate) fn of(&self, index: usize) -> Option<&Aside> {
        match self {
            Self::None => None,
            Self::Each(asides) => asides.get(index),
            Self::Same(aside) => Some(aside),
        }
    }

    #[cfg(not(feature = "edn"))]
    pub(crate) fn of(&self, _index: usize) -> Option<&Aside> {
        match self {
            Self::None => None,
        }
    }
}
