//! Child processes: the transport [`Child`](super::Child), and processes with their own group.

mod group;
pub(super) mod process;
mod reaper;

pub use group::{GroupConfig, GroupLeader, ProcessGroup};
pub use process::ChildConfig;
