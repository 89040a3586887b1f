//! Conversion of errors to error objects.

use serde::Serialize;
use trunkline::{ErrorDescription, ErrorObject, RpcError, code};
use trunkline_storage::StoreError;

use crate::adapter::fault;
use crate::error::Error;
use crate::excerpt::excerpt;

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
}

impl RpcError for Error {
    fn into_error_object(self) -> ErrorObject {
        let data = Data { reason: self.to_string(), ..Data::default() };
        match &self {
            Self::Invalid { pointer, reason } => fault::invalid(pointer, reason),
            Self::UnknownCommand { resource, command } => {
                ErrorObject::method_not_found(&excerpt(&format!("{resource}.{command}")))
            }
            Self::NotFound { resource, id } => {
                let data = Data { resource: Some(resource), id: Some(id), ..data };
                ErrorObject::new(code::NOT_FOUND, "Not found").with_data(&data)
            }
            Self::Exists { resource, id } => {
                conflict("exists", Data { resource: Some(resource), id: Some(id), ..data })
            }
            Self::VersionMismatch { resource, id, found, .. } => {
                let (resource, id, version) = (Some(&**resource), Some(&**id), Some(*found));
                conflict("version_mismatch", Data { resource, id, version, ..data })
            }
            Self::ChangedSince { resource, id, .. } => {
                conflict("changed_since", Data { resource: Some(resource), id: Some(id), ..data })
            }
            Self::RequestReused { .. } => conflict("request_reused", data),
            Self::RequestReverted { .. } => conflict("request_reverted", data),
            Self::Corrupt { .. } => {
                tracing::error!(error = %self, "stored data is corrupt");
                ErrorObject::new(code::APPLICATION, "Internal server error")
            }
            Self::Store(error) => store_error(error, data),
        }
    }

    fn from_error_object(_: &ErrorObject) -> Option<Self> {
        None
    }

    fn descriptions() -> Vec<ErrorDescription> {
        [
            (code::INVALID_PARAMS, "Invalid params"),
            (code::NOT_FOUND, "Not found"),
            (code::CONFLICT, "Conflict"),
            (code::TIMEOUT, "Call timed out"),
            (code::BUSY, "Server is busy"),
            (code::APPLICATION, "Internal server error"),
        ]
        .map(|(code, message)| ErrorDescription::new(code, message))
        .to_vec()
    }
}

fn conflict(kind: &'static str, data: Data<'_>) -> ErrorObject {
    let data = Data { kind: Some(kind), ..data };
    ErrorObject::new(code::CONFLICT, "Conflict").with_data(&data)
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
        StoreError::Cancelled => (code::CANCELLED, "Request cancelled", None),
        StoreError::Unavailable { source, .. } => {
            tracing::error!(cause = ?source, "{error}");
            (code::APPLICATION, "Storage unavailable", Some("unavailable"))
        }
        _ => {
            tracing::error!(?error, "the store of records failed");
            return ErrorObject::new(code::APPLICATION, "Internal server error");
        }
    };
    ErrorObject::new(code, message).with_data(&Data { kind, ..data })
}
