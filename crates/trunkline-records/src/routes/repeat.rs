//! `POST /repeat`: rejection of calls that are not idempotent.

use bytes::Bytes;
use serde_json::json;
use trunkline::protocol::{Formats, Incoming, Reply};
use trunkline::{Effect, ErrorObject, Extensions, Id, Outcome, code};

use super::Routes;

impl Routes {
    /// The error for an operation that is not idempotent.
    ///
    /// Commands of record types detect repetitions. Other operations declare whether they are idempotent.
    pub(super) fn repetition_error(&self, method: &str) -> Option<ErrorObject> {
        let is_known = |resource| self.records.types().get(resource).is_some();
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

    /// The reply to JSON-RPC. If one of the calls is not idempotent, none is executed. Only operations are called: the
    /// methods of other protocols, such as `tools/call`, would call others.
    pub(super) async fn repeat(
        &self,
        formats: Formats,
        body: Bytes,
        extensions: Extensions,
    ) -> Reply {
        let rpc = self.rpc.clone().without_protocol_methods();
        let (incoming, encoding) = rpc.read_with_encoding(formats, body, extensions);
        let error = match &incoming {
            Incoming::Call(call) => self.repetition_error(&call.method()),
            Incoming::Batch(batch) => {
                batch.methods().find_map(|method| self.repetition_error(&method))
            }
            _ => None,
        };
        let reply = match (error, incoming) {
            (Some(error), Incoming::Call(mut call)) => {
                let id = call.id();
                let outcome = Outcome::error(error);
                if let Some(observation) = call.take_observation() {
                    observation.end(&outcome);
                }
                rpc.reply(outcome, id.as_ref())
            }
            (Some(error), Incoming::Batch(batch)) => {
                batch.refuse(&error);
                Reply::error(error, Some(&Id::NULL))
            }
            (_, incoming) => match rpc.answer_incoming(incoming, encoding).await {
                Ok((reply, _)) => return reply,
                Err(error) => Reply::error(error.into(), Some(&Id::NULL)),
            },
        };
        reply.into_format(formats.reply)
    }
}
