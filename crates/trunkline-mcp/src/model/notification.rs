//! The params of notifications.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::log_level::LogLevel;

/// The progress of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ProgressUpdate {
    /// The progress so far, which increases.
    pub progress: f64,
    /// The progress at the end, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// The current step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A notification of progress.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProgressParams<T> {
    pub(crate) progress_token: T,
    #[serde(flatten)]
    pub(crate) update: ProgressUpdate,
}

/// A log message of a server.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LogMessage<D = Value> {
    /// The severity.
    pub level: LogLevel,
    /// The name of the logger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logger: Option<String>,
    /// The content, as received.
    pub data: D,
}

/// A notification that a request is cancelled.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CancelledParams<I> {
    pub(crate) request_id: I,
}
