use std::io;
use std::path::PathBuf;

use rustls::pki_types::pem;

/// Why a certificate and its key cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is not PEM, or its PEM is broken off.
    #[error("{} is not PEM", path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: pem::Error,
    },
    /// A file holds no certificate.
    #[error("{} holds no certificate in PEM form", path.display())]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// A file holds no private key.
    #[error("{} holds no private key in PEM form", path.display())]
    NoKey {
        /// The file.
        path: PathBuf,
    },
    /// The certificate or the key is of a kind that is not known, or they do not belong together.
    #[error("the certificate in {} cannot be used with the key in {}", certificate.display(), key.display())]
    Unusable {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// What is wrong.
        source: rustls::Error,
    },
    /// TLS 1.2 and 1.3 cannot be spoken.
    #[error("TLS cannot be spoken")]
    Unsupported(#[source] rustls::Error),
}
