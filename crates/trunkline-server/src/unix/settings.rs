use std::time::Duration;

use crate::server::ServeError;
use crate::stream;

/// Settings of a [`Server`](super::Server).
#[derive(Debug, Clone)]
pub struct Settings {
    /// Who may connect, as the permissions of the socket's file. Default `0o600`: this user.
    pub mode: u32,
    /// How many connections may be open. Default 1,024. More wait to be accepted.
    pub connections: usize,
    /// Settings of each connection. Their default is that of streams, but for clients that are silent:
    /// they have 10 minutes, so that nobody keeps others from connecting for ever. The replies of all connections together have the bytes that are
    /// set for replies; when `closing` is cancelled, the server stops.
    pub stream: stream::Settings,
}

impl Default for Settings {
    fn default() -> Self {
        let idle_timeout = Some(Duration::from_secs(600));
        let stream = stream::Settings { idle_timeout, ..Default::default() };
        Self { mode: 0o600, connections: 1_024, stream }
    }
}

impl Settings {
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
