//! `POST /revert {"requestId"}`.

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use trunkline::{CancellationToken, ErrorObject, Extensions, RpcError, code};

use super::Routes;
use super::response::NativeResponse;
use crate::adapter::{self, NativeReply};
use crate::command::{Command, RequestId};
use crate::declaration::ResourceType;
use crate::resources::Context;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message<'a> {
    #[serde(borrow)]
    request_id: Option<&'a RawValue>,
}

impl Routes {
    /// Reverts a request with the operation `revert` of its resource. For unknown requests and resources that are no
    /// longer declared, it calls the operation of the first resource, so that every message is a call.
    pub(super) async fn revert(
        &self,
        json: &[u8],
        extensions: Extensions,
    ) -> Result<NativeResponse, ErrorObject> {
        let request_id = read(json)?;
        let context = Context::of(&extensions);
        let cancel = CancellationToken::new();
        let _cancelled_when_dropped = cancel.clone().drop_guard();
        let resource = self.resources.resource_of_request(&request_id, &context, &cancel).await;
        let types = self.resources.types();
        let resource = resource.map_err(RpcError::into_error_object)?;
        let kind = resource.and_then(|resource| types.get(&resource));
        let name = kind.or_else(|| types.iter().next()).map(ResourceType::name);
        let mut command = Command::new(name.unwrap_or_default(), "revert");
        command.payload.insert("requestId".to_owned(), request_id.as_str().into());
        let outcome = self.run(adapter::call_of(&command)?, extensions).await;
        Ok(match outcome.as_result() {
            // The result itself, without `{"result": …}`.
            Ok(result) => NativeReply::plain(result).into(),
            Err(_) => NativeResponse::of(&command, &outcome),
        })
    }
}

fn read(json: &[u8]) -> Result<RequestId, ErrorObject> {
    let message = serde_json::from_slice::<Message<'_>>(json);
    if let Err(error) = &message
        && !error.is_data()
    {
        return Err(adapter::not_json(error));
    }
    let id = message.ok().and_then(|message| message.request_id).ok_or_else(|| {
        let reason = "send {\"requestId\": \"…\"}: the metadata.requestId of the request to undo";
        let error = ErrorObject::new(code::INVALID_REQUEST, "Invalid Request");
        error.with_data(&json!({ "reason": reason }))
    })?;
    adapter::request_id("/requestId", id)
}
