//! Calls to a process that is started for them.

mod keeper;
pub(super) mod process;

pub use process::ChildConfig;
