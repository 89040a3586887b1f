use std::sync::Arc;

use rustls::ServerConnection;
use webpki::EndEntityCert;

use crate::http::ClientCertificate;

/// The certificate of the client of a connection, which the handshake has verified.
pub(in crate::server) fn client_certificate(
    connection: &ServerConnection,
) -> Option<ClientCertificate> {
    let der = connection.peer_certificates()?.first()?;
    let parsed = EndEntityCert::try_from(der).ok();
    let name = parsed.and_then(|parsed| {
        let name = parsed.valid_uri_names().next().or_else(|| parsed.valid_dns_names().next());
        name.map(Arc::from)
    });
    Some(ClientCertificate::new(&**der, name))
}
