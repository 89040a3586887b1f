//! EDN as a format of JSON-RPC messages.

mod context;
mod fault;
mod reply;
mod request;
mod result;

pub(crate) use context::Aside;
pub(crate) use fault::unconvertible;
pub(crate) use reply::{from_json, response, translated};
pub(crate) use request::{to_json, transcribe};
pub(crate) use result::{outcome, outcome_of};
