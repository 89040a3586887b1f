//! The agent's errors as error objects.

use serde::Serialize;
use trunkline::{ErrorDescription, ErrorObject, RpcError, code};
use trunkline_storage::StoreError;

use crate::agent::{Error, Step};
use crate::conversation::ConversationError;
use crate::model::{ModelError, Stage};

#[derive(Default, Serialize)]
struct Data<'a> {
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pointer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    #[serde(skip_serializing_if = "<[Step]>::is_empty")]
    steps: &'a [Step],
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation_id: Option<&'a str>,
}

impl RpcError for Error {
    fn into_error_object(self) -> ErrorObject {
        let data = Data { reason: self.to_string(), ..Data::default() };
        let kind = |kind| Data { kind: Some(kind), reason: self.to_string(), ..Data::default() };
        let (code, message, data) = match &self {
            Self::Invalid { param, .. } => {
                let data = Data { pointer: Some(format!("/{param}")), ..data };
                (code::INVALID_PARAMS, "Invalid params", data)
            }
            Self::UnknownConversation { .. } | Self::Conversation(ConversationError::Deleted) => {
                (code::NOT_FOUND, "Not found", kind("conversation"))
            }
            Self::UnknownConfirmation => (code::NOT_FOUND, "Not found", kind("confirmation")),
            Self::UnknownTool { .. } => (code::TOOL_NOT_FOUND, "Tool not found", data),
            Self::TurnRunning
            | Self::TooManyTurns { .. }
            | Self::Conversation(ConversationError::Changed) => {
                (code::BUSY, "Server is busy", data)
            }
            // Clients retry after this code, so it requires that no call was executed.
            Self::NotSaved { source: ConversationError::Changed, steps, .. }
                if steps.is_empty() =>
            {
                (code::BUSY, "Server is busy", data)
            }
            Self::Conversation(ConversationError::Store(error)) => return store_error(error, data),
            Self::NotSaved { source, steps, conversation_id } => {
                if !source.is_outage() {
                    tracing::error!(cause = ?source, "failed to save a turn");
                }
                let conversation_id = Some(&**conversation_id);
                let data = Data { steps, conversation_id, ..kind("unkept") };
                (code::APPLICATION, "Internal server error", data)
            }
            Self::Random => return ErrorObject::internal_error(&self),
            Self::Refresh(cause) => {
                tracing::warn!(%cause, "tool refresh failed; keeping the previous tools");
                (code::APPLICATION, "Tool refresh failed", kind("refresh"))
            }
            Self::NoModel { .. } => (code::APPLICATION, "No model is configured", kind("no_model")),
            Self::Model { source, steps, conversation_id } => {
                let conversation_id = conversation_id.as_deref();
                return model_error(source, Data { steps, conversation_id, ..data });
            }
            Self::Call(error) => return error.clone(),
        };
        ErrorObject::new(code, message).with_data(&data)
    }

    fn from_error_object(_: &ErrorObject) -> Option<Self> {
        None
    }

    fn descriptions() -> Vec<ErrorDescription> {
        [
            (code::INVALID_PARAMS, "Invalid params"),
            (code::TOOL_NOT_FOUND, "Tool not found"),
            (code::NOT_FOUND, "Not found"),
            (code::BUSY, "Server is busy"),
            (code::TIMEOUT, "Call timed out"),
            (code::APPLICATION, "The model failed"),
        ]
        .map(|(code, message)| ErrorDescription::new(code, message))
        .to_vec()
    }
}

fn store_error(error: &StoreError, data: Data<'_>) -> ErrorObject {
    let (code, message, kind) = match error {
        StoreError::Busy | StoreError::Closed => (code::BUSY, "Server is busy", None),
        StoreError::OutOfMemory { .. } => (code::BUSY, "Server is busy", Some("out_of_memory")),
        // The store has logged the outage.
        StoreError::Unreachable(_) => (code::BUSY, "Server is busy", Some("unreachable")),
        StoreError::Timeout { .. } | StoreError::Unconfirmed => {
            (code::TIMEOUT, "Call timed out", None)
        }
        StoreError::Unavailable { source, .. } => {
            tracing::error!(cause = ?source, "{error}");
            (code::APPLICATION, "Storage unavailable", Some("unavailable"))
        }
        _ => {
            tracing::error!(?error, "the storage of conversations failed");
            return ErrorObject::new(code::APPLICATION, "Internal server error");
        }
    };
    ErrorObject::new(code, message).with_data(&Data { kind, ..data })
}

fn model_error(error: &ModelError, data: Data<'_>) -> ErrorObject {
    tracing::warn!(%error, cause = ?std::error::Error::source(error), "the model failed");
    let status = match error {
        ModelError::Unauthorized { status }
        | ModelError::Busy { status, .. }
        | ModelError::Refused { status, .. } => Some(status.as_u16()),
        _ => None,
    };
    let retry_after_ms = match error {
        ModelError::Busy { retry_after: Some(after), .. } => u64::try_from(after.as_millis()).ok(),
        _ => None,
    };
    let data =
        Data { reason: reason(error), kind: Some(error.kind()), status, retry_after_ms, ..data };
    let (code, message) = match error {
        ModelError::Timeout { .. } => (code::TIMEOUT, "Call timed out"),
        // Clients retry after this code, so it requires that no call was executed.
        ModelError::Busy { .. } if data.steps.is_empty() => (code::BUSY, "Server is busy"),
        _ => (code::APPLICATION, "The model failed"),
    };
    ErrorObject::new(code, message).with_data(&data)
}

/// The error, with a remedy for a timeout, and with the URL of the endpoint, the cause and a remedy if the endpoint cannot
/// be reached.
fn reason(error: &ModelError) -> String {
    let transport = match error {
        ModelError::Unreachable(transport) => transport,
        ModelError::Timeout { stage, .. } => {
            let setting = match stage {
                Stage::FirstToken => "--agent-first-token-ms",
                Stage::Token => "--agent-token-ms",
                _ => "--agent-turn-ms",
            };
            return format!("{error}; if the model is slow, increase `{setting}`");
        }
        error => return error.to_string(),
    };
    let mut root: &dyn std::error::Error = transport;
    while let Some(cause) = root.source() {
        root = cause;
    }
    let remedy = "start the model server, or check `--agent-url`";
    format!("{error}: {transport}: {root}; {remedy}")
}
