//! Authentication by the client certificate of a connection (RFC 8446, section 4.4.2).

use std::sync::Arc;

use http::request::Parts;
use trunkline_access::{Principal, Scopes};

use super::authenticate::{Authentication, AuthenticationError, Authenticator};
use super::origin;

/// The client certificate of a connection, which the [server](crate::Server) has verified. It is an extension of the
/// requests. Cloning is cheap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    der: Arc<[u8]>,
    name: Option<Arc<str>>,
}

impl ClientCertificate {
    /// A certificate that was verified by other means, and the name of its subject.
    pub fn new(der: impl Into<Arc<[u8]>>, name: Option<Arc<str>>) -> Self {
        Self { der: der.into(), name }
    }

    /// The certificate in DER.
    #[must_use]
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// The name of the subject: the first URI of the extension `subjectAltName`, or else its first DNS name. The common name
    /// is ignored.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}

/// Accepts requests of connections with a client certificate. The name of the principal is `certificate:` and the
/// [name](ClientCertificate::name) in the certificate, so that it differs from names of tokens.
///
/// Browsers send certificates by themselves, so pages of other origins may only send GET and HEAD requests.
#[derive(Debug, Clone, Default)]
pub struct ClientCertificates {
    /// The scopes of the principals. Default: none.
    pub scopes: Scopes,
}

impl ClientCertificates {
    /// The name of the principal of a certificate with this name.
    #[must_use]
    pub fn principal_name(name: &str) -> String {
        format!("certificate:{name}")
    }
}

impl Authenticator for ClientCertificates {
    fn authenticate(&self, request: &Parts) -> Option<Authentication> {
        let certificate: &ClientCertificate = request.extensions.get()?;
        let principal = match certificate.name() {
            _ if !request.method.is_safe() && origin::is_foreign(request) => {
                Err(AuthenticationError::Origin)
            }
            Some(name) => Ok(Principal::new(Self::principal_name(name)).with_scopes(&self.scopes)),
            None => {
                let reason = "the client certificate has neither a URI nor a DNS name";
                Err(AuthenticationError::Invalid(Some(reason)))
            }
        };
        Some(Authentication::value(principal))
    }

    fn remedy(&self) -> &'static str {
        "connect with a client certificate"
    }
}
