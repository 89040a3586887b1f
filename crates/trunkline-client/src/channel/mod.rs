//! Calls over a stream of bytes, many at a time: replies are told apart by their ids.
//!
//! A reply that cannot be read, or is to no call that was made, is a
//! [`ProtocolError`](super::ProtocolError) of all calls that wait, for it might be any one's. So is
//! the end of the stream a [`Broken`](super::TransportError::Broken) of all of them. A reply without
//! an id, which is to a message that the server could not read, is that of the one call that waits; if
//! it may be to another message, nobody gets it. A call whose future is dropped is cancelled with the
//! notification `$/cancelRequest`, before any further call is sent, and its late reply is ignored; one
//! that has not been sent by then never is. The server's own notifications are ignored, too, and its requests answered with -32601.

mod addressee;
mod config;
mod connection;
mod link;
pub(super) mod over;
mod recent;
mod waiting;

pub use config::ChannelConfig;

pub(super) use connection::Connection;
pub(super) use link::{Connect, Link};
pub(super) use over::{Once, Start};
