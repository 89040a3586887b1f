//! `POST /repeat`: rejection of calls that are not idempotent.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;
use trunkline::protocol::{Formats, Incoming, Reply};
use trunkline::{Effect, ErrorObject, Extensions, Outcome, code};

use super::Routes;

/// The method of a request.
#[derive(Deserialize)]
struct Request {
    method: Option<serde_json::Value>,
}

impl Routes {
    /// The error for an operation that is not idempotent.
    ///
    /// Commands of resources detect repetitions. Other operations declare whether they are idempotent.
    pub(super) fn repetition_error(&self, method: &str) -> Option<ErrorObject> {
        let is_known = |resource| self.resources.types().get(resource).is_some();
        if method.rsplit_once('.').is_some_and(|(resource, _)| is_known(resource)) {
            return None;
        }
        let operations = self.rpc.operations();
        let operation = operations.iter().find(|one| one.name() == method)?;
        let description = operation.description();
        if description.effect == Some(Effect::ReadOnly) || description.idempotent {
            return None;
        }
        let reason = format!("{method} is not idempotent and was not called; send it to /execute");
        let error = ErrorObject::new(code::INVALID_REQUEST, "Invalid Request");
        Some(error.with_data(&json!({ "reason": reason })))
    }

    /// The error reply to JSON-RPC with a call that is not idempotent. None of the calls is executed.
    pub(super) fn refuse_repetition(
        &self,
        json: &[u8],
        (formats, body): (Formats, Bytes),
        extensions: &Extensions,
    ) -> Option<Reply> {
        let error = methods(json).iter().find_map(|method| self.repetition_error(method))?;
        let reply = match self.rpc.read_in(formats, body, extensions.clone()) {
            Incoming::Call(mut call) => {
                let id = call.id();
                let outcome = Outcome::error(error);
                if let Some(recording) = call.take_recording() {
                    recording.end(&outcome);
                }
                self.rpc.reply(outcome, id.as_ref())
            }
            Incoming::Batch(batch) => {
                batch.refuse(&error);
                Reply::error(error, Some(&trunkline::Id::NULL))
            }
            // Other replies are the same as of `/execute`.
            _ => return None,
        };
        Some(reply.into_format(formats.reply))
    }
}

/// The called methods. An unreadable body has none.
fn methods(json: &[u8]) -> Vec<String> {
    let requests: Vec<Request> = if json.trim_ascii_start().starts_with(b"[") {
        serde_json::from_slice(json).unwrap_or_default()
    } else {
        serde_json::from_slice(json).into_iter().collect()
    };
    let name = |request: Request| request.method?.as_str().map(str::to_owned);
    requests.into_iter().filter_map(name).collect()
}
