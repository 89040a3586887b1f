use std::time::Duration;

use crate::server::ServeError;
use crate::stream;

/// Configuration of a [`Server`](super::Server).
#[derive(Debug, Clone)]
pub struct UnixConfig {
    /// Who may connect, as the permissions of the socket's file. Default `0o600`: this user.
    pub mode: u32,
    /// How many connections may be open. Default 1,024. More wait to be accepted.
    pub connections: usize,
    /// Configuration of each connection, as for other streams, but with an `idle_timeout` of 10 minutes, so
    /// that silent clients do not keep others from connecting. Cancelling `closing` stops the server.
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
            return fail("connections", "at least 1, or nobody would ever be served");
        }
        if self.stream.in_flight == 0 {
            return fail("stream.in_flight", "at least 1, or no call would ever run");
        }
        if self.mode & !0o777 != 0 {
            return fail("mode", "permissions from 0 to 0o777");
        }
        Ok(())
    }
}
