//! An agent over trunkline operations: a language model that calls them as tools.
//!
//! ```
//! use serde_json::{Value, json};
//! use trunkline::{Limits, Operation, Router};
//! use trunkline_agent::conversation::Conversations;
//! use trunkline_agent::{Agent, operations};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! let time = Operation::new("time", || "It is noon").description("Tells the time.").read_only();
//! let service = Router::new().operation(time.tool("current_time")).build()?;
//!
//! let conversations = Conversations::open(directory.path(), Default::default())?;
//! // With a model: Some(Model::new(model::Settings::new("http://127.0.0.1:11434/v1", "qwen3"))?)
//! let agent = Agent::new(service, None, conversations, Default::default());
//! let limits = Limits { call_timeout: Some(agent.call_timeout()), ..Limits::default() };
//! let api = Router::new().merge(operations(&agent)).limits(limits).build()?;
//!
//! let reply: Value = api.call("agent.chat", &json!({ "message": "tell the current time" })).await?;
//! assert_eq!(reply["steps"][0]["result"], "It is noon");
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod agent;
pub mod conversation;
mod cut;
pub mod door;
pub mod model;
mod operations;
mod planner;

pub use agent::{
    Agent, Caller, CapabilityDescription, ChatReply, ChatRequest, Error, Event, Events, Metadata,
    Patterns, Pending, RefreshError, Refreshed, Settings, Step, StepError, Stop, Usage,
};
pub use operations::operations;
