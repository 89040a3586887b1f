//! The files of a certificate and its key.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use super::error::TlsError;

#[derive(Debug, Clone)]
pub(super) struct Files {
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
}

/// The modification times and sizes of the files, to detect changes. Symbolic links are followed, since some tools
/// replace certificates by changing a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp([Option<(SystemTime, u64)>; 2]);

impl Files {
    pub(super) fn stamp(&self) -> Stamp {
        let of = |file: Metadata| Some((file.modified().ok()?, file.len()));
        let stamp = |path: &Path| fs::metadata(path).ok().and_then(of);
        Stamp([stamp(&self.certificate), stamp(&self.key)])
    }

    pub(super) fn read(&self) -> Result<CertifiedKey, TlsError> {
        let malformed = |path: &Path, source| TlsError::Pem { path: path.to_owned(), source };
        let chain: Result<Vec<_>, _> =
            CertificateDer::pem_slice_iter(&read(&self.certificate)?).collect();
        let chain = chain.map_err(|source| malformed(&self.certificate, source))?;
        if chain.is_empty() {
            return Err(TlsError::NoCertificate { path: self.certificate.clone() });
        }
        let key =
            PrivateKeyDer::from_pem_slice(&read(&self.key)?).map_err(|error| match error {
                pem::Error::NoItemsFound => TlsError::NoKey { path: self.key.clone() },
                source => malformed(&self.key, source),
            })?;
        let certified = CertifiedKey::from_der(chain, key, &ring::default_provider());
        certified.map_err(|source| TlsError::Unusable {
            certificate: self.certificate.clone(),
            key: self.key.clone(),
            source,
        })
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
