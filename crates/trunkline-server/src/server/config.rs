//! The configuration of a server.

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use trunkline_core::operation::BuildError;

use super::readiness::Readiness;

/// Configuration of a [`Server`](super::Server): limits and timeouts of connections, and the health page.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Maximum number of open connections. Default 10,000. Further connections wait to be accepted.
    pub connections: usize,
    /// Maximum size of the request line and headers, in bytes, at least 8 KiB. Default 128 KiB. Larger headers
    /// return 431. (The maximum size of the target is 64 KiB; a longer target returns 414. HTTP/2 headers have
    /// the same limit.)
    pub head_bytes: usize,
    /// Maximum time for the request line and headers, from their first byte. Default 10 s. After that, the
    /// connection is closed. If their first bytes arrive together with the previous request, or with a part
    /// of the HTTP/2 preface, the idle timeout applies.
    pub head_timeout: Duration,
    /// Maximum time of a connection without a request. Default 75 s. After that, it is closed.
    pub idle_timeout: Duration,
    /// Maximum time without progress in sending a reply. Default 30 s. After that, the connection is closed.
    pub write_timeout: Duration,
    /// Maximum time for running calls to finish when the server stops. Default 30 s. After that, they are
    /// aborted.
    pub drain_timeout: Duration,
    /// The treatment of new connections while running calls finish. Default: [`DrainMode::Refuse`].
    pub drain_mode: DrainMode,
    /// Maximum number of concurrent requests of an HTTP/2 connection. Default 128.
    pub streams: u32,
    /// The health page. Default: none.
    pub health: Option<Health>,
    /// The problems reported by the health page. Default: none.
    pub problems: Problems,
    /// The checks of the readiness page. Default: none.
    pub readiness: Readiness,
}

/// A component of the service that does not work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The component, such as `database`.
    pub component: &'static str,
    /// The reason. It is public.
    pub reason: String,
}

/// A function that returns the current problems. The health page calls it for each request, so it must not block.
#[derive(Clone, Default)]
pub struct Problems(Option<Arc<dyn Fn() -> Vec<Problem> + Send + Sync>>);

impl Problems {
    /// Reports the problems returned by `check`.
    pub fn new(check: impl Fn() -> Vec<Problem> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(check)))
    }

    /// The current problems. A function that panics is one.
    #[must_use]
    pub fn now(&self) -> Vec<Problem> {
        let Some(check) = &self.0 else { return Vec::new() };
        catch_unwind(AssertUnwindSafe(|| check())).unwrap_or_else(|_| {
            tracing::error!("the check of problems panicked");
            let reason = "the check of problems panicked".to_owned();
            vec![Problem { component: "health", reason }]
        })
    }
}

impl fmt::Debug for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Problems").field(&self.now()).finish()
    }
}

/// The health page: 200 while the server runs, with [`ServerConfig::problems`] if there are any; 503 while it
/// drains. It does not require a token.
///
/// The paths may end with a slash. Two more pages are below its path: `/live` returns 200 while the process answers, and `/ready` 503 if a check of
/// [`ServerConfig::readiness`] fails or the server drains.
#[derive(Debug, Clone)]
pub struct Health {
    /// The path, usually `/health`.
    pub path: String,
    /// The name of the service.
    pub service: String,
    /// The version of the service.
    pub version: String,
}

/// The treatment of new connections while a server drains.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DrainMode {
    /// They are accepted, and their requests refused with status 503, which reports that the server is stopping.
    #[default]
    Refuse,
    /// The socket is closed, so that a proxy sends their requests to another server. Connections that were made before
    /// are accepted; the next request of each is answered, and the connection then closed. No request is lost.
    Close,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            connections: 10_000,
            head_bytes: 128 * 1024,
            head_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(75),
            write_timeout: Duration::from_secs(30),
            drain_timeout: Duration::from_secs(30),
            drain_mode: DrainMode::default(),
            streams: 128,
            health: None,
            problems: Problems::default(),
            readiness: Readiness::default(),
        }
    }
}

impl ServerConfig {
    pub(super) fn check(&self) -> Result<(), ServeError> {
        let fail = |setting, reason| Err(ServeError::Setting { setting, reason });
        if self.connections == 0 {
            return fail("connections", "must be at least 1");
        }
        let is_route = |path: &str| {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
            path.len() > 1 && path.starts_with('/') && path.bytes().all(is_plain)
        };
        if self.health.as_ref().is_some_and(|health| !is_route(&health.path)) {
            return fail("health.path", "must be a path of letters, digits and `-._~`");
        }
        if self.head_bytes < 8 * 1024 {
            return fail("head_bytes", "must be at least 8 KiB");
        }
        Ok(())
    }
}

/// The error for a server that cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address is invalid, in use, or not permitted.
    #[error("cannot listen on {address}")]
    Bind {
        /// The address.
        address: String,
        /// The I/O error.
        source: io::Error,
    },
    /// A setting has an invalid value.
    #[error("invalid setting `{setting}`: {reason}")]
    Setting {
        /// The field of [`ServerConfig`].
        setting: &'static str,
        /// The valid values.
        reason: &'static str,
    },
    /// The router is invalid.
    #[error("cannot build the service")]
    Build(#[from] BuildError),
}
