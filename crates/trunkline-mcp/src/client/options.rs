use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::callback::ProgressCallback;
use super::handler::ClientHandler;
use super::server_task::TaskCallback;
use crate::log_level::LogLevel;

/// Options of one request.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct CallOptions {
    /// Receives the progress. Default: none, and the server is not asked for it.
    pub progress: Option<ProgressCallback>,
    /// The handler of the server's requests and log messages that belong to this request. Default: that of the
    /// configuration.
    ///
    /// A request or message belongs to this request if the server sends it in the result or on the stream of this
    /// request. On stdio and HTTP+SSE, and on the stream outside requests, it belongs to the only running request that
    /// has a handler. If there are several, a request of the server is refused, and a log message goes to the handler
    /// of the configuration.
    ///
    /// A request that was cancelled or timed out counts as running until the server answers it, or for
    /// [`handler_timeout`](super::McpClientConfig::handler_timeout), unless it has the same [`owner`](Self::owner) as
    /// the only running one.
    ///
    /// Since 2026-07-28, the capabilities that the client declares are those of this handler. Earlier servers know
    /// those of the configuration.
    pub handler: Option<Arc<dyn ClientHandler>>,
    /// The user or client that the handler represents. Default: unknown. The messages of a cancelled request may go to
    /// another handler of the same owner.
    pub owner: Option<String>,
    /// The minimum level of log messages that belong to this request, since 2026-07-28. Default: that of
    /// [`Client::set_level`](super::Client::set_level).
    pub level: Option<LogLevel>,
    /// Receives the states of the task, if the call becomes one. Default: none.
    pub task: Option<TaskCallback>,
    /// The timeout. Default: that of the configuration.
    pub timeout: Option<Duration>,
    /// Further members of `_meta`.
    pub meta: Map<String, Value>,
}

debug_fields!(CallOptions: progress, level, timeout, meta);
