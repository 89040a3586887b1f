use std::io;
use std::path::PathBuf;

use rustls::pki_types::pem;

/// The error for an unusable certificate or key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// A file is not PEM, or is truncated.
    #[error("{} is not valid PEM", path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// The defect.
        source: pem::Error,
    },
    /// A file contains no certificate.
    #[error("{} contains no certificate in PEM format", path.display())]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// A file contains no private key.
    #[error("{} contains no private key in PEM format", path.display())]
    NoKey {
        /// The file.
        path: PathBuf,
    },
    /// The type of the certificate or key is not supported, or they do not match.
    #[error("the certificate in {} cannot be used with the key in {}", certificate.display(), key.display())]
    Unusable {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// The defect.
        source: rustls::Error,
    },
    /// A certificate cannot be that of an authority of clients.
    #[error("a certificate in {} cannot be used as an authority of clients", path.display())]
    ClientCa {
        /// The file.
        path: PathBuf,
        /// The defect.
        source: rustls::Error,
    },
    /// TLS 1.2 and 1.3 are not supported.
    #[error("failed to configure TLS")]
    Unsupported(#[source] rustls::Error),
}
