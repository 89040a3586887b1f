use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use trunkline::ErrorObject;

use crate::client::callback::Callback;
use crate::model::{InputRequests, TaskMembers, TaskState};

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

/// The status of a task: the requests that it waits for, its result as received, or its error.
pub type TaskStatus = TaskState<InputRequests, Box<RawValue>, ErrorObject>;

/// The maximum length of the id of a task, which a header repeats, in bytes.
const MAX_ID: usize = 1_024;

/// The members that only some states have.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Details {
    input_requests: Option<InputRequests>,
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
        let malformed = |error: serde_json::Error| error.to_string();
        let members: TaskMembers = serde_json::from_str(object.get()).map_err(malformed)?;
        let details: Details = serde_json::from_str(object.get()).map_err(malformed)?;
        if members.task_id.is_empty() || members.task_id.len() > MAX_ID {
            return Err(format!("`taskId` must have 1 to {MAX_ID} bytes"));
        }
        let missing = |name: &str| format!("`{name}` is missing");
        let status = match &*members.status {
            _ if is_new => TaskStatus::Working,
            "working" => TaskStatus::Working,
            "input_required" => {
                TaskStatus::InputRequired(details.input_requests.unwrap_or_default())
            }
            "completed" => TaskStatus::Completed(details.result.ok_or_else(|| missing("result"))?),
            "failed" => TaskStatus::Failed(details.error.ok_or_else(|| missing("error"))?.into()),
            "cancelled" => TaskStatus::Cancelled,
            other => return Err(format!("unknown `status` {other:?}")),
        };
        Ok(Self {
            id: members.task_id,
            status,
            message: members.status_message,
            created_at: members.created_at,
            updated_at: members.last_updated_at,
            ttl: members.ttl_ms.map(Duration::from_millis),
            poll_interval: members.poll_interval_ms.map(Duration::from_millis),
            object,
        })
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
