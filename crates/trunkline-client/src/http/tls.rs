//! https: the authorities and the certificates that are trusted.

use std::sync::Arc;

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{VerifierBuilderError, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, OtherError, RootCertStore,
    SignatureScheme,
};

use super::url::Url;
use crate::error::TransportError;

/// The authorities that certificates of https servers have to be signed by. A server may also present
/// one of these certificates itself, self-signed, whether it is marked as an authority's or not.
#[derive(Clone)]
pub struct Roots {
    of_machine: bool,
    added: Vec<CertificateDer<'static>>,
}

/// A text that holds no certificates, or ones that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RootsError {
    /// The text holds no certificate.
    #[error("it holds no certificate in PEM form")]
    Empty,
    /// The text is incomplete, or not base64.
    #[error("it is not PEM")]
    Pem(#[source] rustls::pki_types::pem::Error),
    /// A certificate cannot be an authority's.
    #[error("it holds a certificate that cannot be an authority's")]
    Certificate(#[source] Error),
}

impl Roots {
    /// No authorities: [`add_pem`](Self::add_pem) adds the only ones.
    #[must_use]
    pub fn none() -> Self {
        Self { of_machine: false, added: Vec::new() }
    }

    /// Trusts the authorities of a PEM text, too.
    ///
    /// # Errors
    /// When the text holds no certificate, or an invalid one. Then nothing is added.
    pub fn add_pem(&mut self, pem: &[u8]) -> Result<(), RootsError> {
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        let found = found.map_err(RootsError::Pem)?;
        if found.is_empty() {
            return Err(RootsError::Empty);
        }
        let mut store = RootCertStore::empty();
        for root in &found {
            store.add(root.clone()).map_err(RootsError::Certificate)?;
        }
        self.added.extend(found);
        Ok(())
    }

    fn verifier(&self, provider: &Arc<CryptoProvider>) -> Result<Verifier, TransportError> {
        let mut trusted = self.added.clone();
        let mut failed = None;
        if self.of_machine {
            let found = rustls_native_certs::load_native_certs();
            trusted.extend(found.certs);
            failed = found.errors.into_iter().next();
        }
        let mut store = RootCertStore::empty();
        // Invalid certificates of a machine are skipped.
        store.add_parsable_certificates(trusted.iter().cloned());
        // The one error is that the store is empty.
        Verifier::new(store, trusted, Arc::clone(provider)).map_err(|_| TransportError::NoRoots {
            source: failed.map(|error| Arc::new(error) as _),
        })
    }
}

/// Those that this machine trusts. `SSL_CERT_FILE` and `SSL_CERT_DIR` name others.
impl Default for Roots {
    fn default() -> Self {
        Self { of_machine: true, added: Vec::new() }
    }
}

impl std::fmt::Debug for Roots {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Roots")
            .field("of_machine", &self.of_machine)
            .field("added", &self.added.len())
            .finish()
    }
}

/// Certificates are read for https only: it takes a while.
pub(super) fn connector(
    tcp: HttpConnector,
    url: &Url,
    roots: &Roots,
) -> Result<HttpsConnector<HttpConnector>, TransportError> {
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("ring has the ciphers of the default versions");
    let config = match url.is_https() {
        false => config.with_root_certificates(RootCertStore::empty()),
        true => {
            let verifier = roots.verifier(&provider)?;
            config.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
        }
    };
    let config = config.with_no_client_auth();
    let builder = HttpsConnectorBuilder::new().with_tls_config(config);
    let builder = if url.is_https() { builder.https_only() } else { builder.https_or_http() };
    Ok(builder.enable_http1().enable_http2().wrap_connector(tcp))
}

/// Accepts what rustls does, and a server that presents one of the trusted certificates itself where
/// that is marked as an authority's, as `openssl req -x509` marks those that it signs with their own
/// keys. It must be the same byte by byte; its dates and its name are checked as always, and the
/// handshake proves that the server has its key.
#[derive(Debug)]
struct Verifier {
    inner: Arc<WebPkiServerVerifier>,
    trusted: Vec<CertificateDer<'static>>,
}

impl Verifier {
    fn new(
        roots: RootCertStore,
        trusted: Vec<CertificateDer<'static>>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, VerifierBuilderError> {
        let inner =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build()?;
        Ok(Self { inner, trusted })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.inner.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match verified {
            // Its dates were checked before.
            Err(error) if is_marked_as_authority(&error) && self.trusted.contains(end_entity) => {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, cert, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, cert, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

fn is_marked_as_authority(error: &Error) -> bool {
    let Error::InvalidCertificate(CertificateError::Other(OtherError(reason))) = error else {
        return false;
    };
    matches!(reason.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
}
