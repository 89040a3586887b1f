use std::str::FromStr;
use std::time::Duration;

use http::{HeaderMap, HeaderValue};

use super::networks::Networks;

/// Configuration of [`Http`](crate::Http). The timeout of calls is part of the
/// [client's configuration](crate::ClientConfig::timeout).
#[derive(Debug, Clone)]
pub struct HttpClientConfig {
    /// The headers sent with every request. Default: none.
    pub headers: HeaderMap,
    /// The token sent with every request as `Authorization: Bearer …`. Default: none.
    pub bearer: Option<Bearer>,
    /// The maximum size of the body of a reply, in bytes. Default 64 MiB. Reading a larger body stops at the
    /// limit; a body with a larger `Content-Length` is not read.
    pub max_reply: usize,
    /// The timeout for connecting, which includes name resolution, TCP and TLS. Default 10 s.
    pub connect_timeout: Duration,
    /// The maximum number of idle connections. Default 64. Further connections are opened for concurrent
    /// calls and closed after their replies.
    pub idle_connections: usize,
    /// The time after which an idle connection is closed. Default 30 s.
    pub idle_timeout: Duration,
    /// The networks to which connections are opened. Default: any.
    pub networks: Networks,
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
            networks: Networks::Any,
        }
    }
}

/// A token for `Authorization: Bearer …` (RFC 6750). `Debug` omits it.
#[derive(Debug, Clone)]
pub struct Bearer(HeaderValue);

/// The error for an invalid token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("bearer token must consist of one or more visible ASCII characters")]
pub struct BearerError;

impl Bearer {
    /// The value of the header `Authorization`. `Debug` omits it.
    #[must_use]
    pub fn header(&self) -> HeaderValue {
        self.0.clone()
    }

    /// Replaces the token with `[redacted]` in a text, such as an error message of the server.
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
        // `Debug` omits sensitive values, here and in a header map.
        value.set_sensitive(true);
        Ok(Self(value))
    }
}
