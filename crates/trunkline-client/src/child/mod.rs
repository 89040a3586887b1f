//! A transport to a child process.

pub(super) mod process;
mod reaper;

pub use process::ChildConfig;
