//! Clients beyond those of the libraries: calls that report the HTTP status, native commands, agents, and the history.
//! They do not depend on the command line.

mod agent;
mod native;
mod status;
mod watch;

pub(crate) use self::agent::{
    Agent, Answer, ChatParams, Event, Pending, Step, StepError, ToolCall, TurnEvent,
    result as agent_result,
};
pub(crate) use self::native::{Native, NativeError, Refusal};
pub(crate) use self::status::{CallError, StatusTransport, call};
pub(crate) use self::watch::{Watch, WatchEvent};
