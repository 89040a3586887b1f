//! Tasks (extension `io.modelcontextprotocol/tasks`).

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::lenient::count;

/// The state of a task. Those of a store have JSON texts: the requests for input (an object by key), the result of the
/// request, and its JSON-RPC error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskState<I = Bytes, R = Bytes, E = Bytes> {
    /// It is running.
    Working,
    /// It waits for the responses to these requests.
    InputRequired(I),
    /// It has ended with this result of its request.
    Completed(R),
    /// It has ended with this error of its request.
    Failed(E),
    /// It was cancelled.
    Cancelled,
}

/// The members that all tasks have ("Tasks").
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskMembers {
    pub(crate) task_id: String,
    pub(crate) status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) status_message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) created_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last_updated_at: Option<String>,
    #[serde(default, deserialize_with = "count", skip_serializing_if = "Option::is_none")]
    pub(crate) ttl_ms: Option<u64>,
    #[serde(default, deserialize_with = "count", skip_serializing_if = "Option::is_none")]
    pub(crate) poll_interval_ms: Option<u64>,
}

impl<I, R, E> TaskState<I, R, E> {
    /// The name of the status in the protocol.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::InputRequired(_) => "input_required",
            Self::Completed(_) => "completed",
            Self::Failed(_) => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether the task has ended, so that its state does not change any more.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        match self {
            Self::Working | Self::InputRequired(_) => false,
            Self::Completed(_) | Self::Failed(_) | Self::Cancelled => true,
        }
    }
}
