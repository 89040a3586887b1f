//! EDN as a format of JSON-RPC messages.

mod fault;
mod reply;
mod request;

pub use fault::unconvertible;
pub use reply::{from_json, outcome, outcome_of, response, translate_reply};
pub use request::{to_json, transcribe};
