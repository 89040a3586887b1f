//! The doors of the agent and of its tools.

mod tools;

pub use tools::tools;
