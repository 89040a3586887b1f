//! Conversion between native commands and JSON-RPC 2.0 calls. An existing command API can accept JSON-RPC on the same
//! path, without a change for its clients.
//!
//! | native | JSON-RPC |
//! |---|---|
//! | `command`, `resource` | `method`, `resource.command`: the last segment is the command |
//! | `id` | `params.id`, or the first param by position of `read` and `delete` |
//! | `payload` | all other members of `params` |
//! | `metadata` | `params.metadata` |
//! | `{"result": …}`, 201 and `"statusCode": 201` for `create`, 204 for `delete` | `result` |
//! | `{"error": "…"}` and a status | `error` with code, message and data |
//!
//! All functions are pure. [`commands`] turns a command handler into
//! [`ProtocolMethods`](trunkline::protocol::ProtocolMethods), which is all that an existing service needs to accept
//! JSON-RPC.

mod commands;
pub(crate) mod fault;
mod json_rpc;
mod members;
mod metadata;
mod native;
mod protocol;
mod reply;

pub use commands::commands;
pub use json_rpc::{call_of, command_of};
pub use native::read;
pub use protocol::protocol;
pub use reply::NativeReply;

#[cfg(feature = "records")]
pub(crate) use {
    json_rpc::{JSON_RPC, NATIVE},
    metadata::request_id,
    native::not_json,
};
