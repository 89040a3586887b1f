use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use http::HeaderMap;
use serde_json::Map;
use trunkline::protocol::{TraceContext, TraceState};

use super::error::Error;
use super::inbox::Inbox;
use super::link::Link;
use super::message::Params;
use super::options::CallOptions;
use super::pending::TimeLimits;
use super::request::{Answer, Outgoing};
use super::session::Session;
use crate::log_level::LogLevel;
use crate::model::notification;
use crate::protocol::meta;

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
    /// Whether a call of a tool may run twice.
    pub(super) is_repeatable: bool,
}

impl<'r> RequestParts<'r> {
    pub(super) fn of(params: Params<'r>) -> Self {
        Self { params, ..Self::default() }
    }
}

impl Connection {
    pub(super) fn new(link: Link, inbox: Arc<Inbox>) -> Self {
        // Ids of other processes that reach the same server, through a proxy or without a session, are others with high
        // probability. Below 2^30, since some servers read 32-bit integers. Without random numbers, they are those of a
        // single process.
        let first = i64::from(getrandom::u32().unwrap_or_default() >> 2);
        Self { link, inbox, last_id: AtomicI64::new(first) }
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
        if let Some(trace) = TraceContext::current() {
            let meta = params.meta.get_or_insert_with(Map::new);
            meta.entry(meta::TRACEPARENT).or_insert_with(|| trace.to_string().into());
            if let Some(state) = TraceState::current() {
                meta.entry(meta::TRACESTATE).or_insert_with(|| state.as_str().into());
            }
        }
        let features = options.handler.as_ref().unwrap_or(&config.handler).features();
        session.complete(&mut params, config, features, options.level.or(parts.level));
        let request = Outgoing {
            name: params.name.or(params.uri).or(params.task_id),
            headers: parts.headers.clone(),
            ..Outgoing::new(id, method, &params)
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
        let answer = async {
            let answer = self.link.request(session, request).await;
            // Otherwise, the server may continue the request.
            if answer.as_ref().map_or_else(is_answer, |_| true) {
                self.inbox.pending.answered(request.id);
            }
            answer
        };
        let waiting = self.inbox.pending.wait(request.id, limits, options.clone(), answer);
        let answer = waiting.await;
        answer.unwrap_or_else(|elapsed| Err(self.link.timed_out(elapsed.0).into()))
    }

    pub(super) async fn notify(
        &self,
        session: &Session,
        method: &'static str,
    ) -> Result<(), Error> {
        let after = self.inbox.config.timeout;
        let sent = self.link.notify(session, method, notification(method, None::<&()>).into());
        tokio::time::timeout(after, sent)
            .await
            .unwrap_or_else(|_| Err(self.link.timed_out(after).into()))
    }
}

/// Whether the server has answered, or refused the request.
fn is_answer(error: &Error) -> bool {
    error.error_object().is_some() || error.status().is_some_and(|status| status.is_client_error())
}
