use std::time::Duration;

use crate::server::ServeError;
use crate::stream;

/// Configuration of a [`Server`](super::Server).
#[derive(Debug, Clone)]
pub struct UnixConfig {
    /// The permissions of the socket file, which determine who may connect. Default `0o600`: the current user.
    pub mode: u32,
    /// The maximum number of open connections. Default 1,024. Further connections wait to be accepted.
    pub connections: usize,
    /// The configuration of each connection. The default `idle_timeout` is 10 minutes, so that idle clients do
    /// not prevent others from connecting. Cancelling `closing` stops the server.
    pub stream: stream::StreamConfig,
}

impl Default for UnixConfig {
    fn default() -> Self {
        let idle_timeout = Some(Duration::from_secs(600));
        let stream = stream::StreamConfig { idle_timeout, ..Default::default() };
        Self { mode: 0o600, connections: 1_024, stream }
    }
}

impl UnixConfig {
    pub(super) fn check(&self) -> Result<(), ServeError> {
        let fail = |setting, reason| Err(ServeError::Setting { setting, reason });
        if self.connections == 0 {
            return fail("connections", "must be at least 1");
        }
        if self.stream.in_flight == 0 {
            return fail("stream.in_flight", "must be at least 1");
        }
        if self.mode & !0o777 != 0 {
            return fail("mode", "must be between 0 and 0o777");
        }
        Ok(())
    }
}
