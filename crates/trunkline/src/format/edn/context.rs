use std::sync::Arc;

use trunkline_edn::Value;

use crate::error::ErrorObject;
use crate::format::kind::Format;

/// What goes along with a call that JSON does not tell. Cloning is cheap.
#[derive(Debug, Clone, Default)]
pub(crate) struct Aside(Arc<Inner>);

#[derive(Debug, Clone, Default)]
struct Inner {
    /// As they were sent, if that was EDN.
    id: Option<Value>,
    params: Option<Value>,
    /// Why the call cannot be run.
    refusal: Option<ErrorObject>,
    reply: Format,
}

impl Aside {
    /// Of a call that came in JSON.
    pub(crate) fn of_json(reply: Format) -> Self {
        Self(Arc::new(Inner { reply, ..Inner::default() }))
    }

    /// Of a call that came in EDN.
    pub(super) fn of_edn(id: Option<Value>, params: Option<Value>, reply: Format) -> Self {
        Self(Arc::new(Inner { id, params, refusal: None, reply }))
    }

    /// Of a call that has no JSON.
    pub(super) fn refused(id: Option<Value>, refusal: ErrorObject, reply: Format) -> Self {
        Self(Arc::new(Inner { id, params: None, refusal: Some(refusal), reply }))
    }

    /// Of a call made of this one, with other params.
    pub(crate) fn without_params(&self) -> Self {
        let Inner { id, refusal, reply, .. } = &*self.0;
        let (id, refusal) = (id.clone(), refusal.clone());
        Self(Arc::new(Inner { id, params: None, refusal, reply: *reply }))
    }

    pub(crate) fn params(&self) -> Option<&Value> {
        self.0.params.as_ref()
    }

    pub(super) fn id(&self) -> Option<&Value> {
        self.0.id.as_ref()
    }

    /// Why the call cannot be run.
    pub(crate) fn refusal(&self) -> Option<&ErrorObject> {
        self.0.refusal.as_ref()
    }

    /// What the call is answered in.
    pub(crate) fn reply(&self) -> Format {
        self.0.reply
    }
}
