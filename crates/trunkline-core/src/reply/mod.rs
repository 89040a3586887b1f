//! Replies to message bodies.

mod response;

use crate::error::ErrorObject;
use crate::format::Format;
#[cfg(feature = "edn")]
use crate::format::edn;
use crate::id::Id;
use crate::outcome::Outcome;

pub use response::{Response, ResponseArray};

/// The reply to a message body.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reply {
    /// No reply: the body contained only notifications.
    None,
    /// One response object.
    Single {
        /// The JSON text of the response.
        json: Vec<u8>,
        /// The code, if the response is an error.
        code: Option<i64>,
    },
    /// An array of response objects.
    Batch {
        /// The JSON text of the array.
        json: Vec<u8>,
    },
    /// A reply in EDN.
    #[cfg(feature = "edn")]
    Edn(Box<EdnReply>),
}

/// A reply in EDN, with its equivalent in JSON.
#[cfg(feature = "edn")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdnReply {
    pub(crate) json: Reply,
    pub(crate) text: Vec<u8>,
}

#[cfg(feature = "edn")]
impl EdnReply {
    /// The reply in JSON.
    #[must_use]
    pub fn json(&self) -> &Reply {
        &self.json
    }

    /// The EDN text.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        &self.text
    }
}

impl Reply {
    /// The response for the call with this id.
    #[must_use]
    pub fn of(outcome: Outcome, id: &Id) -> Self {
        let code = outcome.code();
        Self::Single { json: outcome.into_response(id.as_raw().as_bytes()), code }
    }

    /// An error response to an invalid body. JSON-RPC 2.0 requires the id `null` if it is unknown (section 5);
    /// protocols on top of it require that it is absent.
    #[must_use]
    pub fn error(error: ErrorObject, id: Option<&Id>) -> Self {
        let code = Some(error.code());
        let outcome = Outcome::error(error);
        let json = match id {
            Some(id) => outcome.into_response(id.as_raw().as_bytes()),
            None => outcome.into_response_without_id(),
        };
        Self::Single { json, code }
    }

    /// The code, if the reply is a single error.
    #[must_use]
    pub fn code(&self) -> Option<i64> {
        match self {
            Self::Single { code, .. } => *code,
            Self::None | Self::Batch { .. } => None,
            #[cfg(feature = "edn")]
            Self::Edn(edn) => edn.json.code(),
        }
    }

    /// The format of the reply.
    #[must_use]
    pub fn format(&self) -> Format {
        match self {
            Self::None | Self::Single { .. } | Self::Batch { .. } => Format::Json,
            #[cfg(feature = "edn")]
            Self::Edn(_) => Format::Edn,
        }
    }

    /// The JSON text of the reply, for any format.
    pub fn json(&self) -> Option<&[u8]> {
        match self {
            Self::None => None,
            Self::Single { json, .. } | Self::Batch { json } => Some(json),
            #[cfg(feature = "edn")]
            Self::Edn(edn) => edn.json.json(),
        }
    }

    /// The size of the text in bytes.
    pub fn text_len(&self) -> usize {
        match self {
            #[cfg(feature = "edn")]
            Self::Edn(edn) => edn.text.len(),
            reply => reply.json().map_or(0, <[u8]>::len),
        }
    }

    /// The text of the reply in its [format](Self::format). `None` for [`Reply::None`].
    #[must_use]
    pub fn into_text(self) -> Option<Vec<u8>> {
        match self {
            #[cfg(feature = "edn")]
            Self::Edn(edn) => Some(edn.text),
            reply => reply.into_json(),
        }
    }

    /// The JSON text of the reply, for any format. `None` for [`Reply::None`].
    #[must_use]
    pub fn into_json(self) -> Option<Vec<u8>> {
        match self {
            Self::None => None,
            Self::Single { json, .. } | Self::Batch { json } => Some(json),
            #[cfg(feature = "edn")]
            Self::Edn(edn) => edn.json.into_json(),
        }
    }

    /// Converts the reply to this format, through JSON. A reply that already has the format is unchanged.
    #[must_use]
    pub fn into_format(self, format: Format) -> Self {
        match (self, format) {
            #[cfg(feature = "edn")]
            (Self::Edn(edn), Format::Json) => edn.json,
            #[cfg(feature = "edn")]
            (reply @ (Self::Single { .. } | Self::Batch { .. }), Format::Edn) => {
                let text = edn::translate_reply(reply.json().unwrap_or_default());
                Self::Edn(Box::new(EdnReply { json: reply, text }))
            }
            (reply, _) => reply,
        }
    }
}

impl Response {
    /// Converts the response into the reply to a single request.
    pub fn into_reply(self) -> Reply {
        let json = Reply::Single { json: self.json, code: self.code };
        #[cfg(feature = "edn")]
        if let Some(text) = self.edn {
            return Reply::Edn(Box::new(EdnReply { json, text }));
        }
        json
    }
}

impl ResponseArray {
    /// Closes the array. Returns [`Reply::None`] if it is empty.
    pub fn end(mut self) -> Reply {
        if self.json.is_empty() {
            return Reply::None;
        }
        self.json.push(b']');
        let json = Reply::Batch { json: self.json };
        #[cfg(feature = "edn")]
        if !self.edn.is_empty() {
            self.edn.push(b']');
            return Reply::Edn(Box::new(EdnReply { json, text: self.edn }));
        }
        json
    }
}
