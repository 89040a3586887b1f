use std::time::Duration;

use crate::channel;

/// Configuration of a [`Child`](crate::Child).
#[derive(Debug, Clone)]
pub struct ChildConfig {
    /// How messages go to the process and back.
    pub channel: channel::ChannelConfig,
    /// How long the process may take to end by itself, once its stdin is closed or it has closed its
    /// stdout. Default 2 s. Then it is killed.
    pub grace: Duration,
}

impl Default for ChildConfig {
    fn default() -> Self {
        Self { channel: channel::ChannelConfig::default(), grace: Duration::from_secs(2) }
    }
}
