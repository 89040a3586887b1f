use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use trunkline::client::{Http, Transport};

use super::authorization::Authorization;
use super::handler::{ClientHandler, NoHandler};
use crate::lock::Lock;
use crate::model::Implementation;

/// Configuration of a [`Client`](super::Client).
#[derive(Clone)]
#[non_exhaustive]
pub struct McpClientConfig {
    /// The client's name, as the server sees it.
    pub name: String,
    /// The client's version, as the server sees it.
    pub version: String,
    /// The timeout of each request. Default 30 s. Progress, answers to the server's requests and authorization extend
    /// it.
    pub timeout: Duration,
    /// The maximum time of a request with its extensions. Default 10 min.
    pub max_timeout: Duration,
    /// The maximum time for starting a server as a child process, until it has answered the first requests. Default
    /// 60 s: `npx` and `uvx` download a program before they start it.
    pub connect_timeout: Duration,
    /// The timeout of the first request on stdio. Default 5 s. A server that has not replied by then is treated as one
    /// of a revision before 2026-07-28.
    pub probe_timeout: Duration,
    /// The handler of the server's requests and notifications. Default: none.
    pub handler: Arc<dyn ClientHandler>,
    /// The timeout for answering a request of the server. Default 5 min. A request of the client that ended without an
    /// answer may be continued by the server for this time, see [`CallOptions::handler`](super::CallOptions::handler).
    pub handler_timeout: Duration,
    /// The source of access tokens for HTTP. Default: none.
    pub authorization: Option<Arc<dyn Authorization>>,
    /// The maximum size of a message from the server, in bytes. Default 16 MiB.
    pub message_bytes: usize,
    /// The maximum number of pages of a list. Default 100.
    pub max_pages: usize,
    /// The maximum number of items of a list. Default 10,000.
    pub max_items: usize,
    /// The maximum size of all pages of a list, in bytes. Default 64 MiB.
    pub list_bytes: usize,
    /// The maximum number of times that a request is repeated with input for the server. Default 8.
    pub max_rounds: usize,
    /// Whether the server may answer a call of a tool with a task, if it supports them. Default `true`.
    pub tasks: bool,
    /// The maximum time to wait for the end of a task. Default 1 h.
    pub task_timeout: Duration,
    /// The maximum number of requests of the server that are answered at the same time. Default 16.
    pub max_requests: usize,
    /// The maximum size of cached results, in bytes. Default 4 MiB. With 0, nothing is cached.
    pub cache_bytes: usize,
    /// The eras of known servers. Default: a new cache, which clones of the configuration share.
    pub eras: EraCache,
}

impl McpClientConfig {
    /// A client of this name and version, with the defaults.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            timeout: Duration::from_secs(30),
            max_timeout: Duration::from_secs(600),
            connect_timeout: Duration::from_secs(60),
            probe_timeout: Duration::from_secs(5),
            handler: Arc::new(NoHandler),
            handler_timeout: Duration::from_secs(300),
            authorization: None,
            message_bytes: 16 << 20,
            max_pages: 100,
            max_items: 10_000,
            list_bytes: 64 << 20,
            max_rounds: 8,
            tasks: true,
            task_timeout: Duration::from_secs(3_600),
            max_requests: 16,
            cache_bytes: 4 << 20,
            eras: EraCache::default(),
        }
    }

    pub(super) fn client_info(&self) -> Value {
        let (name, version) = (self.name.clone(), self.version.clone());
        json!(Implementation { name, version, ..Implementation::default() })
    }
}

debug_fields!(McpClientConfig: name, version, timeout);

/// The eras of servers, by origin or command, so that later clients of the same server need not find out again. A command
/// is remembered if its server did not answer the first request. Clones share the content. The last 256 servers are
/// remembered.
#[derive(Debug, Clone, Default)]
pub struct EraCache(Arc<Lock<VecDeque<(String, KnownEra)>>>);

/// The protocol of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KnownEra {
    Modern,
    Legacy,
    /// HTTP+SSE of 2024-11-05.
    Sse,
}

impl EraCache {
    const MAX: usize = 256;

    /// Connects to a server with `initialize` from now on, without looking for revisions since 2026-07-28. A server that
    /// refuses it is treated as unknown.
    pub fn assume_legacy(&self, http: &Http) {
        self.set(&http.target(), Some(KnownEra::Legacy));
    }

    pub(super) fn get(&self, origin: &str) -> Option<KnownEra> {
        let eras = self.0.lock();
        eras.iter().find(|(known, _)| known == origin).map(|(_, era)| *era)
    }

    pub(super) fn set(&self, origin: &str, era: Option<KnownEra>) {
        let mut eras = self.0.lock();
        eras.retain(|(known, _)| known != origin);
        if let Some(era) = era {
            if eras.len() == Self::MAX {
                eras.pop_front();
            }
            eras.push_back((origin.to_owned(), era));
        }
    }
}
