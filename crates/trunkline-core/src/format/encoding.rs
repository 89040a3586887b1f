//! How calls were encoded that did not come in JSON, or are not answered in it.

use std::sync::Arc;

#[cfg(feature = "edn")]
use trunkline_edn::Value;

use super::kind::Format;
use crate::error::ErrorObject;

/// The parts of a call in its own format that its JSON text lacks, for calls that came in another format than
/// JSON, or are answered in one. Cloning is cheap.
#[derive(Debug, Clone, Default)]
pub struct Encoding(Arc<Inner>);

#[derive(Debug, Clone, Default)]
struct Inner {
    /// Unchanged, if they were EDN.
    #[cfg(feature = "edn")]
    id: Option<Value>,
    #[cfg(feature = "edn")]
    params: Option<Value>,
    /// Why the call cannot be run.
    refusal: Option<ErrorObject>,
    reply: Format,
}

impl Encoding {
    /// Of a call that came in JSON.
    #[cfg(feature = "edn")]
    #[must_use]
    pub(crate) fn of_json(reply: Format) -> Self {
        Self(Arc::new(Inner { reply, ..Inner::default() }))
    }

    /// Why the call cannot be run.
    pub(crate) fn refusal(&self) -> Option<&ErrorObject> {
        self.0.refusal.as_ref()
    }

    /// The format of the reply.
    #[must_use]
    pub fn reply(&self) -> Format {
        self.0.reply
    }

    /// Of a call made of this one, with other params.
    pub(crate) fn without_params(&self) -> Self {
        #[cfg(not(feature = "edn"))]
        return self.clone();
        #[cfg(feature = "edn")]
        Self(Arc::new(Inner { params: None, ..Inner::clone(&self.0) }))
    }
}

#[cfg(feature = "edn")]
impl Encoding {
    /// Of a call that came in EDN.
    pub(super) fn of_edn(id: Option<Value>, params: Option<Value>, reply: Format) -> Self {
        Self(Arc::new(Inner { id, params, refusal: None, reply }))
    }

    /// Of a call that has no JSON.
    pub(super) fn refused(id: Option<Value>, refusal: ErrorObject, reply: Format) -> Self {
        Self(Arc::new(Inner { id, params: None, refusal: Some(refusal), reply }))
    }

    pub(super) fn id(&self) -> Option<&Value> {
        self.0.id.as_ref()
    }

    /// The params unchanged, if they were EDN.
    pub(crate) fn params(&self) -> Option<&Value> {
        self.0.params.as_ref()
    }
}

/// The encodings of all calls of a body.
#[derive(Debug, Default)]
pub enum Encodings {
    /// All were sent in JSON, and are answered in JSON.
    #[default]
    Json,
    /// One for each of them.
    #[cfg(feature = "edn")]
    Each(Vec<Encoding>),
    /// The same for all of them.
    #[cfg(feature = "edn")]
    Same(Encoding),
}

impl Encodings {
    /// Of the call in this place; that of a single request is the first.
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
