//! The name of a socket in the file system.

use std::fs::{self, DirBuilder, File, Metadata, Permissions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};
use tokio::time::{sleep, timeout};

/// How long to wait for another process that is binding a socket next to ours.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a server that is there may take to accept.
const PROBE: Duration = Duration::from_secs(1);

/// A socket's file, removed when this is dropped, unless it is another one by then.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    identity: (u64, u64),
}

impl SocketFile {
    /// Binds a socket with these permissions to `path`, which nobody serves.
    ///
    /// It is bound under another name, and renamed when all is right with it: nobody can connect before
    /// that, and a name that is left behind is replaced at once.
    pub(super) async fn claim(path: &Path, mode: u32) -> io::Result<(UnixListener, Self)> {
        fits(path)?;
        let directory = directory(path);
        let _lock = timeout(PATIENCE, lock(directory)).await.map_err(|_| taken())??;
        probe(path).await?;
        // Nobody else can look into a directory that is new and ours.
        let hidden = Hidden::create(directory)?;
        let socket = hidden.0.join("s");
        fits(&socket)?;
        let listener = UnixListener::bind(&socket)?;
        fs::set_permissions(&socket, Permissions::from_mode(mode))?;
        let identity = identity(&fs::symlink_metadata(&socket)?);
        fs::rename(&socket, path)?;
        Ok((listener, Self { path: path.to_owned(), identity }))
    }

    /// Removes it, while no other server takes its name.
    pub(super) async fn remove(self) {
        let _lock = timeout(PATIENCE, lock(directory(&self.path))).await;
        drop(self);
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_ours =
            fs::symlink_metadata(&self.path).is_ok_and(|file| identity(&file) == self.identity);
        if is_ours && let Err(error) = fs::remove_file(&self.path) {
            tracing::debug!(path = %self.path.display(), %error, "the socket stays behind");
        }
    }
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Fails if the system knows no sockets with names as long.
fn fits(path: &Path) -> io::Result<()> {
    SocketAddr::from_pathname(path).map(drop).map_err(|error| {
        let bytes = path.as_os_str().len();
        let reason = format!("a socket's path of {bytes} bytes, {}: {error}", path.display());
        io::Error::new(ErrorKind::InvalidInput, reason)
    })
}

fn identity(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

/// Of two servers that find the same socket without a server, one is first.
async fn lock(directory: &Path) -> io::Result<Option<File>> {
    let file = File::open(directory)?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) => sleep(Duration::from_millis(10)).await,
            // There are file systems without locks.
            Err(TryLockError::Error(_)) => return Ok(None),
        }
    }
}

/// Fails if the name is taken.
async fn probe(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(file) if file.file_type().is_socket() => {}
        Ok(_) => {
            return Err(io::Error::new(
                ErrorKind::AlreadyExists,
                "there is a file that is no socket",
            ));
        }
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    match timeout(PROBE, UnixStream::connect(path)).await {
        // Left behind, or removed in this moment.
        Ok(Err(error))
            if matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound) =>
        {
            Ok(())
        }
        Ok(Err(error)) if error.kind() == ErrorKind::PermissionDenied => Err(error),
        _ => Err(taken()),
    }
}

fn taken() -> io::Error {
    io::Error::new(ErrorKind::AddrInUse, "another server has this socket")
}

/// A directory that only this user may enter, removed when this is dropped.
struct Hidden(PathBuf);

impl Hidden {
    fn create(parent: &Path) -> io::Result<Self> {
        // Who has the lock is alone: only what was left behind is in the way.
        let mut number = 0_u32;
        loop {
            // Short: the whole path of a socket has about 100 bytes. With a name of four, a socket that
            // fits does so here.
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

impl Drop for Hidden {
    fn drop(&mut self) {
        let removed = fs::remove_file(self.0.join("s"));
        if let Err(error) = fs::remove_dir(&self.0) {
            tracing::debug!(path = %self.0.display(), ?removed, %error, "a directory stays behind");
        }
    }
}
