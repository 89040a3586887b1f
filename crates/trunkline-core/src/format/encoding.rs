use std::sync::Arc;

use super::Format;
use super::codec::SentRequest;
use crate::error::ErrorObject;
use crate::outcome::Native;

/// The encoding of a call whose request or reply is not JSON. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Encoding {
    reply: Format,
    sent: Option<Arc<SentRequest>>,
    /// Whether the call has other params than the request.
    is_derived: bool,
}

impl Encoding {
    /// The encoding of a request in JSON.
    pub(crate) fn of_json(reply: Format) -> Self {
        Self { reply, sent: None, is_derived: false }
    }

    /// The encoding of a request in the format of a codec.
    pub(crate) fn of_request(sent: SentRequest, reply: Format) -> Self {
        Self { reply, sent: Some(Arc::new(sent)), is_derived: false }
    }

    /// The reason why the call cannot be run.
    pub(crate) fn refusal(&self) -> Option<&ErrorObject> {
        self.sent.as_ref()?.refusal.as_ref()
    }

    /// The format of the reply.
    #[must_use]
    pub fn reply(&self) -> Format {
        self.reply
    }

    /// The unchanged id, if the request was not JSON.
    pub(crate) fn id(&self) -> Option<&Native> {
        self.sent.as_ref()?.id.as_ref()
    }

    /// The unchanged params, if the request was of a codec with values of this type.
    pub fn params<T: 'static>(&self) -> Option<&T> {
        let sent = self.sent.as_ref().filter(|_| !self.is_derived)?;
        sent.params.as_ref()?.downcast_ref()
    }

    /// The encoding of a call that is derived from this one and has other params.
    pub(crate) fn without_params(&self) -> Self {
        Self { is_derived: true, ..self.clone() }
    }
}

/// The encoding of the request with this index, of those of a body: one for each request, one for all, or none if all
/// are JSON.
pub(crate) fn encoding_of(encodings: &[Encoding], index: usize) -> Option<&Encoding> {
    encodings.get(index).or(encodings.last())
}
