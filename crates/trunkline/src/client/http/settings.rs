use std::time::Duration;

use http::HeaderMap;

use super::bearer::Bearer;
#[cfg(feature = "tls")]
use super::tls::Roots;

/// Settings of [`Http`](crate::client::Http). How long a call may take is its client's
/// [setting](crate::client::Settings::timeout).
#[derive(Debug, Clone)]
pub struct Settings {
    /// Sent with every request. Default: none.
    pub headers: HeaderMap,
    /// Sent with every request as `Authorization: Bearer …`. Default: none.
    pub bearer: Option<Bearer>,
    /// How many bytes the body of a reply may have. Default 64 MiB. One that announces more is not
    /// read at all; one that turns out to have more is not read further.
    pub max_reply: usize,
    /// How long it may take to connect: name, TCP and TLS together. Default 10 s.
    pub connect_timeout: Duration,
    /// How many connections are kept open for the next call. Default 64. More are opened if there
    /// are more calls at a time, and closed behind their replies.
    pub idle_connections: usize,
    /// How long a connection is kept open for the next call. Default 30 s. Older ones are closed when
    /// a call is made, or ends.
    pub idle_timeout: Duration,
    /// Whom certificates of https servers have to be signed by. Default: the authorities that this
    /// machine trusts.
    #[cfg(feature = "tls")]
    pub roots: Roots,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            headers: HeaderMap::new(),
            bearer: None,
            max_reply: 64 << 20,
            connect_timeout: Duration::from_secs(10),
            idle_connections: 64,
            idle_timeout: Duration::from_secs(30),
            #[cfg(feature = "tls")]
            roots: Roots::default(),
        }
    }
}
