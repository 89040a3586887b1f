//! Encodings of calls whose request or reply is not JSON.

use std::sync::Arc;

#[cfg(feature = "edn")]
use trunkline_edn::Value;

use super::kind::Format;
use crate::error::ErrorObject;

/// The encoding of a call whose request or reply is not JSON, with the parts of the request that have no equivalent
/// in JSON. Cloning is cheap.
#[derive(Debug, Clone, Default)]
pub struct Encoding(Arc<Inner>);

#[derive(Debug, Clone, Default)]
struct Inner {
    /// The id, if the request was EDN.
    #[cfg(feature = "edn")]
    id: Option<Value>,
    #[cfg(feature = "edn")]
    params: Option<Value>,
    /// The reason why the call cannot be run.
    refusal: Option<ErrorObject>,
    reply: Format,
}

impl Encoding {
    /// The encoding of a request in JSON.
    #[cfg(feature = "edn")]
    #[must_use]
    pub(crate) fn of_json(reply: Format) -> Self {
        Self(Arc::new(Inner { reply, ..Inner::default() }))
    }

    /// The reason why the call cannot be run.
    pub(crate) fn refusal(&self) -> Option<&ErrorObject> {
        self.0.refusal.as_ref()
    }

    /// The format of the reply.
    #[must_use]
    pub fn reply(&self) -> Format {
        self.0.reply
    }

    /// The encoding of a call that is derived from this one and has other params.
    pub(crate) fn without_params(&self) -> Self {
        #[cfg(not(feature = "edn"))]
        return self.clone();
        #[cfg(feature = "edn")]
        Self(Arc::new(Inner { params: None, ..Inner::clone(&self.0) }))
    }
}

#[cfg(feature = "edn")]
impl Encoding {
    /// The encoding of a request in EDN.
    pub(super) fn of_edn(id: Option<Value>, params: Option<Value>, reply: Format) -> Self {
        Self(Arc::new(Inner { id, params, refusal: None, reply }))
    }

    /// The encoding of a request that cannot be represented in JSON.
    pub(super) fn refused(id: Option<Value>, refusal: ErrorObject, reply: Format) -> Self {
        Self(Arc::new(Inner { id, params: None, refusal: Some(refusal), reply }))
    }

    pub(super) fn id(&self) -> Option<&Value> {
        self.0.id.as_ref()
    }

    /// The params, if the request was EDN.
    pub(crate) fn params(&self) -> Option<&Value> {
        self.0.params.as_ref()
    }
}

/// The encodings of the calls of a body.
#[derive(Debug, Default)]
pub enum Encodings {
    /// Requests and replies are JSON.
    #[default]
    Json,
    /// One for each call.
    #[cfg(feature = "edn")]
    Each(Vec<Encoding>),
    /// The same for all calls.
    #[cfg(feature = "edn")]
    Same(Encoding),
}

impl Encodings {
    /// The encoding of the call with this index. A single request has index 0.
    #[cfg_attr(not(feature = "edn"), expect(unused_variables, reason = "all are JSON"))]
    pub(crate) fn of(&self, index: usize) -> Option<&Encoding> {
        match self {
            Self::Json => None,
            #[cfg(feature = "edn")]
            Self::Each(encodings) => encodings.get(index),
            #[cfg(feature = "edn")]
            Self::Same(encoding) => Some(encoding),
        }
    }
}
