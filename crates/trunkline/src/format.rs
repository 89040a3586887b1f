use bytes::Bytes;

#[cfg(feature = "edn")]
use crate::edn;
use crate::error::ErrorObject;
use crate::limits::calls::Limits;

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
    /// All formats that this build knows.
    pub const ALL: &'static [Self] = &[
        Self::Json,
        #[cfg(feature = "edn")]
        Self::Edn,
    ];

    /// The media type. [`content_type`](Self::content_type) is the header.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            #[cfg(feature = "edn")]
            Self::Edn => "application/edn",
        }
    }

    /// A message in this format as JSON text, for a protocol of JSON messages that are not calls. JSON
    /// is passed on as it is, and not checked: whoever reads the result does that.
    ///
    /// ```
    /// # #[cfg(feature = "edn")] {
    /// use trunkline::{Format, Limits};
    ///
    /// let json = Format::Edn.read("{:say [1 2]}".into(), &Limits::default())?;
    /// assert_eq!(json, r#"{"say":[1,2]}"#);
    /// assert_eq!(Format::Edn.write(json.into())?, b"{:say [1 2]}");
    /// # }
    /// # Ok::<(), trunkline::ErrorObject>(())
    /// ```
    ///
    /// # Errors
    /// As of a call in EDN: -32700 if it is no EDN, or nested deeper than the limits allow; -32603 if
    /// it has no JSON.
    #[cfg_attr(not(feature = "edn"), expect(unused_variables, reason = "JSON is read elsewhere"))]
    pub fn read(self, text: Bytes, limits: &Limits) -> Result<Bytes, ErrorObject> {
        match self {
            Self::Json => Ok(text),
            #[cfg(feature = "edn")]
            Self::Edn => edn::to_json(&text, limits),
        }
    }

    /// JSON text as a message in this format: the other way of [`read`](Self::read).
    ///
    /// # Errors
    /// -32603 if it is no JSON, or has no EDN, like an object with two keys of one name. Text that serde
    /// wrote from a type or a [`Value`](serde_json::Value) has, unless it is nested over 1,024 deep.
    pub fn write(self, json: Vec<u8>) -> Result<Vec<u8>, ErrorObject> {
        match self {
            Self::Json => Ok(json),
            #[cfg(feature = "edn")]
            Self::Edn => edn::from_json(&json),
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
    pub(crate) fn refusal(&self) -> Option<&ErrorObject> {
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
