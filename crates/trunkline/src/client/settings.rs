use std::time::Duration;

use super::retry::Retry;

/// Settings of a [`Client`](super::Client).
#[derive(Debug, Clone)]
pub struct Settings {
    /// How long a call or a batch may take, from the first attempt to the last byte of its reply.
    /// Default 30 s. Then it is a [`Timeout`](super::TransportError::Timeout).
    pub timeout: Duration,
    /// Whether and how calls of methods marked idempotent are made again. Default: twice more.
    pub retry: Option<Retry>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(30), retry: Some(Retry::default()) }
    }
}
