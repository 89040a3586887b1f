//! JSON-RPC messages in EDN.

mod fault;
mod reply;
mod request;

pub use fault::unconvertible;
pub use reply::{from_json, outcome, outcome_of, response, translate_reply};
pub use request::{to_json, transcribe};
