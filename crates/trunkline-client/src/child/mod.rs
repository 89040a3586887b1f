//! Calls to a process that is started for them.

mod config;
mod keeper;
pub(super) mod process;

pub use config::ChildConfig;
