//! Child processes: the transport [`Child`](super::Child).

pub(super) mod process;
mod reaper;

pub use process::ChildConfig;
