//! A server on a unix socket. Each connection is a [stream](crate::stream).
//!
//! ```
//! # use trunkline::{Router, client::{Client, Unix}, unix};
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let path = std::env::temp_dir().join(format!("trunkline-{}.sock", std::process::id()));
//! let rpc = Router::new().method("ping", || "pong").build()?;
//! let server = unix::Server::bind(&path).serve(rpc).await?;
//! let client = Client::new(Unix::connect(&path));
//! assert_eq!(client.call::<String>("ping", ()).await?, "pong");
//! assert!(server.stop().await.is_complete());
//! # Ok(())
//! # }
//! ```

mod accept;
mod config;
mod handle;
mod socket_file;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::net::UnixListener;
use tokio_util::task::TaskTracker;

use crate::server::{Phase, ServeError};
use crate::status::Counts;
use trunkline_core::dispatch::Dispatcher;

pub use accept::Peer;
pub use config::UnixConfig;
pub use handle::ServerHandle;

use accept::Shared;
use socket_file::SocketFile;

/// A builder of a unix socket server.
#[derive(Debug, Clone)]
#[must_use = "a server runs when `serve` is awaited"]
pub struct Server {
    path: PathBuf,
    settings: UnixConfig,
}

impl Server {
    /// Creates a server on the socket `path`. A stale socket is replaced; a socket in use is not. The maximum
    /// length of the path is about 100 bytes on most systems, and slightly less if the file name is shorter than
    /// four bytes.
    pub fn bind(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), settings: UnixConfig::default() }
    }

    /// Sets the configuration.
    pub fn settings(mut self, settings: UnixConfig) -> Self {
        self.settings = settings;
        self
    }

    /// Binds the socket and serves calls, which have a [`Peer`] in their extensions.
    ///
    /// # Errors
    /// When the socket cannot be bound: it is in use, another kind of file exists at its path, or the path is
    /// too long.
    pub async fn serve(self, rpc: impl Into<Dispatcher>) -> Result<ServerHandle, ServeError> {
        let Self { path, settings } = self;
        let rpc = rpc.into();
        settings.check()?;
        let failed = |source| ServeError::Bind { address: path.display().to_string(), source };
        let (listener, file) = SocketFile::bind(&path, settings.mode).await.map_err(failed)?;
        Ok(Self { path, settings }.start(rpc, listener, file))
    }

    /// This is not async, so that serving is compiled in this crate. The code of an async function is compiled in each
    /// program that awaits it.
    #[inline(never)]
    fn start(self, rpc: Dispatcher, listener: UnixListener, file: SocketFile) -> ServerHandle {
        let Self { path, settings } = self;
        let closing = settings.stream.closing.child_token();
        let shared = Arc::new(Shared { rpc, settings, closing, counts: Arc::new(Counts::new()) });
        let tasks = TaskTracker::new();
        let aborted = Arc::default();
        let accepting =
            accept::run(listener, file, Arc::clone(&shared), tasks.clone(), Arc::clone(&aborted));
        tasks.spawn(accepting);
        shared.counts.advance(Phase::Running);
        tracing::info!(path = %path.display(), "server is running");
        ServerHandle { path: path.into(), shared, tasks, aborted }
    }
}
