//! Requests to the collector.

use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, StatusCode};
use tokio::runtime::{Builder, Runtime};
use trunkline::client::Http;
use trunkline::client::http::{HttpClientConfig, Url};

use super::arguments::headers;
use crate::config::SecretFile;

/// A client that blocks the thread which exports. It has its own runtime, so that exports neither wait for calls nor
/// delay them.
pub(super) struct CollectorClient {
    runtime: Runtime,
    http: Http,
    /// The path of the endpoint, without a slash at its end.
    base: String,
    headers: HeaderMap,
    /// The file of the headers, which is read again when the collector refuses them.
    headers_file: Option<SecretFile>,
    target: String,
    timeout: Duration,
    /// Whether the last export failed. Only changes are logged.
    has_failed: bool,
}

/// The maximum size of a reply.
const MAX_REPLY: usize = 64 << 10;

impl CollectorClient {
    /// A client of the collector at this URL.
    ///
    /// # Errors
    /// When the runtime or TLS cannot be set up, or a header is invalid.
    pub(super) fn new(
        url: Url,
        headers: HeaderMap,
        headers_file: Option<SecretFile>,
        timeout: Duration,
    ) -> anyhow::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (target, base) = (url.origin(), url.path().trim_end_matches('/').to_owned());
        let config = HttpClientConfig {
            max_reply: MAX_REPLY,
            connect_timeout: timeout,
            ..HttpClientConfig::default()
        };
        let http = Http::with_config(url, config)?;
        let headers = with_type(headers);
        let has_failed = false;
        Ok(Self { runtime, http, base, headers, headers_file, target, timeout, has_failed })
    }

    /// Sends an export to a path below the endpoint. A failed one is not repeated: the next has the same metrics, and
    /// spans are not worth a queue that is full.
    pub(super) fn send(&mut self, path: &str, body: Vec<u8>) {
        let body = Bytes::from(body);
        let mut sent = self.send_once(path, body.clone());
        let is_refused = |status: &StatusCode| {
            matches!(*status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
        };
        if sent.as_ref().is_ok_and(is_refused) && self.has_other_headers() {
            sent = self.send_once(path, body);
        }
        match sent {
            Ok(status) if status.is_success() => {
                if self.has_failed {
                    tracing::info!(
                        collector = self.target,
                        "traces and metrics are exported again"
                    );
                }
                self.has_failed = false;
            }
            Ok(status) => self.report(&format!("status {status}")),
            Err(error) => self.report(&causes(&*error)),
        }
    }

    /// Reads the headers again. Returns whether they have changed.
    fn has_other_headers(&mut self) -> bool {
        let Some(file) = &self.headers_file else { return false };
        let read = file.read().map_err(anyhow::Error::msg).and_then(|text| headers(&text));
        match read.map(with_type) {
            Ok(headers) => {
                let has_changed = headers != self.headers;
                self.headers = headers;
                has_changed
            }
            Err(error) => {
                tracing::warn!(%error, "cannot read the headers of the collector again");
                false
            }
        }
    }

    fn send_once(
        &self,
        path: &str,
        body: Bytes,
    ) -> Result<StatusCode, Box<dyn std::error::Error + Send + Sync>> {
        self.runtime.block_on(async {
            let sent = tokio::time::timeout(self.timeout, self.post(path, body)).await;
            sent.unwrap_or_else(|_| Err(format!("no reply within {:?}", self.timeout).into()))
        })
    }

    async fn post(
        &self,
        path: &str,
        body: Bytes,
    ) -> Result<StatusCode, Box<dyn std::error::Error + Send + Sync>> {
        let at = self.http.at_path(&format!("{}{path}", self.base))?;
        let mut reply = at.post(self.headers.clone(), body).await?;
        // A connection is used again once its reply was read.
        while reply.chunk().await?.is_some() {}
        Ok(reply.status)
    }

    fn report(&mut self, reason: &str) {
        if !self.has_failed {
            tracing::warn!(
                collector = self.target,
                reason,
                "cannot export traces and metrics; spans are dropped when their queue is full"
            );
        }
        self.has_failed = true;
    }
}

fn with_type(mut headers: HeaderMap) -> HeaderMap {
    let default = HeaderValue::from_static("application/x-protobuf");
    headers.entry(CONTENT_TYPE).or_insert(default);
    headers
}

/// An error and its causes, in one line.
fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
