//! Reading a set of keys, once.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use tokio::time::timeout;

use super::refresh::Refresh;
use crate::client::http::{Settings, Url};
use crate::client::{Http, TransportError};
use crate::jwt::key_set::{KeySet, KeySetError};

#[derive(Debug)]
pub(super) enum Source {
    File(PathBuf),
    Url { http: Http, url: Url },
}

/// Why there are no keys, or no new ones.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum KeysError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// The file or the body has too many bytes.
    #[error("{from} has more than {limit} bytes")]
    TooLarge {
        /// The file or the URL.
        from: String,
        /// The limit.
        limit: usize,
    },
    /// Nothing came from the URL, or not all of it.
    #[error("cannot fetch {url}")]
    Fetch {
        /// The URL.
        url: String,
        /// Why.
        source: TransportError,
    },
    /// The URL is answered with another status than 200. Redirects are not followed.
    #[error("{url} is answered with {status}")]
    Status {
        /// The URL.
        url: String,
        /// The status.
        status: StatusCode,
    },
    /// It took too long.
    #[error("{from} could not be read within {} ms", after.as_millis())]
    Timeout {
        /// The file or the URL.
        from: String,
        /// The time that there was.
        after: Duration,
    },
    /// The runtime in which keys were being read has ended.
    #[error("reading the keys was interrupted")]
    Interrupted,
    /// What was read is no set of keys.
    #[error("the keys of {from} cannot be used")]
    Set {
        /// The file or the URL.
        from: String,
        /// Why.
        source: KeySetError,
    },
}

impl Source {
    pub(super) fn url(url: Url, refresh: &Refresh) -> Result<Self, KeysError> {
        let settings = Settings {
            max_reply: refresh.max_bytes,
            connect_timeout: refresh.timeout,
            // The next fetch is minutes away.
            idle_connections: 0,
            ..Settings::default()
        };
        let failed = |source| KeysError::Fetch { url: url.to_string(), source };
        let http = Http::with_settings(url.clone(), settings).map_err(failed)?;
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
                // Disks may be slow, and networks between.
                let read = tokio::task::spawn_blocking(move || read_file(&owned, limit)).await;
                let read = read.unwrap_or_else(|ended| Err(io::Error::other(ended)));
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

/// As much of a file as tells that it is too large.
fn read_file(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
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
