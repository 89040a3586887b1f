use std::time::{Duration, SystemTime};

use bytes::Bytes;
use jiff::Timestamp;

use crate::model::{TaskMembers, TaskState};

/// A task as a [`TaskStore`](super::TaskStore) keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRecord {
    /// Its id: 128 random bits in hexadecimal.
    pub id: String,
    /// The key of the principal that created it (`Principal::owner_key`). Other callers do not find the task. `None`
    /// for a caller without a principal.
    pub owner: Option<String>,
    /// The time of its creation.
    pub created: SystemTime,
    /// The time of its last change.
    pub updated: SystemTime,
    /// The time after [`created`](Self::created) for which it is kept.
    pub ttl: Duration,
    /// Its state.
    pub state: TaskState,
    /// A message about its state, for users and models.
    pub message: Option<String>,
}

impl TaskRecord {
    /// Its approximate size in memory, in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let detail = detail(&self.state).map_or(0, |(_, json)| json.len());
        size_of::<Self>() + self.id.len() + text(&self.owner) + text(&self.message) + detail
    }

    /// Appends the members of a new task.
    pub(crate) fn write(&self, json: &mut Vec<u8>, poll_interval: Duration) {
        let members = TaskMembers {
            task_id: self.id.clone(),
            status: self.state.name().to_owned(),
            status_message: self.message.clone(),
            created_at: Some(text(self.created)),
            last_updated_at: Some(text(self.updated)),
            ttl_ms: Some(milliseconds(self.ttl)),
            poll_interval_ms: Some(milliseconds(poll_interval)),
        };
        let object = serde_json::to_vec(&members).expect("texts and numbers serialise");
        json.extend_from_slice(&object[1..object.len() - 1]);
    }

    /// Appends the members, with the one that only the state has.
    pub(crate) fn write_detailed(&self, json: &mut Vec<u8>, poll_interval: Duration) {
        self.write(json, poll_interval);
        if let Some((name, detail)) = detail(&self.state) {
            json.extend_from_slice(format!(",\"{name}\":").as_bytes());
            json.extend_from_slice(detail);
        }
    }
}

/// The member that only this state has.
fn detail(state: &TaskState) -> Option<(&'static str, &Bytes)> {
    match state {
        TaskState::Working | TaskState::Cancelled => None,
        TaskState::InputRequired(requests) => Some(("inputRequests", requests)),
        TaskState::Completed(result) => Some(("result", result)),
        TaskState::Failed(error) => Some(("error", error)),
    }
}

/// ISO 8601.
fn text(time: SystemTime) -> String {
    format!("{:.3}", Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH))
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use serde_json::{Value, json};

    use super::TaskRecord;
    use crate::model::TaskState;

    #[track_caller]
    fn check(state: TaskState, is_terminal: bool, mut expected: Value) {
        let time = |ms| UNIX_EPOCH + Duration::from_millis(ms);
        let (created, updated) = (time(1_785_230_999_500), time(1_785_231_000_000));
        let (ttl, message) = (Duration::from_secs(60), Some("half".to_owned()));
        let record =
            TaskRecord { id: "a".to_owned(), owner: None, created, updated, ttl, state, message };
        assert_eq!(record.state.is_terminal(), is_terminal);
        let mut json = b"{".to_vec();
        record.write_detailed(&mut json, Duration::from_millis(250));
        json.push(b'}');
        let common = json!({
            "taskId": "a",
            "statusMessage": "half",
            "createdAt": "2026-07-28T09:29:59.500Z",
            "lastUpdatedAt": "2026-07-28T09:30:00.000Z",
            "ttlMs": 60_000,
            "pollIntervalMs": 250,
        });
        for (name, value) in common.as_object().unwrap() {
            expected[name] = value.clone();
        }
        assert_eq!(serde_json::from_slice::<Value>(&json).unwrap(), expected);
    }

    #[test]
    fn records_are_tasks_of_the_protocol() {
        let json = |text: &'static str| text.as_bytes().into();
        check(TaskState::Working, false, json!({ "status": "working" }));
        check(
            TaskState::InputRequired(json(r#"{"a":{}}"#)),
            false,
            json!({ "status": "input_required", "inputRequests": { "a": {} } }),
        );
        check(
            TaskState::Completed(json(r#"{"content":[]}"#)),
            true,
            json!({ "status": "completed", "result": { "content": [] } }),
        );
        check(
            TaskState::Failed(json(r#"{"code":1}"#)),
            true,
            json!({ "status": "failed", "error": { "code": 1 } }),
        );
        check(TaskState::Cancelled, true, json!({ "status": "cancelled" }));
    }
}
