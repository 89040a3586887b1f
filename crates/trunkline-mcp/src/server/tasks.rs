//! The methods of tasks (extension `io.modelcontextprotocol/tasks`).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value};
use trunkline::access::Principal;
use trunkline::protocol::CallFuture;
use trunkline::{Call, ErrorObject, Outcome};

use super::context::Context;
use super::task_runner::{PreparedTask, too_many_tasks};
use super::{Server, StartedCall};
use crate::capabilities::{ClientCapabilities, missing_tasks};
use crate::era::Era;
use crate::fault::Fault;
use crate::protocol::method;
use crate::request::{Request, members, string};
use crate::task::{TaskRecord, TaskStoreError, TaskSupport};
use crate::tool::Tool;

impl Server {
    /// Prepares a call of a tool that may become a task. `None` if it cannot.
    ///
    /// # Errors
    /// The tool is available as a task only, and the client does not support tasks, or too many are running.
    pub(super) fn prepare_task(
        &self,
        tool: &Tool,
        call: &Call,
        context: Context<'_>,
    ) -> Result<Option<PreparedTask>, ErrorObject> {
        let Some(support) = tool.task_support() else {
            return Ok(None);
        };
        let is_required = support == TaskSupport::Required;
        if context.era == Era::Legacy || !declares_tasks(call, context.request) {
            return if is_required { Err(missing_tasks()) } else { Ok(None) };
        }
        match self.tasks.prepare(owner(call)) {
            Ok(prepared) => Ok(Some(prepared)),
            Err(error) if is_required => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// Creates a task, and returns the result with its id.
    pub(super) async fn start_task(&self, prepared: PreparedTask, call: CallFuture) -> Outcome {
        match self.tasks.start(prepared, call).await {
            Ok(task) => {
                let (tail, interval) =
                    (self.results.tail(Era::Modern), self.settings.tasks.poll_interval);
                Outcome::from_writer(|json| {
                    json.extend_from_slice(b"{\"resultType\":\"task\",");
                    task.write(json, interval);
                    json.extend_from_slice(&tail);
                })
            }
            Err(TaskStoreError::Full) => Outcome::error(too_many_tasks()),
            Err(error) => Outcome::error(ErrorObject::internal_error(&error)),
        }
    }

    /// Answers a method of tasks.
    pub(super) fn answer_task(
        self: &Arc<Self>,
        call: &Call,
        context: Context<'_>,
    ) -> Result<StartedCall, Fault> {
        require_tasks(call, context.request)?;
        let [id, responses] = members(call, ["taskId", "inputResponses"])?;
        let id = string(call, id).map(Cow::into_owned).ok_or(Fault::Params(BAD_ID))?;
        let [is_get, is_update] =
            [method::TASKS_GET, method::TASKS_UPDATE].map(|method| call.has_method(method));
        let responses = match responses {
            _ if !is_update => Bytes::from_static(b"{}"),
            Some(part) => call.bytes(part),
            None => return Err(Fault::Params("`inputResponses` is missing")),
        };
        let (server, owner) = (Arc::clone(self), owner(call));
        let future = CallFuture::from_future(async move {
            let task = match server.tasks.find(&id, owner.as_deref()).await {
                Ok(Some(task)) => task,
                Ok(None) => {
                    let reason = match server.membership {
                        None => UNKNOWN_TASK,
                        Some(_) => UNKNOWN_TASK_OF_NODES,
                    };
                    return Outcome::error(ErrorObject::invalid_params(reason));
                }
                Err(error) => return Outcome::error(ErrorObject::internal_error(&error)),
            };
            let responses: BTreeMap<String, Map<String, Value>> =
                match serde_json::from_slice(&responses) {
                    Ok(responses) => responses,
                    Err(_) => return Outcome::error(Fault::Params(BAD_RESPONSES).error()),
                };
            match server.tasks.find_live(&id, owner.as_deref()) {
                _ if is_get => return server.task_result(&task),
                Some(live) if is_update => live.answer(responses),
                Some(live) => live.cancel("Cancelled by the client."),
                // A task that has ended does not change.
                None => {}
            }
            server.acknowledgement()
        });
        Ok(future.into())
    }

    fn task_result(&self, task: &TaskRecord) -> Outcome {
        let members = self.tasks.members(task);
        self.envelope(Era::Modern).write(|json| json.extend_from_slice(&members))
    }

    fn acknowledgement(&self) -> Outcome {
        let tail = self.results.tail(Era::Modern);
        Outcome::from_writer(|json| {
            json.extend_from_slice(b"{\"resultType\":\"complete\"");
            json.extend_from_slice(&tail);
        })
    }

    /// The tasks with these ids that this caller has created.
    pub(super) async fn find_tasks(
        &self,
        ids: impl IntoIterator<Item = &String>,
        owner: Option<&str>,
    ) -> Vec<TaskRecord> {
        let mut found = Vec::new();
        for id in ids {
            match self.tasks.find(id, owner).await {
                Ok(task) => found.extend(task),
                Err(error) => tracing::warn!(?error, "a task cannot be read"),
            }
        }
        found
    }
}

const BAD_ID: &str = "`taskId` must be a string: the id of the task";
const BAD_RESPONSES: &str = "`inputResponses` must be an object of objects";
const UNKNOWN_TASK: &str = "unknown `taskId`; the task does not exist or has expired";
const UNKNOWN_TASK_OF_NODES: &str =
    "unknown `taskId`; the task does not exist, has expired, or belongs to another node";

/// Checks that the client of a request supports tasks.
pub(super) fn require_tasks(call: &Call, request: &Request) -> Result<(), Fault> {
    if declares_tasks(call, request) { Ok(()) } else { Err(Fault::MissingTasks) }
}

fn declares_tasks(call: &Call, request: &Request) -> bool {
    let declared = request.meta.client_capabilities.map(|part| call.text(part));
    let declared = declared.and_then(ClientCapabilities::parse);
    declared.is_some_and(|declared| declared.has_tasks())
}

/// The owner of the tasks that a call creates.
pub(super) fn owner(call: &Call) -> Option<String> {
    Principal::of(call.extensions()).and_then(Principal::owner_key)
}
