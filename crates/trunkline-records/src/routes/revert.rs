//! `POST /revert {"requestId"}`.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use trunkline::tool::CONFIRMATION_PARAM;
use trunkline::{CancellationToken, ErrorObject, Extensions, RpcError, code};

use super::Routes;
use super::response::NativeResponse;
use crate::adapter::{self, NativeReply};
use crate::command::{Command, RequestId};
use crate::declaration::RecordType;
use crate::records::Context;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message<'a> {
    #[serde(borrow)]
    request_id: Option<&'a RawValue>,
    #[serde(borrow, rename = "trunkline_confirm")]
    confirmation: Option<&'a RawValue>,
}

impl Routes {
    /// Reverts a request with the operation `revert` of its type. For unknown requests and types that are no
    /// longer declared, it calls the operation of the first resource, so that every message is a call.
    pub(super) async fn revert(
        &self,
        json: &[u8],
        extensions: Extensions,
    ) -> Result<NativeResponse, ErrorObject> {
        let (request_id, confirmation) = read(json)?;
        let context = Context::of(&extensions);
        let cancel = CancellationToken::new();
        let _cancelled_when_dropped = cancel.clone().drop_guard();
        let resource = self.records.resource_of_request(&request_id, &context, &cancel).await;
        let types = self.records.types();
        let resource = resource.map_err(RpcError::into_error_object)?;
        let kind = resource.and_then(|resource| types.get(&resource));
        let name = kind.or_else(|| types.iter().next()).map(RecordType::name);
        let mut command = Command::new(name.unwrap_or_default(), "revert");
        command.payload.insert("requestId".to_owned(), request_id.as_str().into());
        if let Some(confirmation) = confirmation {
            command.payload.insert(CONFIRMATION_PARAM.to_owned(), confirmation);
        }
        let outcome = self.run(adapter::call_of(&command)?, extensions).await;
        Ok(match outcome.as_result() {
            // The result itself, without `{"result": …}`.
            Ok(result) => NativeReply::plain(result).into(),
            Err(_) => NativeResponse::of(&command, &outcome),
        })
    }
}

/// The id of the request, and the confirmation code.
fn read(json: &[u8]) -> Result<(RequestId, Option<Value>), ErrorObject> {
    let message = serde_json::from_slice::<Message<'_>>(json);
    if let Err(error) = &message
        && !error.is_data()
    {
        return Err(adapter::not_json(error));
    }
    let message = message.ok();
    let confirmation = message.as_ref().and_then(|message| message.confirmation);
    let confirmation = confirmation.and_then(|text| serde_json::from_str(text.get()).ok());
    let id = message.and_then(|message| message.request_id).ok_or_else(|| {
        let reason = "send {\"requestId\": \"…\"}: the metadata.requestId of the request to undo";
        let error = ErrorObject::new(code::INVALID_REQUEST, "Invalid Request");
        error.with_data(&json!({ "reason": reason }))
    })?;
    Ok((adapter::request_id("/requestId", id)?, confirmation))
}
