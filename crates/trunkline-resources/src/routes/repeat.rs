//! `POST /repeat`, and the refusal of calls that cannot be repeated.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;
use trunkline::protocol::{Formats, Incoming, Reply};
use trunkline::{Effect, ErrorObject, Extensions, Outcome, code};

use super::Routes;

/// The part of a request that names the called method.
#[derive(Deserialize)]
struct Request {
    method: Option<serde_json::Value>,
}

impl Routes {
    /// The error for an operation that would act a second time.
    ///
    /// Commands of resources detect repetitions; other operations declare whether they are idempotent.
    pub(super) fn would_act_again(&self, method: &str) -> Option<ErrorObject> {
        let is_known = |resource| self.resources.types().get(resource).is_some();
        if method.rsplit_once('.').is_some_and(|(resource, _)| is_known(resource)) {
            return None;
        }
        let operations = self.rpc.operations();
        let operation = operations.iter().find(|one| one.name() == method)?;
        let description = operation.description();
        if description.effect == Some(Effect::Reads) || description.idempotent {
            return None;
        }
        let reason = format!("{method} would act again, so it was not called: send it to /execute");
        let error = ErrorObject::new(code::INVALID_REQUEST, "Invalid Request");
        Some(error.with_data(&json!({ "reason": reason })))
    }

    /// The reply to a body in JSON-RPC of which one call would act again. Then none is made.
    pub(super) fn refuse_repetition(
        &self,
        json: &[u8],
        (formats, body): (Formats, Bytes),
        extensions: &Extensions,
    ) -> Option<Reply> {
        let error = methods(json).iter().find_map(|method| self.would_act_again(method))?;
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
            // Invalid requests are answered as usual.
            _ => return None,
        };
        Some(reply.written_in(formats.reply))
    }
}

/// The called methods. A body that cannot be read calls none.
fn methods(json: &[u8]) -> Vec<String> {
    let requests: Vec<Request> = if json.trim_ascii_start().starts_with(b"[") {
        serde_json::from_slice(json).unwrap_or_default()
    } else {
        serde_json::from_slice(json).into_iter().collect()
    };
    let name = |request: Request| request.method?.as_str().map(str::to_owned);
    requests.into_iter().filter_map(name).collect()
}
