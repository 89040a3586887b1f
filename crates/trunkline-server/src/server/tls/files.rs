//! The files of a certificate, its key and the authorities of clients.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

use super::error::TlsError;

#[derive(Debug, Clone)]
pub(super) struct Files {
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
    /// The certificates of the authorities of clients, if clients are asked for certificates.
    pub(super) client_ca: Option<PathBuf>,
}

/// The modification times and sizes of the files, to detect changes. Symbolic links are followed, since some tools
/// replace certificates by changing a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp([Option<(SystemTime, u64)>; 3]);

impl Files {
    pub(super) fn stamp(&self) -> Stamp {
        let of = |file: Metadata| Some((file.modified().ok()?, file.len()));
        let stamp = |path: &PathBuf| fs::metadata(path).ok().and_then(of);
        let client_ca = self.client_ca.as_ref().and_then(stamp);
        Stamp([stamp(&self.certificate), stamp(&self.key), client_ca])
    }

    /// The configuration of new connections.
    pub(super) fn read(&self) -> Result<Arc<ServerConfig>, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Unsupported)?;
        let config = match &self.client_ca {
            None => config.with_no_client_auth(),
            Some(path) => {
                let unusable = |source| TlsError::ClientCa { path: path.clone(), source };
                let mut roots = RootCertStore::empty();
                for root in certificates(path)? {
                    roots.add(root).map_err(unusable)?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                        .allow_unauthenticated()
                        .build();
                let verifier = verifier
                    .map_err(|error| unusable(rustls::Error::General(error.to_string())))?;
                config.with_client_cert_verifier(verifier)
            }
        };
        let chain = certificates(&self.certificate)?;
        let key =
            PrivateKeyDer::from_pem_slice(&read(&self.key)?).map_err(|error| match error {
                pem::Error::NoItemsFound => TlsError::NoKey { path: self.key.clone() },
                source => TlsError::Pem { path: self.key.clone(), source },
            })?;
        let mut config =
            config.with_single_cert(chain, key).map_err(|source| TlsError::Unusable {
                certificate: self.certificate.clone(),
                key: self.key.clone(),
                source,
            })?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

/// The certificates of a file, of which there is at least one.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(path)?).collect();
    let found = found.map_err(|source| TlsError::Pem { path: path.to_owned(), source })?;
    match found.is_empty() {
        true => Err(TlsError::NoCertificate { path: path.to_owned() }),
        false => Ok(found),
    }
}

/// The maximum size of a file, in bytes.
const MAX: u64 = 1 << 20;

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    let mut text = Vec::new();
    let read = open(path).and_then(|file| file.take(MAX + 1).read_to_end(&mut text));
    let read = read.and_then(|count| match count as u64 {
        0..=MAX => Ok(text),
        _ => Err(io::Error::new(ErrorKind::FileTooLarge, "file exceeds 1 MiB")),
    });
    read.map_err(|source| TlsError::Read { path: path.to_owned(), source })
}

/// Opening a named pipe would wait for its writer.
fn open(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file"));
    }
    File::open(path)
}
