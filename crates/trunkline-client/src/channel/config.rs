use std::time::Duration;

use crate::frame::Framing;

/// Configuration of a [`Channel`](crate::Channel), or of what is built on one.
#[derive(Debug, Clone)]
pub struct ChannelConfig {
    /// How messages are told apart. Default: each is a line.
    pub framing: Framing,
    /// How many bytes a message from the server may have. Default 64 MiB. A larger one is
    /// [`TooLarge`](crate::TransportError::TooLarge) for all calls that wait.
    pub message_bytes: usize,
    /// How many bytes a message to the server may have. Default 1 MiB, which is what servers of this
    /// library take unless they are told otherwise. A larger one is not sent: it is
    /// [`RequestTooLarge`](crate::TransportError::RequestTooLarge). A server that refuses a
    /// message may not say which one it was.
    pub request_bytes: usize,
    /// How many calls may wait for their replies. Default 128. More wait until one has its reply. A
    /// batch counts as one.
    pub in_flight: usize,
    /// How long the server may take no byte of what it is sent. Default 30 s. Then the connection is
    /// broken.
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
