use std::time::Duration;

use crate::frame::Framing;

/// Configuration of a [`Channel`](crate::Channel) and of the transports based on it.
#[derive(Debug, Clone)]
pub struct ChannelConfig {
    /// The framing of messages. Default: one message per line.
    pub framing: Framing,
    /// The maximum size of a message from the server, in bytes. Default 64 MiB. A larger message fails all
    /// pending calls with [`TooLarge`](crate::TransportError::TooLarge).
    pub message_bytes: usize,
    /// The maximum size of a message to the server, in bytes. Default 1 MiB, which is also the default limit
    /// of servers. A larger message is not sent and fails with
    /// [`RequestTooLarge`](crate::TransportError::RequestTooLarge), since a server that refuses a message may
    /// not identify it.
    pub request_bytes: usize,
    /// The maximum number of calls that wait for replies. Default 128. Further calls wait for a reply to one
    /// of them. A batch counts as one call.
    pub in_flight: usize,
    /// The maximum time without progress in sending a message. Default 30 s. After that, the connection is
    /// closed.
    pub write_timeout: Duration,
}

impl Default for ChannelConfig {
    fn default() -> Self {
        Self {
            framing: Framing::default(),
            message_bytes: 64 << 20,
            request_bytes: 1 << 20,
            in_flight: 128,
            write_timeout: Duration::from_secs(30),
        }
    }
}
