//! EDN as a format of JSON-RPC messages.

mod fault;
mod reply;
mod request;
mod result;

pub use fault::unconvertible;
pub use reply::{from_json, response, translated};
pub use request::{to_json, transcribe};
pub use result::{outcome, outcome_of};
