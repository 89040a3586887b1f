//! An agent for Trunkline: a language model that calls operations as tools.
//!
//! ```
//! use serde_json::{Value, json};
//! use trunkline::{Limits, Operation, Router};
//! use trunkline_agent::conversation::Conversations;
//! use trunkline_agent::model::{self, Model};
//! use trunkline_agent::{Agent, operations};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! let time = Operation::new("time", || "It is noon").description("Returns the time.").read_only();
//! let service = Router::new().operation(time.tool("current_time")).build()?;
//!
//! let conversations = Conversations::open(directory.path(), Default::default())?;
//! let model = Model::new(model::ModelConfig::new("http://127.0.0.1:11434/v1", "qwen3"))?;
//! let agent = Agent::new(service, Some(model), conversations, Default::default());
//! let limits = Limits { call_timeout: Some(agent.call_timeout()), ..Limits::default() };
//! let api = Router::new().merge(operations(&agent)).limits(limits).build()?;
//!
//! // `agent.chat` requires a running model; this calls a tool directly.
//! let step: Value = api.call("agent.execute_tool", &json!({ "tool": "current_time" })).await?;
//! assert_eq!(step["result"], "It is noon");
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod agent;
pub mod conversation;
pub mod model;
mod operations;
mod routes;
pub mod spans;

pub use agent::{
    Agent, AgentConfig, Caller, CapabilityDescription, ChatReply, ChatRequest, Error, Event,
    EventSender, Metadata, Pending, RefreshError, RefreshReport, Step, StepError, Stop, Usage,
};
pub use operations::operations;
pub use routes::routes;

/// The examples of the README are compiled and run with those of this documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
