use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use futures_util::future::BoxFuture;
use ring::digest;
use trunkline::BoxError;

use super::tokens::Credentials;

/// Keeps tokens and registered clients. The key is the URL of the MCP server.
///
/// Each [`OAuth`](super::OAuth) loads its credentials first, and again before it replaces tokens, and saves them after each
/// change.
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
}

/// Keeps credentials in memory.
#[derive(Debug, Default)]
pub struct MemoryStore(Mutex<HashMap<String, Credentials>>);

impl TokenStore for MemoryStore {
    fn load<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Result<Option<Credentials>, BoxError>> {
        let found = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(server).cloned();
        Box::pin(std::future::ready(Ok(found)))
    }

    fn save<'a>(
        &'a self,
        server: &'a str,
        credentials: &'a Credentials,
    ) -> BoxFuture<'a, Result<(), BoxError>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(server.to_owned(), credentials.clone());
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Keeps credentials in a folder, with a file for each server that only the current user can read (on Unix, mode 0600).
/// Files are replaced atomically. They are not encrypted.
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
    /// The file does not contain credentials.
    #[error("{} does not contain credentials; delete it to authorize again", path.display())]
    Content {
        /// The file.
        path: PathBuf,
    },
}

/// The maximum size of a file in bytes.
const MAX_FILE: u64 = 1 << 20;

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

/// Writes another file in the folder, and renames it.
fn save(path: &Path, text: &[u8]) -> Result<(), FileStoreError> {
    let mut number = [0; 8];
    let name = match getrandom::fill(&mut number) {
        Ok(()) => format!("tmp-{:016x}", u64::from_ne_bytes(number)),
        Err(_) => format!("tmp-{}", std::process::id()),
    };
    let temporary = path.with_extension(name);
    let written = (|| {
        create_folder(path.parent().unwrap_or(Path::new(".")))?;
        let mut file = options().open(&temporary)?;
        file.write_all(text)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    })();
    written.map_err(|source| {
        // The error to report is that of writing.
        drop(fs::remove_file(&temporary));
        FileStoreError::File { path: path.to_owned(), source }
    })
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
