//! Requests to the collector.

use std::fmt;
use std::future::{self, Future};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use opentelemetry_http::{HttpClient, HttpError};
use tokio::runtime::{Builder, Runtime};
use trunkline::client::Http;
use trunkline::client::http::{HttpClientConfig, Url};

/// A client that blocks the thread which exports. It has its own runtime, so that exports neither wait for calls nor
/// delay them.
pub(super) struct CollectorClient {
    runtime: Runtime,
    http: Http,
    target: String,
    timeout: Duration,
    /// Whether the last export failed. Only changes are logged.
    has_failed: AtomicBool,
}

/// The maximum size of a reply.
const MAX_REPLY: usize = 64 << 10;

impl CollectorClient {
    /// A client of the collector at this URL.
    ///
    /// # Errors
    /// When the runtime or TLS cannot be set up.
    pub(super) fn new(url: Url, timeout: Duration) -> anyhow::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let target = url.origin();
        let config = HttpClientConfig {
            max_reply: MAX_REPLY,
            connect_timeout: timeout,
            ..HttpClientConfig::default()
        };
        let http = Http::with_config(url, config)?;
        Ok(Self { runtime, http, target, timeout, has_failed: AtomicBool::new(false) })
    }

    fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let sent = self.runtime.block_on(async {
            let sent = tokio::time::timeout(self.timeout, self.post(request)).await;
            sent.unwrap_or_else(|_| Err(format!("no reply within {:?}", self.timeout).into()))
        });
        match &sent {
            Ok(response) if response.status().is_success() => {
                if self.has_failed.swap(false, Ordering::Relaxed) {
                    tracing::info!(
                        collector = self.target,
                        "traces and metrics are exported again"
                    );
                }
            }
            Ok(response) => self.report(&format!("status {}", response.status())),
            Err(error) => self.report(&causes(&**error)),
        }
        sent
    }

    async fn post(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut reply = self.http.at_path(path)?.post(parts.headers, body).await?;
        let mut body = Vec::new();
        while let Some(chunk) = reply.chunk().await? {
            body.extend_from_slice(&chunk);
        }
        let mut response = Response::new(Bytes::from(body));
        *response.status_mut() = reply.status;
        *response.headers_mut() = reply.headers;
        Ok(response)
    }

    fn report(&self, reason: &str) {
        if !self.has_failed.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                collector = self.target,
                reason,
                "cannot export traces and metrics; spans are dropped when their queue is full"
            );
        }
    }
}

/// An error and its causes, in one line.
fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

impl HttpClient for CollectorClient {
    fn send_bytes<'s, 'f>(
        &'s self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'f>>
    where
        's: 'f,
        Self: 'f,
    {
        Box::pin(future::ready(self.send(request)))
    }
}

impl fmt::Debug for CollectorClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CollectorClient").field("target", &self.target).finish_non_exhaustive()
    }
}
