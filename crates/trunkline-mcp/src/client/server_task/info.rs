use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use trunkline::ErrorObject;

use crate::client::input_request::InputRequests;
use crate::client::pending::Callback;

/// The state of a task at a point in time. Its texts are the server's, and not trusted.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TaskInfo {
    /// The id of the task.
    pub id: String,
    /// The status.
    pub status: TaskStatus,
    /// A message about the status, for users and models.
    pub message: Option<String>,
    /// The time of the creation, in ISO 8601.
    pub created_at: Option<String>,
    /// The time of the last change, in ISO 8601.
    pub updated_at: Option<String>,
    /// The time after the creation for which the server keeps the task. `None` if it is not limited.
    pub ttl: Option<Duration>,
    /// The interval at which the server asks clients to poll.
    pub poll_interval: Option<Duration>,
    /// The whole object, as received.
    pub object: Box<RawValue>,
}

/// Receives the states of a task.
pub type TaskCallback = Callback<TaskInfo>;

/// The status of a task.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum TaskStatus {
    /// It is running.
    Working,
    /// It waits for the answers to these requests.
    InputRequired(InputRequests),
    /// It has ended with this result of the call, as received.
    Completed(Box<RawValue>),
    /// It has ended with this error of the call.
    Failed(ErrorObject),
    /// It was cancelled.
    Cancelled,
}

/// The maximum length of the id of a task, which a header repeats, in bytes.
const MAX_ID: usize = 1_024;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Members {
    task_id: String,
    status: String,
    status_message: Option<String>,
    created_at: Option<String>,
    last_updated_at: Option<String>,
    // Some servers send fractions.
    ttl_ms: Option<f64>,
    poll_interval_ms: Option<f64>,
    #[serde(default)]
    input_requests: InputRequests,
    result: Option<Box<RawValue>>,
    error: Option<ErrorMembers>,
}

#[derive(Deserialize)]
struct ErrorMembers {
    code: i64,
    message: String,
    data: Option<Box<RawValue>>,
}

impl TaskInfo {
    /// Reads a result or the params of a notification. `is_new` is a task without the members that only its status has.
    pub(super) fn read(object: Box<RawValue>, is_new: bool) -> Result<Self, String> {
        let members: Members =
            serde_json::from_str(object.get()).map_err(|error| error.to_string())?;
        if members.task_id.is_empty() || members.task_id.len() > MAX_ID {
            return Err(format!("`taskId` must have 1 to {MAX_ID} bytes"));
        }
        let missing = |name: &str| format!("`{name}` is missing");
        let status = match &*members.status {
            _ if is_new => TaskStatus::Working,
            "working" => TaskStatus::Working,
            "input_required" => TaskStatus::InputRequired(members.input_requests),
            "completed" => TaskStatus::Completed(members.result.ok_or_else(|| missing("result"))?),
            "failed" => TaskStatus::Failed(members.error.ok_or_else(|| missing("error"))?.into()),
            "cancelled" => TaskStatus::Cancelled,
            other => return Err(format!("unknown `status` {other:?}")),
        };
        let duration =
            |ms: Option<f64>| ms.and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok());
        Ok(Self {
            id: members.task_id,
            status,
            message: members.status_message,
            created_at: members.created_at,
            updated_at: members.last_updated_at,
            ttl: duration(members.ttl_ms),
            poll_interval: duration(members.poll_interval_ms),
            object,
        })
    }
}

impl TaskStatus {
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

    /// Whether the task has ended.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        !matches!(self, Self::Working | Self::InputRequired(_))
    }
}

impl From<ErrorMembers> for ErrorObject {
    fn from(ErrorMembers { code, message, data }: ErrorMembers) -> Self {
        let error = Self::new(code, message);
        match data {
            Some(data) => error.with_data(&data),
            None => error,
        }
    }
}
