//! `POST /revert {"requestId"}`.

use serde::Deserialize;
use serde_json::{Value, json};
use trunkline::{CancellationToken, ErrorObject, Extensions, RpcError, code};

use super::Execute;
use super::answer::Answer;
use crate::adapter::{self, NativeReply};
use crate::command::Command;
use crate::resources::Context;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    request_id: Value,
}

impl Execute {
    /// Reverts a request, whatever resource it was made to, by the operation `revert` of that resource.
    pub(super) async fn revert(
        &self,
        json: &[u8],
        extensions: Extensions,
    ) -> Result<Answer, ErrorObject> {
        let request_id = read(json)?;
        let context = Context::of(&extensions);
        let cancel = CancellationToken::new();
        let _cancelled_when_dropped = cancel.clone().drop_guard();
        let requested = self.resources.requested(&request_id, &context, &cancel).await;
        let Some(resource) = requested.map_err(RpcError::into_error_object)? else {
            let noop = json!({ "status": "noop", "requestId": request_id });
            return Ok(NativeReply::plain(noop.to_string()).into());
        };
        let mut command = Command::new(resource, "revert");
        command.payload.insert("requestId".to_owned(), request_id.into());
        let outcome = self.run(adapter::call_of(&command)?, extensions).await;
        Ok(match outcome.as_result() {
            // The object itself, without one around it.
            Ok(result) => NativeReply::plain(result).into(),
            Err(_) => Answer::of(&command, &outcome),
        })
    }
}

fn read(json: &[u8]) -> Result<String, ErrorObject> {
    let message = serde_json::from_slice::<Message>(json);
    match message.map(|message| message.request_id) {
        Ok(Value::String(id)) => Ok(id),
        Ok(Value::Number(id)) => Ok(id.to_string()),
        _ => {
            let reason =
                "send {\"requestId\": \"…\"}: the metadata.requestId of the request to undo";
            let error = ErrorObject::new(code::INVALID_REQUEST, "Invalid Request");
            Err(error.with_data(&json!({ "reason": reason })))
        }
    }
}
