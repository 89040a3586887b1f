//! TLS: whom the server says to be, which may change while it runs.

mod certificate;
mod error;
mod files;

use std::fmt;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::ring;
use tokio_rustls::TlsAcceptor;

pub use error::TlsError;

use certificate::Current;
use files::{Files, Stamp};

/// TLS 1.2 and 1.3 with a certificate and its key from PEM files. Clones are the same.
///
/// The files are looked at again from time to time while a server runs. When they have changed, new
/// connections get what they hold now; connections that are open stay as they are. Files that cannot
/// be used change nothing, and are logged.
///
/// ```no_run
/// # use trunkline::{Router, Server, server::Tls};
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let rpc = Router::new().build()?;
/// let tls = Tls::open("certificate.pem", "key.pem")?;
/// let server = Server::bind("0.0.0.0:443").tls(tls.clone()).serve(rpc).await?;
/// tls.reload()?; // as soon as the files have been replaced; else within a minute
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Tls {
    shared: Arc<Certified>,
    check_interval: Option<Duration>,
}

/// What clones share.
struct Certified {
    files: Files,
    current: Arc<Current>,
    /// How the files were when they were last read. Held while they are.
    seen: Mutex<Stamp>,
    acceptor: TlsAcceptor,
}

impl Tls {
    /// Reads a chain of certificates, the server's own first, and its private key (PKCS #8, PKCS #1
    /// or SEC 1).
    ///
    /// # Errors
    /// When a file cannot be read, holds none, or the two do not belong together.
    pub fn open(
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> Result<Self, TlsError> {
        let files = Files { certificate: certificate.into(), key: key.into() };
        let seen = Mutex::new(files.stamp());
        let current = Arc::new(Current::new(files.read()?));
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Unsupported)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&current) as _);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let shared = Arc::new(Certified { files, current, seen, acceptor });
        Ok(Self { shared, check_interval: Some(Duration::from_secs(60)) })
    }

    /// How often a server looks whether the files have changed. Default: each minute. `None`: never.
    #[must_use]
    pub fn check_interval(mut self, interval: impl Into<Option<Duration>>) -> Self {
        self.check_interval = interval.into();
        self
    }

    /// Reads the files again, for the connections that come from now on. Reading blocks.
    ///
    /// # Errors
    /// When they cannot be used. Then nothing changes.
    pub fn reload(&self) -> Result<(), TlsError> {
        let mut seen = self.shared.seen.lock().unwrap_or_else(PoisonError::into_inner);
        self.shared.reload(&mut seen, self.shared.files.stamp())
    }

    pub(super) fn acceptor(&self) -> &TlsAcceptor {
        &self.shared.acceptor
    }

    /// Reads the files whenever they have changed, until the server has stopped.
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
            // What panics there concerns the next look.
            let _ = tokio::task::spawn_blocking(move || shared.look()).await;
        }
    }
}

impl Certified {
    fn look(&self) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = self.files.stamp();
        if stamp == *seen {
            return;
        }
        let certificate = self.files.certificate.display();
        match self.reload(&mut seen, stamp) {
            Ok(()) => tracing::info!(%certificate, "the certificate has been replaced"),
            Err(error) => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                tracing::error!(%certificate, %error, cause, "the certificate stays as it was");
            }
        }
    }

    /// `stamp` is from before the reading: what is written meanwhile is read the next time.
    fn reload(&self, seen: &mut Stamp, stamp: Stamp) -> Result<(), TlsError> {
        *seen = stamp;
        self.current.replace(self.files.read()?);
        Ok(())
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("files", &self.shared.files).finish_non_exhaustive()
    }
}
