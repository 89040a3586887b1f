//! TLS in the modes of PostgreSQL.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore,
    SignatureScheme,
};

use crate::error::ConnectError;

/// The parameter `sslmode`, with its meaning in PostgreSQL's own clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TlsMode {
    Disable,
    /// Encrypted if the server supports it. The certificate is not verified.
    Prefer,
    /// Encrypted. The certificate is not verified, unless a file of root certificates is given.
    Require,
    /// The certificate must be issued by a root certificate.
    VerifyCa,
    /// The certificate must also be that of the host.
    VerifyFull,
}

impl TlsMode {
    pub(crate) fn parse(name: &str) -> Result<Self, ConnectError> {
        match name {
            "disable" => Ok(Self::Disable),
            "prefer" | "allow" => Ok(Self::Prefer),
            "require" => Ok(Self::Require),
            "verify-ca" => Ok(Self::VerifyCa),
            "verify-full" => Ok(Self::VerifyFull),
            _ => Err(ConnectError::Setting {
                setting: "sslmode",
                reason: "expected disable, prefer, require, verify-ca or verify-full".to_owned(),
            }),
        }
    }
}

/// The configuration of TLS for a mode. `roots` is a file of root certificates in PEM; those of the system are the
/// default.
pub(crate) fn client_config(
    mode: TlsMode,
    roots: Option<&Path>,
) -> Result<Arc<ClientConfig>, ConnectError> {
    let provider = Arc::new(ring::default_provider());
    // As in PostgreSQL's own clients.
    let mode = if mode == TlsMode::Require && roots.is_some() { TlsMode::VerifyCa } else { mode };
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| tls_error(&error))?;
    let config = match mode {
        TlsMode::Disable | TlsMode::Prefer | TlsMode::Require => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Unverified { provider }))
            .with_no_client_auth(),
        TlsMode::VerifyCa | TlsMode::VerifyFull => {
            let store = Arc::new(root_store(roots)?);
            if mode == TlsMode::VerifyFull {
                builder.with_root_certificates(store).with_no_client_auth()
            } else {
                let inner = WebPkiServerVerifier::builder_with_provider(store, provider).build();
                let inner = inner.map_err(|error| ConnectError::Setting {
                    setting: "sslrootcert",
                    reason: error.to_string(),
                })?;
                builder
                    .dangerous()
                    .with_custom_certificate_verifier(Arc::new(AnyName { inner }))
                    .with_no_client_auth()
            }
        }
    };
    Ok(Arc::new(config))
}

fn tls_error(error: &TlsError) -> ConnectError {
    ConnectError::Setting { setting: "sslmode", reason: error.to_string() }
}

fn root_store(file: Option<&Path>) -> Result<RootCertStore, ConnectError> {
    let mut store = RootCertStore::empty();
    let Some(path) = file else {
        store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(store);
    };
    let error = |reason: String| ConnectError::File { path: PathBuf::from(path), reason };
    let certificates = CertificateDer::pem_file_iter(path).map_err(|e| error(e.to_string()))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|e| error(e.to_string()))?;
        store.add(certificate).map_err(|e| error(e.to_string()))?;
    }
    if store.is_empty() {
        return Err(error("it contains no certificate in PEM".to_owned()));
    }
    Ok(store)
}

/// Accepts every certificate, for the modes that encrypt without verification.
#[derive(Debug)]
struct Unverified {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Verifies the issuer of a certificate, but not the name of its host.
#[derive(Debug)]
struct AnyName {
    inner: Arc<WebPkiServerVerifier>,
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        let verified =
            self.inner.verify_server_cert(certificate, intermediates, name, ocsp_response, now);
        match verified {
            // The name is verified last.
            Err(TlsError::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.inner.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.inner.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
