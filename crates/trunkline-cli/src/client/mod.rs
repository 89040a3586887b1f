//! Clients beyond those of the libraries: calls with the status of HTTP replies, native commands, and agents.
//! It does not depend on the command line.

mod agent;
mod native;
mod observed;
mod watch;

pub(crate) use self::agent::{
    Agent, Answer, Called, Event, Pending, Said, Step, StepError, Told, result as agent_result,
};
pub(crate) use self::native::{Native, NativeError, Refusal};
pub(crate) use self::observed::{CallError, Observed, call};
pub(crate) use self::watch::{Seen, Watch};
