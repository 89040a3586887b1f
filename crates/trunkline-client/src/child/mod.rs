//! Child processes: the transport [`Child`](super::Child), and processes with their own group.

mod descendants;
mod group;
pub(super) mod process;
mod reaper;
mod supervisor;

pub use descendants::{adopt_orphans, end_descendants, kill_if, wait_for_child};
pub use group::{GroupConfig, GroupLeader, ProcessGroup};
pub use process::ChildConfig;
pub use supervisor::{SuperviseError, Supervisor, exit_code, supervise};
