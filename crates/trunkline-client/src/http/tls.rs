//! TLS: trusted root certificates.

use std::sync::Arc;

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, OtherError, RootCertStore,
    SignatureScheme,
};

use super::resolver::Tcp;
use super::url::Url;
use crate::error::TransportError;

/// The trusted root certificates for https servers. A server may also present one of these certificates
/// itself, whether or not it is marked as a certificate authority.
#[derive(Clone)]
pub struct Roots {
    of_machine: bool,
    added: Vec<CertificateDer<'static>>,
    /// The only certificate that the server may present, instead of the others.
    own: Option<CertificateDer<'static>>,
}

/// The error for a text without usable certificates.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RootsError {
    /// The text contains no certificate.
    #[error("no certificate in PEM format found")]
    Empty,
    /// The text is incomplete or not Base64.
    #[error("invalid PEM")]
    Pem(#[source] rustls::pki_types::pem::Error),
    /// A certificate cannot be used as a root certificate.
    #[error("certificate cannot be used as a root certificate")]
    Certificate(#[source] Error),
}

impl Roots {
    /// An empty set, without the root certificates of this machine. Add certificates with
    /// [`add_pem`](Self::add_pem).
    #[must_use]
    pub fn none() -> Self {
        Self { of_machine: false, added: Vec::new(), own: None }
    }

    /// The first certificate of a PEM text, which must be the one that the server presents. Its names, dates and issuer
    /// are not verified: for a program on the machine of the server, which reads the server's own file and connects to
    /// an address that the certificate need not name.
    ///
    /// # Errors
    /// When the text contains no certificate, or an invalid one before it.
    pub fn of_server(pem: &[u8]) -> Result<Self, RootsError> {
        let own = CertificateDer::pem_slice_iter(pem).next().ok_or(RootsError::Empty)?;
        Ok(Self { own: Some(own.map_err(RootsError::Pem)?), ..Self::none() })
    }

    /// Adds the certificates of a PEM text.
    ///
    /// # Errors
    /// When the text contains no certificate or an invalid one. Then nothing is added.
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

    fn verifier(
        &self,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ServerCertVerifier>, TransportError> {
        if let Some(own) = &self.own {
            let (provider, trusted) = (Arc::clone(provider), vec![own.clone()]);
            return Ok(Arc::new(Verifier { authorities: None, trusted, provider }));
        }
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
        // The only possible error is an empty store.
        let authorities =
            WebPkiServerVerifier::builder_with_provider(Arc::new(store), Arc::clone(provider));
        let authorities = authorities.build().map_err(|_| TransportError::NoRoots {
            source: failed.map(|error| Arc::new(error) as _),
        })?;
        let provider = Arc::clone(provider);
        Ok(Arc::new(Verifier { authorities: Some(authorities), trusted, provider }))
    }
}

/// The root certificates of this machine. `SSL_CERT_FILE` and `SSL_CERT_DIR` override them.
impl Default for Roots {
    fn default() -> Self {
        Self { of_machine: true, ..Self::none() }
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

/// Creates a connector. Certificates are read only for https, since that is slow.
pub(super) fn connector(
    tcp: Tcp,
    url: &Url,
    roots: &Roots,
) -> Result<HttpsConnector<Tcp>, TransportError> {
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("ring has the ciphers of the default versions");
    let config = match url.is_https() {
        false => config.with_root_certificates(RootCertStore::empty()),
        true => {
            let verifier = roots.verifier(&provider)?;
            config.dangerous().with_custom_certificate_verifier(verifier)
        }
    };
    let config = config.with_no_client_auth();
    let builder = HttpsConnectorBuilder::new().with_tls_config(config);
    let builder = if url.is_https() { builder.https_only() } else { builder.https_or_http() };
    Ok(builder.enable_http1().enable_http2().wrap_connector(tcp))
}

/// Verifies like rustls, and also accepts a server that presents one of the trusted certificates itself if it
/// is marked as a certificate authority, as self-signed certificates of `openssl req -x509` are. The
/// certificate must be identical; its dates and name are verified as usual, and the handshake proves that the
/// server has its key.
///
/// Without authorities, it accepts the trusted certificate only, and the handshake is the only other proof.
#[derive(Debug)]
struct Verifier {
    authorities: Option<Arc<WebPkiServerVerifier>>,
    trusted: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

/// The error if the server presents another certificate than that of [`Roots::of_server`].
#[derive(Debug, thiserror::Error)]
#[error("the server presents another certificate than the expected one")]
struct OtherCertificate;

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let is_trusted = self.trusted.contains(end_entity);
        let Some(authorities) = &self.authorities else {
            let reason = OtherError(Arc::new(OtherCertificate));
            let other = Error::InvalidCertificate(CertificateError::Other(reason));
            return if is_trusted { Ok(ServerCertVerified::assertion()) } else { Err(other) };
        };
        let verified = authorities.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match verified {
            // The dates were verified before.
            Err(error) if is_marked_as_authority(&error) && is_trusted => {
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
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

fn is_marked_as_authority(error: &Error) -> bool {
    let Error::InvalidCertificate(CertificateError::Other(OtherError(reason))) = error else {
        return false;
    };
    matches!(reason.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
}
