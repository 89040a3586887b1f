//! The settings of a server.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use trunkline_core::operation::BuildError;

/// Configuration of a [`Server`](super::Server): its connections and its end.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// How many connections may be open. Default 10,000. More wait to be accepted.
    pub connections: usize,
    /// How many bytes a request's head may have, 8 KiB at least. Default 128 KiB. More is 431. (Its
    /// target may have 64 KiB; more is 414. HTTP/2 heads have the same bound.)
    pub head_bytes: usize,
    /// How long a request's head may take from its first byte. Default 10 s. Then the connection
    /// is closed. A head whose first bytes came together with the request before it, or with a
    /// part of the HTTP/2 preface, has the idle timeout.
    pub head_timeout: Duration,
    /// How long a connection may be without a request. Default 75 s. Then it is closed.
    pub idle_timeout: Duration,
    /// How long a client may take no byte of a reply. Default 30 s. Then the connection is closed.
    pub write_timeout: Duration,
    /// How long the calls that run may go on when the server stops. Default 30 s. Then they are
    /// cut off.
    pub drain_timeout: Duration,
    /// How many requests of one HTTP/2 connection may run. Default 128.
    pub streams: u32,
    /// What `GET /health` answers. Default: nothing is served there.
    pub health: Option<Health>,
    /// The problems that the health page shows. Default: none.
    pub problems: Problems,
}

/// A part of the service that does not work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Which part: `database`.
    pub component: &'static str,
    /// Why. Everybody can read it.
    pub reason: String,
}

/// A function that returns what does not work. The health page calls it for each request, so it must not block.
#[derive(Clone, Default)]
pub struct Problems(Option<Arc<dyn Fn() -> Vec<Problem> + Send + Sync>>);

impl Problems {
    /// The problems that `found` returns.
    pub fn new(found: impl Fn() -> Vec<Problem> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(found)))
    }

    pub(super) fn now(&self) -> Vec<Problem> {
        self.0.as_ref().map_or_else(Vec::new, |found| found())
    }
}

impl fmt::Debug for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Problems").field(&self.now()).finish()
    }
}

/// The health page: 200 while the server runs, with [`ServerConfig::problems`] if there are any, 503
/// while it drains. It needs no token.
#[derive(Debug, Clone)]
pub struct Health {
    /// The path, `/health` as a rule.
    pub path: String,
    /// The name of the service.
    pub service: String,
    /// Its version.
    pub version: String,
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
            streams: 128,
            health: None,
            problems: Problems::default(),
        }
    }
}

impl ServerConfig {
    pub(super) fn check(&self) -> Result<(), ServeError> {
        let fail = |setting, reason| Err(ServeError::Setting { setting, reason });
        if self.connections == 0 {
            return fail("connections", "at least 1, or nobody would ever be served");
        }
        if self.head_bytes < 8 * 1024 {
            return fail("head_bytes", "at least 8 KiB");
        }
        Ok(())
    }
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address is not one, or another process has it, or this one may not.
    #[error("cannot listen on {address}")]
    Bind {
        /// The address.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// A setting has a value that cannot work.
    #[error("setting `{setting}`: {reason}")]
    Setting {
        /// The field of [`ServerConfig`].
        setting: &'static str,
        /// What would be right.
        reason: &'static str,
    },
    /// The handlers cannot be put together.
    #[error("the handlers cannot be served")]
    Build(#[from] BuildError),
}
