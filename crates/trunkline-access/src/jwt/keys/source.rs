//! Reads a key set from a file or a URL.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use tokio::time::timeout;

use crate::jwt::key_set::{KeySet, KeySetError};
use trunkline_client::http::{HttpClientConfig, Url};
use trunkline_client::{Http, TransportError};

/// The schedule and limits for fetching keys.
#[derive(Debug, Clone)]
pub struct Refresh {
    /// The age after which keys are fetched again in the background. Default 10 min.
    pub after: Duration,
    /// The age after which tokens wait until the fetch succeeds or fails. It limits how long a removed key
    /// is accepted after an idle period. At least [`after`](Self::after). Default 20 min.
    pub wait_after: Duration,
    /// The minimum time between two fetches. A token with an unknown `kid`, or one that no cached key
    /// verifies, triggers a fetch, since keys may have been rotated. Default 10 s.
    pub interval: Duration,
    /// The maximum age of keys that cannot be fetched again. Default 24 h.
    pub max_age: Duration,
    /// The timeout of a fetch. Default 5 s.
    pub timeout: Duration,
    /// The maximum size of the key set in bytes. Default 256 KiB.
    pub max_bytes: usize,
}

impl Default for Refresh {
    fn default() -> Self {
        Self {
            after: Duration::from_secs(10 * 60),
            wait_after: Duration::from_secs(20 * 60),
            interval: Duration::from_secs(10),
            max_age: Duration::from_secs(24 * 60 * 60),
            timeout: Duration::from_secs(5),
            max_bytes: 256 << 10,
        }
    }
}

impl Refresh {
    /// The schedule for files, which are cheap to read and stay valid until the operator replaces them.
    pub(super) fn for_files() -> Self {
        Self {
            after: Duration::from_secs(4),
            wait_after: Duration::ZERO,
            interval: Duration::from_secs(1),
            max_age: Duration::MAX,
            ..Self::default()
        }
    }
}

#[derive(Debug)]
pub(super) enum Source {
    File(PathBuf),
    Url { http: Http, url: Url },
}

/// The error for keys that cannot be read.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum KeysError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: Arc<io::Error>,
    },
    /// The file or the body is too large.
    #[error("{from} exceeds {limit} bytes")]
    TooLarge {
        /// The file or the URL.
        from: String,
        /// The limit in bytes.
        limit: usize,
    },
    /// The request failed.
    #[error("cannot fetch {url}")]
    Fetch {
        /// The URL.
        url: String,
        /// The cause.
        source: TransportError,
    },
    /// The status of the response is not 200. Redirects are not followed.
    #[error("{url} returned status {status}")]
    Status {
        /// The URL.
        url: String,
        /// The status.
        status: StatusCode,
    },
    /// Reading or fetching took too long.
    #[error("reading {from} timed out after {} ms", after.as_millis())]
    Timeout {
        /// The file or the URL.
        from: String,
        /// The timeout.
        after: Duration,
    },
    /// The runtime shut down while the keys were being read.
    #[error("reading the keys was interrupted")]
    Interrupted,
    /// The file or the body is not a usable key set.
    #[error("unusable key set in {from}")]
    Set {
        /// The file or the URL.
        from: String,
        /// The cause.
        source: KeySetError,
    },
}

impl Source {
    pub(super) fn url(url: Url, refresh: &Refresh) -> Result<Self, KeysError> {
        let settings = HttpClientConfig {
            max_reply: refresh.max_bytes,
            connect_timeout: refresh.timeout,
            // The next fetch is minutes later.
            idle_connections: 0,
            ..HttpClientConfig::default()
        };
        let failed = |source| KeysError::Fetch { url: url.to_string(), source };
        let http = Http::with_config(url.clone(), settings).map_err(failed)?;
        Ok(Self::Url { http, url })
    }

    pub(super) async fn read(&self, refresh: &Refresh) -> Result<KeySet, KeysError> {
        let Refresh { timeout: after, max_bytes: limit, .. } = *refresh;
        match timeout(after, self.read_whole(limit)).await {
            Ok(read) => read,
            Err(_) => Err(KeysError::Timeout { from: self.name(), after }),
        }
    }

    async fn read_whole(&self, limit: usize) -> Result<KeySet, KeysError> {
        let failed = |source| KeysError::Set { from: self.name(), source };
        match self {
            Self::File(path) => {
                let owned = path.clone();
                // Disks and network file systems may block.
                let read = tokio::task::spawn_blocking(move || read_file(&owned, limit)).await;
                let read = read.unwrap_or_else(|error| Err(io::Error::other(error)));
                let text = read.map_err(|source| KeysError::File {
                    path: path.clone(),
                    source: Arc::new(source),
                })?;
                if text.len() > limit {
                    return Err(KeysError::TooLarge { from: self.name(), limit });
                }
                KeySet::parse(&text).map_err(failed)
            }
            Self::Url { http, url } => {
                let text = fetch(http, url).await?;
                let keys = KeySet::parse(&text).map_err(failed)?.without_secrets();
                if keys.is_empty() {
                    return Err(failed(KeySetError::OnlySecrets));
                }
                Ok(keys)
            }
        }
    }

    pub(super) fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Url { url, .. } => url.to_string(),
        }
    }
}

/// Reads a file, up to one byte beyond the limit.
fn read_file(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    // Opening a named pipe would wait for its writer.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut text = Vec::new();
    std::fs::File::open(path)?.take(limit as u64 + 1).read_to_end(&mut text)?;
    Ok(text)
}

async fn fetch(http: &Http, url: &Url) -> Result<Vec<u8>, KeysError> {
    let failed = |source| KeysError::Fetch { url: url.to_string(), source };
    let mut reply = http.get(HeaderMap::new()).await.map_err(failed)?;
    if reply.status != StatusCode::OK {
        return Err(KeysError::Status { url: url.to_string(), status: reply.status });
    }
    let mut text = Vec::new();
    while let Some(chunk) = reply.chunk().await.map_err(failed)? {
        text.extend_from_slice(&chunk);
    }
    Ok(text)
}
