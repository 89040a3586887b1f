//! Calls to a process that is started for them.

mod keeper;
pub(super) mod process;
mod settings;

pub use settings::Settings;
