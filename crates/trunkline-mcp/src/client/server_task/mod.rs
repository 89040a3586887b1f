//! Tasks of the server (extension `io.modelcontextprotocol/tasks` of 2026-07-28): calls whose results arrive later.

mod handle;
mod info;
mod states;

pub use self::handle::Task;
pub use self::info::{TaskCallback, TaskInfo, TaskStatus};
pub(super) use self::states::TaskStates;
