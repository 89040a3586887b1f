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

/// Whether calls of a tool become tasks. An extension of the description of its operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskSupport {
    /// For clients that support tasks. Other clients wait for the result.
    Optional,
    /// For clients that support tasks. Other clients cannot call the tool: the error is -32021, or in earlier revisions
    /// a result with `isError`.
    Required,
}
