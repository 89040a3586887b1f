//! Concurrent calls over a byte stream. Replies are matched to calls by their ids.
//!
//! - A reply that cannot be parsed, or does not belong to a call, fails all pending calls with a
//!   [`ProtocolError`](super::ProtocolError), since it may belong to any of them. The end of the stream
//!   fails all of them with [`Broken`](super::TransportError::Broken).
//! - A reply without an id concerns a message that the server could not parse. It completes the pending call
//!   if there is only one and no other message can be meant; otherwise it is ignored.
//! - A call whose future is dropped is cancelled with the notification `$/cancelRequest`, which is sent before
//!   any further call, and its late reply is ignored. A call that has not been sent yet is not sent.
//! - Notifications of the server are ignored, and its requests are refused with -32601.

mod config;
mod connection;
mod link;
mod recent_keys;
mod recipient;
mod reply_table;
pub(super) mod stream;

pub use config::ChannelConfig;

pub(super) use connection::Connection;
pub(super) use link::{Connect, Link};
pub(super) use stream::{SingleConnection, Start};
