//! TLS, with certificates that can be replaced while the server runs.

mod certificate;
mod error;
mod files;

use std::fmt;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use rustls::ServerConfig;
use tokio_rustls::TlsAcceptor;

pub use error::TlsError;

pub(super) use certificate::client_certificate;
use files::{Files, Stamp};

/// TLS 1.2 and 1.3 with a certificate and its key from PEM files. Clones share them.
///
/// A running server checks the files at an [interval](Self::check_interval). When they have changed, new
/// connections use the new certificate; open connections are not affected. If the new files are unusable, an
/// error is logged and the previous certificate remains in use.
///
/// ```no_run
/// # use trunkline::{Router, Server, server::Tls};
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let rpc = Router::new().build()?;
/// let tls = Tls::open("certificate.pem", "key.pem")?;
/// let server = Server::bind("0.0.0.0:443").tls(tls.clone()).serve(rpc).await?;
/// tls.reload()?; // immediately after replacing the files; otherwise within a minute
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Tls {
    shared: Arc<Shared>,
    check_interval: Option<Duration>,
}

/// The state shared by clones.
struct Shared {
    /// The configuration of new connections.
    current: RwLock<Arc<ServerConfig>>,
    /// Locked while the files are read.
    source: Mutex<Source>,
}

/// The files.
struct Source {
    files: Files,
    /// The stamp of the files when they were last read.
    seen: Stamp,
}

impl Tls {
    /// Reads a certificate chain, starting with the certificate of the server, and its private key (PKCS #8,
    /// PKCS #1 or SEC 1).
    ///
    /// # Errors
    /// When a file cannot be read or contains no certificate or key, or when they do not match.
    pub fn open(
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> Result<Self, TlsError> {
        let files = Files { certificate: certificate.into(), key: key.into(), client_ca: None };
        let seen = files.stamp();
        let current = RwLock::new(files.read()?);
        let shared = Arc::new(Shared { current, source: Mutex::new(Source { files, seen }) });
        Ok(Self { shared, check_interval: Some(Duration::from_secs(60)) })
    }

    /// Asks clients for a certificate that an authority in this PEM file has signed, for
    /// [authentication](crate::http::ClientCertificates). A handshake with an invalid certificate, or one that is not for
    /// clients, fails. Clients without a certificate are accepted; their requests need other credentials.
    ///
    /// # Errors
    /// When the file cannot be read or has a certificate that is not that of an authority.
    pub fn client_ca(self, authorities: impl Into<PathBuf>) -> Result<Self, TlsError> {
        let mut source = self.shared.source();
        source.files.client_ca = Some(authorities.into());
        let stamp = source.files.stamp();
        self.shared.reload(&mut source, stamp)?;
        drop(source);
        Ok(self)
    }

    /// Sets the interval for checking the files for changes. Default: 1 min. `None`: never.
    #[must_use]
    pub fn check_interval(mut self, interval: impl Into<Option<Duration>>) -> Self {
        self.check_interval = interval.into();
        self
    }

    /// Reads the files again, for new connections. This blocks the thread.
    ///
    /// # Errors
    /// When the files are unusable. The previous ones remain in use.
    pub fn reload(&self) -> Result<(), TlsError> {
        let mut source = self.shared.source();
        let stamp = source.files.stamp();
        self.shared.reload(&mut source, stamp)
    }

    /// Uses the configuration and the files of `other`, for new connections and later checks.
    pub fn replace(&self, other: &Self) {
        let other_source = other.shared.source();
        let (files, seen) = (other_source.files.clone(), other_source.seen.clone());
        // `other` may be a clone.
        drop(other_source);
        let mut source = self.shared.source();
        self.shared.replace(other.shared.current());
        *source = Source { files, seen };
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.shared.current())
    }

    /// Reloads the files when they have changed, until the server has stopped.
    pub(super) async fn watch(self, stopped: impl Future<Output = ()>) {
        let Some(interval) = self.check_interval else {
            return;
        };
        let mut stopped = pin!(stopped);
        loop {
            tokio::select! {
                () = tokio::time::sleep(interval) => {}
                () = &mut stopped => return,
            }
            let shared = Arc::clone(&self.shared);
            // After a panic, the next check tries again.
            let _ = tokio::task::spawn_blocking(move || shared.reload_if_changed()).await;
        }
    }
}

impl Shared {
    fn source(&self) -> MutexGuard<'_, Source> {
        self.source.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn current(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn replace(&self, config: Arc<ServerConfig>) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = config;
    }

    fn reload_if_changed(&self) {
        let mut source = self.source();
        let stamp = source.files.stamp();
        if stamp == source.seen {
            return;
        }
        let reloaded = self.reload(&mut source, stamp);
        let certificate = source.files.certificate.display();
        match reloaded {
            Ok(()) => tracing::info!(%certificate, "certificate replaced"),
            Err(error) => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                tracing::error!(%certificate, %error, cause, "failed to reload; keeping the certificate");
            }
        }
    }

    /// `stamp` is from before reading, so that a change during reading is detected by the next check.
    fn reload(&self, source: &mut Source, stamp: Stamp) -> Result<(), TlsError> {
        source.seen = stamp;
        self.replace(source.files.read()?);
        Ok(())
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("files", &self.shared.source().files).finish_non_exhaustive()
    }
}
