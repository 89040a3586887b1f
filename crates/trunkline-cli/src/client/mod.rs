//! What the commands need beyond the library's client: what HTTP said, MCP, native commands, and agents.
//! It knows no command line.

mod agent;
mod mcp;
mod members;
mod native;
mod observed;
mod watch;

pub(crate) use self::agent::{
    Agent, Answer, Called, Event, Pending, Said, Step, StepError, Told, result as agent_result,
};
pub(crate) use self::mcp::{Content, Mcp, McpError, Property, Tool, ToolAnswer, Tools};
pub(crate) use self::members::Members;
pub(crate) use self::native::{Native, NativeError, Refusal};
pub(crate) use self::observed::{CallError, Observed};
pub(crate) use self::watch::{Seen, Watch};
