use std::collections::HashMap;
use std::fs::{File, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ring::digest;
use tokio::time::{Instant, sleep};
use trunkline::BoxError;
use trunkline::history::private_file;

use super::tokens::Credentials;
use crate::lock::Lock;

/// Keeps tokens and registered clients. The key is the URL of the MCP server.
///
/// Each [`OAuth`](super::OAuth) loads its credentials first, and again before it replaces tokens, and saves them after each
/// change. While it uses a refresh token, which may be valid only once, it has the lock, but not while a user decides.
pub trait TokenStore: Send + Sync {
    /// The credentials for a server, if there are any.
    ///
    /// # Errors
    /// When they cannot be read.
    fn load<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Result<Option<Credentials>, BoxError>>;

    /// Replaces the credentials for a server.
    ///
    /// # Errors
    /// When they cannot be written.
    fn save<'a>(
        &'a self,
        server: &'a str,
        credentials: &'a Credentials,
    ) -> BoxFuture<'a, Result<(), BoxError>>;

    /// Locks the credentials for a server against other clients of the store, until the returned lock is dropped.
    /// Default: no lock, for a store with one client.
    ///
    /// # Errors
    /// When another client has the lock for too long, or it is not available.
    fn lock<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Result<StoreLock, BoxError>> {
        let _ = server;
        Box::pin(std::future::ready(Ok(StoreLock::new(()))))
    }
}

/// The lock of a [`TokenStore`].
pub struct StoreLock(#[expect(dead_code, reason = "dropping it unlocks")] Box<dyn Send>);

impl StoreLock {
    /// A lock that dropping `guard` releases.
    pub fn new(guard: impl Send + 'static) -> Self {
        Self(Box::new(guard))
    }
}

debug_fields!(StoreLock:);

/// Keeps credentials in memory.
#[derive(Debug, Default)]
pub struct MemoryStore(Lock<HashMap<String, Entry>>);

#[derive(Debug, Default)]
struct Entry {
    credentials: Option<Credentials>,
    lock: Arc<tokio::sync::Mutex<()>>,
}

impl TokenStore for MemoryStore {
    fn load<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Result<Option<Credentials>, BoxError>> {
        let found = self.0.lock().get(server).and_then(|entry| entry.credentials.clone());
        Box::pin(std::future::ready(Ok(found)))
    }

    fn save<'a>(
        &'a self,
        server: &'a str,
        credentials: &'a Credentials,
    ) -> BoxFuture<'a, Result<(), BoxError>> {
        self.0.lock().entry(server.to_owned()).or_default().credentials = Some(credentials.clone());
        Box::pin(std::future::ready(Ok(())))
    }

    fn lock<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Result<StoreLock, BoxError>> {
        let lock = Arc::clone(&self.0.lock().entry(server.to_owned()).or_default().lock);
        Box::pin(async move { Ok(StoreLock::new(lock.lock_owned().await)) })
    }
}

/// Keeps credentials in a folder, with a file for each server that only the current user can read (on Unix, mode 0600).
/// Files are replaced atomically. They are not encrypted. Processes exclude each other with an empty file next to that of
/// the server.
#[derive(Debug, Clone)]
pub struct FileStore {
    folder: PathBuf,
}

/// The error of a [`FileStore`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileStoreError {
    /// The file cannot be read or written.
    #[error("cannot access {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// Another process has had the lock for too long.
    #[error("another process uses {} for more than {} s", path.display(), after.as_secs())]
    Locked {
        /// The file of the lock.
        path: PathBuf,
        /// The deadline.
        after: Duration,
    },
    /// The file does not contain credentials.
    #[error("{} does not contain credentials; delete it to authorize again", path.display())]
    Content {
        /// The file.
        path: PathBuf,
    },
}

/// The maximum size of a file in bytes.
const MAX_FILE: u64 = 1 << 20;
/// The deadline for the lock. It is longer than a token request, by default.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);
/// The interval between attempts to lock.
const LOCK_INTERVAL: Duration = Duration::from_millis(20);

impl FileStore {
    /// A store in this folder. It is created when the first credentials are saved (on Unix, with mode 0700).
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    fn path(&self, server: &str) -> PathBuf {
        let hash = digest::digest(&digest::SHA256, server.as_bytes());
        let name: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(format!("{name}.json"))
    }
}

impl TokenStore for FileStore {
    fn load<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Result<Option<Credentials>, BoxError>> {
        let path = self.path(server);
        Box::pin(async move {
            Ok(tokio::task::spawn_blocking(move || load(path))
                .await
                .map_err(io::Error::other)??)
        })
    }

    fn save<'a>(
        &'a self,
        server: &'a str,
        credentials: &'a Credentials,
    ) -> BoxFuture<'a, Result<(), BoxError>> {
        let path = self.path(server);
        Box::pin(async move {
            let text = serde_json::to_vec(credentials)?;
            let save = move || save(&path, &text);
            Ok(tokio::task::spawn_blocking(save).await.map_err(io::Error::other)??)
        })
    }

    fn lock<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Result<StoreLock, BoxError>> {
        let path = self.path(server).with_extension("lock");
        Box::pin(async move { Ok(StoreLock::new(lock(path).await?)) })
    }
}

fn load(path: PathBuf) -> Result<Option<Credentials>, FileStoreError> {
    let mut text = Vec::new();
    let read = File::open(&path).and_then(|file| file.take(MAX_FILE).read_to_end(&mut text));
    match read {
        Ok(_) => {
            let found = serde_json::from_slice(&text);
            found.map(Some).map_err(|_| FileStoreError::Content { path })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(FileStoreError::File { path, source }),
    }
}

fn save(path: &Path, text: &[u8]) -> Result<(), FileStoreError> {
    let created = path.parent().map_or(Ok(()), private_file::create_folder);
    let written = created.and_then(|()| private_file::replace(path, text));
    written.map_err(|source| FileStoreError::File { path: path.to_owned(), source })
}

/// Locks a file.
async fn lock(path: PathBuf) -> Result<File, FileStoreError> {
    let failed = |source| FileStoreError::File { path: path.clone(), source };
    let file = private_file::open_lock(&path).map_err(failed)?;
    let deadline = Instant::now() + LOCK_TIMEOUT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                return Err(FileStoreError::Locked { path, after: LOCK_TIMEOUT });
            }
            Err(TryLockError::WouldBlock) => sleep(LOCK_INTERVAL).await,
        }
    }
}
