use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use http::HeaderMap;
use serde_json::{Map, Value};
use trunkline::client::TransportError;

use super::error::Error;
use super::inbox::Inbox;
use super::link::Link;
use super::message::{self, Params};
use super::pending::{ProgressCallback, TimeLimits};
use super::request::{Answer, Outgoing};
use super::session::Session;
use crate::log_level::LogLevel;

/// Options of one request.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CallOptions {
    /// Receives the progress. Default: none, and the server is not asked for it.
    pub progress: Option<ProgressCallback>,
    /// The timeout. Default: that of the configuration.
    pub timeout: Option<Duration>,
    /// Further members of `_meta`.
    pub meta: Map<String, Value>,
}

/// A connection whose era may not be known yet.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) link: Link,
    pub(super) inbox: Arc<Inbox>,
    last_id: AtomicI64,
}

/// Members that are added to the params of a request.
#[derive(Debug, Default)]
pub(super) struct RequestParts<'r> {
    pub(super) params: Params<'r>,
    /// The headers that repeat arguments.
    pub(super) headers: HeaderMap,
    pub(super) options: CallOptions,
    /// The minimum level of log messages.
    pub(super) level: Option<LogLevel>,
}

impl<'r> RequestParts<'r> {
    pub(super) fn of(params: Params<'r>) -> Self {
        Self { params, ..Self::default() }
    }
}

impl Connection {
    pub(super) fn new(link: Link, inbox: Arc<Inbox>) -> Self {
        Self { link, inbox, last_id: AtomicI64::new(0) }
    }

    pub(super) fn next_id(&self) -> i64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Sends a request, and waits for its result until its deadline.
    pub(super) async fn request(
        &self,
        session: &Session,
        method: &'static str,
        parts: &RequestParts<'_>,
    ) -> Result<Answer, Error> {
        let config = &self.inbox.config;
        let id = self.next_id();
        let mut params = parts.params.clone();
        let options = &parts.options;
        if !options.meta.is_empty() || options.progress.is_some() {
            params.meta.get_or_insert_with(Map::new).extend(options.meta.clone());
        }
        if let (Some(meta), Some(_)) = (&mut params.meta, &options.progress) {
            meta.insert("progressToken".to_owned(), id.into());
        }
        session.complete(&mut params, config, parts.level);
        let request = Outgoing {
            id,
            method,
            body: message::request(id, method, &params),
            name: params.name.or(params.uri),
            headers: parts.headers.clone(),
            is_open_ended: false,
        };
        self.send(session, &request, options).await
    }

    /// Sends a request with this text, and waits for its result until its deadline.
    pub(super) async fn send(
        &self,
        session: &Session,
        request: &Outgoing<'_>,
        options: &CallOptions,
    ) -> Result<Answer, Error> {
        let config = &self.inbox.config;
        let timeout = options.timeout.unwrap_or(config.timeout);
        let limits = TimeLimits { timeout, max: config.max_timeout.max(timeout) };
        let answer = self.link.request(session, request);
        let progress = options.progress.clone();
        let answer = self.inbox.pending.wait(request.id, limits, progress, answer).await;
        answer.unwrap_or_else(|elapsed| {
            let target = self.link.target();
            Err(TransportError::Timeout { target, after: elapsed.0 }.into())
        })
    }

    pub(super) async fn notify(
        &self,
        session: &Session,
        method: &'static str,
    ) -> Result<(), Error> {
        let after = self.inbox.config.timeout;
        let sent = self.link.notify(session, method, message::notification(method, None));
        tokio::time::timeout(after, sent).await.unwrap_or_else(|_| {
            Err(TransportError::Timeout { target: self.link.target(), after }.into())
        })
    }
}
