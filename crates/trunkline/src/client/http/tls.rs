//! https: whom to trust.

use std::sync::Arc;

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use super::pinned::Verifier;
use super::url::Url;
use crate::client::error::TransportError;

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
    /// There is none.
    #[error("it holds no certificate in PEM form")]
    Empty,
    /// The text is broken off, or is no base64.
    #[error("it is not PEM")]
    Pem(#[source] rustls::pki_types::pem::Error),
    /// A certificate is none of an authority.
    #[error("it holds a certificate that cannot be an authority's")]
    Certificate(#[source] rustls::Error),
}

impl Roots {
    /// Nobody, so far: for [`add_pem`](Self::add_pem) to be the only authorities.
    #[must_use]
    pub fn none() -> Self {
        Self { of_machine: false, added: Vec::new() }
    }

    /// Trusts the authorities of a PEM text, too.
    ///
    /// # Errors
    /// When it holds none, or one that is none. Then nothing is added.
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
    Ok(builder.enable_http1().wrap_connector(tcp))
}
