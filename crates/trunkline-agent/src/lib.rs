//! An agent over trunkline operations: language models with tools, and tools that are commands.

#![forbid(unsafe_code)]

mod agent;
pub mod conversation;
#[cfg(unix)]
pub mod door;
pub mod model;
mod operations;
mod planner;
#[cfg(unix)]
pub mod tools;

pub use agent::{
    Agent, Caller, CapabilityDescription, ChatReply, ChatRequest, Error, Event, Events, Metadata, Patterns,
    Pending, Refreshed, Settings, Step, StepError, Stop, Usage,
};
pub use operations::operations;
