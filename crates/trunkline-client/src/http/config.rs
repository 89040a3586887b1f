use std::str::FromStr;
use std::time::Duration;

use http::{HeaderMap, HeaderValue};

/// Configuration of [`Http`](crate::Http). How long a call may take is its client's
/// [setting](crate::ClientConfig::timeout).
#[derive(Debug, Clone)]
pub struct HttpClientConfig {
    /// Sent with every request. Default: none.
    pub headers: HeaderMap,
    /// Sent with every request as `Authorization: Bearer …`. Default: none.
    pub bearer: Option<Bearer>,
    /// The maximum size of a reply's body, in bytes. Default 64 MiB. A longer one is not read to its end,
    /// and not at all if it announces its length.
    pub max_reply: usize,
    /// The deadline for a connection: resolving the name, TCP and TLS together. Default 10 s.
    pub connect_timeout: Duration,
    /// The maximum number of idle connections. Default 64. More are opened if there are more calls at a
    /// time, and closed after their replies.
    pub idle_connections: usize,
    /// The time after which an idle connection is closed. Default 30 s.
    pub idle_timeout: Duration,
}

impl Default for HttpClientConfig {
    fn default() -> Self {
        Self {
            headers: HeaderMap::new(),
            bearer: None,
            max_reply: 64 << 20,
            connect_timeout: Duration::from_secs(10),
            idle_connections: 64,
            idle_timeout: Duration::from_secs(30),
        }
    }
}

/// A token for `Authorization: Bearer …` (RFC 6750). `Debug` does not show it.
#[derive(Debug, Clone)]
pub struct Bearer(HeaderValue);

/// An invalid token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the bearer token is empty, or has characters that no request can carry")]
pub struct BearerError;

impl Bearer {
    pub(super) fn header(&self) -> HeaderValue {
        self.0.clone()
    }

    /// Replaces the token with `[redacted]` in a text, such as a server's error message.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        let token = self.0.to_str().ok().and_then(|header| header.strip_prefix("Bearer "));
        token.map_or_else(|| text.to_owned(), |token| text.replace(token, "[redacted]"))
    }
}

impl FromStr for Bearer {
    type Err = BearerError;

    fn from_str(token: &str) -> Result<Self, BearerError> {
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(BearerError);
        }
        let value = HeaderValue::try_from(format!("Bearer {token}"));
        let mut value = value.map_err(|_| BearerError)?;
        // Not shown by `Debug`, here or in a header map.
        value.set_sensitive(true);
        Ok(Self(value))
    }
}
