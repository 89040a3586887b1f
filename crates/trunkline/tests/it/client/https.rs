//! https with custom certificate authorities.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, Stream};
use trunkline::client::http::{HttpClientConfig, Roots, RootsError};
use trunkline::client::{Client, Http};

use crate::support::in_time;

/// Serves https as `localhost`. Returns the port, and the certificate signed by `authority` as PEM.
fn serve(authority: &str) -> (u16, String) {
    serve_with(authority, |_| {})
}

/// Serves https with a self-signed certificate.
fn serve_with(authority: &str, change: impl FnOnce(&mut CertificateParams)) -> (u16, String) {
    let mut parameters = CertificateParams::new(["localhost".to_owned()]).unwrap();
    parameters.distinguished_name.push(DnType::CommonName, authority);
    change(&mut parameters);
    let signing_key = KeyPair::generate().unwrap();
    let cert = parameters.self_signed(&signing_key).unwrap();
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
            // The handshake with a client that does not trust the certificate fails.
            if stream.read(&mut [0; 4096]).is_ok() {
                let body = r#"{"jsonrpc":"2.0","id":1,"result":"secure"}"#;
                let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close";
                let length = body.len();
                let reply = format!("{head}\r\nContent-Length: {length}\r\n\r\n{body}");
                drop(stream.write_all(reply.as_bytes()));
                stream.conn.send_close_notify();
                drop(stream.flush());
            }
        }
    });
    (port, cert.pem())
}

fn only(pem: &str) -> Roots {
    let mut roots = Roots::none();
    roots.add_pem(pem.as_bytes()).unwrap();
    roots
}

/// The result, or the error and its last cause.
async fn call(url: &str, roots: Roots) -> Result<String, (String, String)> {
    let http = Http::with_roots(url.parse().unwrap(), HttpClientConfig::default(), &roots).unwrap();
    let client = Client::new(http);
    let ended = in_time("the call", client.call::<String>("m", ()).into_future()).await;
    ended.map_err(|error| {
        let mut causes: Vec<String> = Vec::new();
        let mut next = std::error::Error::source(&error);
        while let Some(cause) = next {
            causes.push(cause.to_string());
            next = cause.source();
        }
        (error.to_string(), causes.pop().unwrap_or_default())
    })
}

#[tokio::test]
async fn verifies_certificates() {
    let (port, pem) = serve("one");
    let (_, other) = serve("other");
    let (right, wrong) = (format!("https://localhost:{port}"), format!("https://127.0.0.1:{port}"));
    let mut both = only(&other);
    both.add_pem(pem.as_bytes()).unwrap();
    let mut with_machine = Roots::default();
    with_machine.add_pem(pem.as_bytes()).unwrap();
    for (name, url, roots, expected) in [
        ("trusted", &right, only(&pem), Ok("secure")),
        ("trusted among others", &right, both, Ok("secure")),
        ("trusted besides the machine's", &right, with_machine, Ok("secure")),
        ("not trusted", &right, only(&other), Err("UnknownIssuer")),
        ("another name", &wrong, only(&pem), Err("not valid for name")),
    ] {
        match (call(url, roots).await, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{name}"),
            (Err((error, cause)), Err(expected)) => {
                assert_eq!(error, format!("cannot connect to {url}"), "{name}");
                assert!(cause.contains(expected), "{name}: {cause}");
            }
            (found, _) => panic!("{name}: {found:?}"),
        }
    }
}

fn as_authority(parameters: &mut CertificateParams) {
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
}

/// Self-signed certificates of servers that are marked as authorities, as `openssl req -x509` does.
#[tokio::test]
async fn accepts_a_trusted_self_signed_certificate() {
    let (port, pem) = serve_with("own", as_authority);
    let (_, other) = serve_with("own", as_authority);
    let (right, wrong) = (format!("https://localhost:{port}"), format!("https://127.0.0.1:{port}"));
    let (expired_port, expired) = serve_with("expired", |parameters| {
        as_authority(parameters);
        parameters.not_after = rcgen::date_time_ymd(2001, 1, 1);
    });
    let (later_port, later) = serve_with("later", |parameters| {
        as_authority(parameters);
        parameters.not_before = rcgen::date_time_ymd(4000, 1, 1);
    });
    let [expired_url, later_url] =
        [expired_port, later_port].map(|port| format!("https://localhost:{port}"));
    let mut both = only(&other);
    both.add_pem(pem.as_bytes()).unwrap();
    for (name, url, roots, expected) in [
        ("pinned", &right, only(&pem), Ok("secure")),
        ("pinned among others", &right, both, Ok("secure")),
        ("another of the same name", &right, only(&other), Err("CaUsedAsEndEntity")),
        ("another name", &wrong, only(&pem), Err("not valid for name")),
        ("expired", &expired_url, only(&expired), Err("expired")),
        ("not valid yet", &later_url, only(&later), Err("not valid yet")),
    ] {
        match (call(url, roots).await, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{name}"),
            (Err((_, cause)), Err(expected)) => {
                assert!(cause.contains(expected), "{name}: {cause}");
            }
            (found, _) => panic!("{name}: {found:?}"),
        }
    }
}

#[test]
fn rejects_pem_without_certificates() {
    let (_, pem) = serve("one");
    let mut roots = Roots::none();
    let cut = &pem[..pem.len() / 2];
    let garbage = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert!(matches!(roots.add_pem(b""), Err(RootsError::Empty)));
    assert!(matches!(roots.add_pem(cut.as_bytes()), Err(RootsError::Pem(_))));
    assert!(matches!(roots.add_pem(garbage.as_bytes()), Err(RootsError::Certificate(_))));
    let url = "https://localhost".parse().unwrap();
    let error = Http::with_roots(url, HttpClientConfig::default(), &roots).unwrap_err();
    assert_eq!(error.to_string(), "no trusted root certificates found on this machine");
}

/// A server that accepts connections and sends nothing.
#[tokio::test]
async fn handshakes_time_out() {
    let (_, pem) = serve("one");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", silent.local_addr().unwrap());
    let connect_timeout = Duration::from_millis(50);
    let config = HttpClientConfig { connect_timeout, ..HttpClientConfig::default() };
    let http = Http::with_roots(url.parse().unwrap(), config, &only(&pem)).unwrap();
    let client = Client::new(http);
    let ended = in_time("the handshake", client.call::<()>("m", ()).into_future()).await;
    let error = ended.unwrap_err();
    assert_eq!(error.to_string(), format!("cannot connect to {url}"));
    assert!(format!("{error:?}").contains("ConnectTimeout(50ms)"), "{error:?}");
}
