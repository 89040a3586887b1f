//! The file of a unix socket.

use std::fs::{self, DirBuilder, File, Metadata, Permissions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};
use tokio::time::{sleep, timeout};

/// The maximum wait for another process that is binding a socket in the same directory.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum time for an existing server to accept a connection.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);

/// The file of a socket. Dropping it removes the file, unless it has been replaced.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    identity: (u64, u64),
}

impl SocketFile {
    /// Binds a socket with these permissions to `path`, unless it is in use.
    ///
    /// The socket is bound in a private directory and renamed when its permissions are set, so that no client can
    /// connect earlier, and a stale socket is replaced atomically.
    pub(super) async fn bind(path: &Path, mode: u32) -> io::Result<(UnixListener, Self)> {
        check_length(path)?;
        let directory = directory(path);
        let _lock = timeout(LOCK_TIMEOUT, lock(directory)).await.map_err(|_| in_use())??;
        probe(path).await?;
        // Other users cannot access the new directory.
        let private = PrivateDirectory::create(directory)?;
        let socket = private.0.join("s");
        check_length(&socket)?;
        let listener = UnixListener::bind(&socket)?;
        fs::set_permissions(&socket, Permissions::from_mode(mode))?;
        let identity = identity(&fs::symlink_metadata(&socket)?);
        fs::rename(&socket, path)?;
        Ok((listener, Self { path: path.to_owned(), identity }))
    }

    /// Removes the file, while no other server can bind its path.
    pub(super) async fn remove(self) {
        let _lock = timeout(LOCK_TIMEOUT, lock(directory(&self.path))).await;
        drop(self);
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_unchanged =
            fs::symlink_metadata(&self.path).is_ok_and(|file| identity(&file) == self.identity);
        if is_unchanged && let Err(error) = fs::remove_file(&self.path) {
            tracing::debug!(path = %self.path.display(), %error, "failed to remove the socket");
        }
    }
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Fails if the path is too long for a socket.
fn check_length(path: &Path) -> io::Result<()> {
    SocketAddr::from_pathname(path).map(drop).map_err(|error| {
        let bytes = path.as_os_str().len();
        let reason = format!("invalid socket path {} ({bytes} bytes): {error}", path.display());
        io::Error::new(ErrorKind::InvalidInput, reason)
    })
}

fn identity(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

/// Locks a directory, so that only one of several servers replaces a stale socket.
async fn lock(directory: &Path) -> io::Result<Option<File>> {
    let file = File::open(directory)?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) => sleep(Duration::from_millis(10)).await,
            // Some file systems do not support locks.
            Err(TryLockError::Error(_)) => return Ok(None),
        }
    }
}

/// Fails if the path is in use.
async fn probe(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(file) if file.file_type().is_socket() => {}
        Ok(_) => {
            let reason = "existing file is not a socket";
            return Err(io::Error::new(ErrorKind::AlreadyExists, reason));
        }
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    match timeout(PROBE_TIMEOUT, UnixStream::connect(path)).await {
        // The socket is stale, or was just removed.
        Ok(Err(error))
            if matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound) =>
        {
            Ok(())
        }
        Ok(Err(error)) if error.kind() == ErrorKind::PermissionDenied => Err(error),
        _ => Err(in_use()),
    }
}

fn in_use() -> io::Error {
    io::Error::new(ErrorKind::AddrInUse, "socket is in use by another server")
}

/// A directory that only the current user can access. Dropping it removes the directory.
struct PrivateDirectory(PathBuf);

impl PrivateDirectory {
    fn create(parent: &Path) -> io::Result<Self> {
        // The lock excludes other servers, so an existing directory is stale.
        let mut number = 0_u32;
        loop {
            // The name is short because the path of a socket is limited to about 100 bytes.
            let path = parent.join(format!(".{number:x}"));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    number += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        let removed = fs::remove_file(self.0.join("s"));
        if let Err(error) = fs::remove_dir(&self.0) {
            tracing::debug!(path = %self.0.display(), ?removed, %error, "failed to remove a directory");
        }
    }
}
