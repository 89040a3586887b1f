//! Tasks: calls of tools that continue in the background, while their client polls for the result
//! (extension `io.modelcontextprotocol/tasks` of 2026-07-28).

mod config;
mod in_memory;
mod live;
mod record;
mod store;

pub use self::config::TaskConfig;
pub use self::in_memory::{InMemoryTasks, TaskQuota};
pub(crate) use self::live::{AskError, LiveTask};
pub use self::record::TaskRecord;
pub use self::store::{StoreFuture, TaskStore, TaskStoreError};
use crate::protocol::method;

/// Whether calls of a tool become tasks. An extension of the description of its operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskSupport {
    /// For clients that support tasks. Other clients wait for the result.
    Optional,
    /// For clients that support tasks. Other clients cannot call the tool: the error is -32021, or in earlier revisions
    /// a result with `isError`.
    Required,
}

/// A method of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskMethod {
    Get,
    Update,
    Cancel,
}

impl TaskMethod {
    pub(crate) fn of(method: &str) -> Option<Self> {
        Some(match method {
            method::TASKS_GET => Self::Get,
            method::TASKS_UPDATE => Self::Update,
            method::TASKS_CANCEL => Self::Cancel,
            _ => return None,
        })
    }
}
