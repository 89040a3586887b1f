use std::collections::HashMap;

use serde_json::value::RawValue;
use tokio::sync::watch;

use super::info::TaskInfo;
use crate::lock::Lock;

/// The last states of tasks that the server has notified of, for the clients that wait for them.
#[derive(Debug, Default)]
pub(in crate::client) struct TaskStates(Lock<HashMap<String, watch::Sender<Option<TaskInfo>>>>);

impl TaskStates {
    /// Receives the states of a task from now on.
    pub(super) fn receive(&self, id: &str) -> watch::Receiver<Option<TaskInfo>> {
        let mut waiting = self.0.lock();
        waiting.retain(|_, sender| !sender.is_closed());
        waiting.entry(id.to_owned()).or_default().subscribe()
    }

    /// Passes on the params of a notification. Those of other tasks and malformed ones are ignored.
    pub(in crate::client) fn set(&self, params: &RawValue) {
        let info = match TaskInfo::read(params.to_owned(), false) {
            Ok(info) => info,
            Err(error) => return tracing::debug!(%error, "ignoring a malformed notification"),
        };
        if let Some(sender) = self.0.lock().get(&info.id) {
            sender.send_replace(Some(info));
        }
    }
}
