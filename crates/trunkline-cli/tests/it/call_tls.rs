//! `trunkline call` over https, with a private authority.

use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, Stream};

use crate::call::check;
use crate::call_peer::{json, read};
use crate::support::{Ended, run, trunkline};

/// Serves https under `name` and returns its port; its certificate is in the folder.
fn serve(folder: &Path, name: &str) -> u16 {
    serve_as(folder, name, IsCa::NoCa)
}

fn serve_as(folder: &Path, name: &str, is_ca: IsCa) -> u16 {
    let mut parameters = CertificateParams::new([name.to_owned()]).unwrap();
    parameters.is_ca = is_ca;
    parameters.distinguished_name.push(DnType::CommonName, name);
    let signing_key = KeyPair::generate().unwrap();
    let cert = parameters.self_signed(&signing_key).unwrap();
    std::fs::write(folder.join("ca.pem"), cert.pem()).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let mut tls = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = Stream::new(&mut tls, &mut socket);
            // A client that does not trust the certificate ends the handshake.
            if read(&mut stream).is_some() {
                let answer = json(r#"{"jsonrpc":"2.0","id":1,"result":"secure"}"#);
                drop(stream.write_all(&answer));
                stream.conn.send_close_notify();
                drop(stream.flush());
            }
        }
    });
    port
}

fn call(folder: &Path, url: &str, authorities: &str) -> Ended {
    let mut command = trunkline(folder);
    command.args(["call", url, "m"]).env("SSL_CERT_FILE", authorities).env_remove("SSL_CERT_DIR");
    run(&mut command)
}

#[test]
fn verifies_certificates() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let port = serve(folder, "localhost");
    std::fs::copy(folder.join("ca.pem"), folder.join("right.pem")).unwrap();
    // A second authority, which has not signed the certificate of the server.
    serve(folder, "other.example");
    let (right, wrong) = (format!("https://localhost:{port}"), format!("https://127.0.0.1:{port}"));
    check("trusted", &call(folder, &right, "right.pem"), 0, &["secure\n"], &[]);

    let origin = format!("cannot connect to {right}\n");
    let stderr = [&*origin, "because: invalid peer certificate: UnknownIssuer", "SSL_CERT_FILE"];
    check("not trusted", &call(folder, &right, "ca.pem"), 3, &[], &stderr);
    let stderr = ["because: invalid peer certificate: certificate not valid for name"];
    check("another name", &call(folder, &wrong, "right.pem"), 3, &[], &stderr);
    std::fs::write(folder.join("empty.pem"), "").unwrap();
    let stderr = ["certificates", "try: install ca-certificates"];
    check("no authority", &call(folder, &right, "empty.pem"), 3, &[], &stderr);

    let stderr = ["HTTP", "use https://"];
    let plain = right.replace("https:", "http:");
    check("without TLS", &call(folder, &plain, "right.pem"), 4, &[], &stderr);
}

/// Like the certificates of `openssl req -x509`: self-signed, and marked as an authority's.
#[test]
fn trusts_a_pinned_self_signed_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let authority = || IsCa::Ca(BasicConstraints::Unconstrained);
    let port = serve_as(folder, "localhost", authority());
    std::fs::copy(folder.join("ca.pem"), folder.join("right.pem")).unwrap();
    serve_as(folder, "localhost", authority());
    let (right, wrong) = (format!("https://localhost:{port}"), format!("https://127.0.0.1:{port}"));
    check("pinned", &call(folder, &right, "right.pem"), 0, &["secure\n"], &[]);
    let stderr = ["CaUsedAsEndEntity", "try: set SSL_CERT_FILE=cert.pem"];
    check("another", &call(folder, &right, "ca.pem"), 3, &[], &stderr);
    let stderr = ["because: invalid peer certificate: certificate not valid for name"];
    check("another name", &call(folder, &wrong, "right.pem"), 3, &[], &stderr);
}
