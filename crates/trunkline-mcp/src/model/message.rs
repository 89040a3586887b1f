//! The text of JSON-RPC messages.

use serde::Serialize;

/// A request, or a notification, which has no id.
#[derive(Serialize)]
pub(crate) struct Message<'m, I, P: ?Sized> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<I>,
    method: &'m str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'m P>,
}

impl<'m, I: Serialize, P: Serialize + ?Sized> Message<'m, I, P> {
    pub(crate) fn new(id: Option<I>, method: &'m str, params: Option<&'m P>) -> Self {
        Self { jsonrpc: "2.0", id, method, params }
    }

    /// # Errors
    /// When the params do not serialise.
    pub(crate) fn text(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(self)
    }
}

/// The JSON text of a notification.
pub(crate) fn notification(method: &str, params: Option<&impl Serialize>) -> Vec<u8> {
    let text = Message::new(None::<u64>, method, params).text();
    text.expect("texts and JSON values serialise into memory")
}
