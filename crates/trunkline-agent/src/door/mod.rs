//! The doors of the agent and of its tools.

mod api;
mod tools;

pub use api::api;
pub use tools::tools;
