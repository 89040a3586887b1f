//! Servers with TLS.

use std::path::PathBuf;
use std::time::Duration;

use http::uri::Scheme;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpStream;
use trunkline::client::{Client, Http};
use trunkline::server::{self, Server, ServerHandle, Tls, TlsError};
use trunkline::{ErrorObject, Extension, Router};

use super::service::CallCounts;
use super::serving::https;
use crate::support::{self, in_time, post};

/// A certificate and its key on disk.
struct Files {
    directory: TempDir,
    certificate: PathBuf,
    key: PathBuf,
}

impl Files {
    fn new() -> (Self, String) {
        let directory = TempDir::new().unwrap();
        let [certificate, key] =
            ["certificate.pem", "key.pem"].map(|name| directory.path().join(name));
        let files = Self { directory, certificate, key };
        let trusted = files.renew();
        (files, trusted)
    }

    /// Writes a new certificate and key. Returns the certificate, which clients trust.
    fn renew(&self) -> String {
        let (certificate, key) = generated();
        self.put("key.pem", &key);
        self.put("certificate.pem", &certificate);
        certificate
    }

    /// Replaces a file atomically, as programs that renew certificates should.
    fn put(&self, name: &str, text: &str) {
        let new = self.directory.path().join("new");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(new, self.directory.path().join(name)).unwrap();
    }

    fn open(&self) -> Result<Tls, TlsError> {
        Tls::open(&self.certificate, &self.key)
    }
}

fn generated() -> (String, String) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    (cert.pem(), signing_key.serialize_pem())
}

async fn serve(tls: Tls, settings: server::ServerConfig) -> ServerHandle {
    let rpc = Router::new().method("ping", || "pong").build().unwrap();
    Server::bind("127.0.0.1:0").settings(settings).tls(tls).serve(rpc).await.unwrap()
}

/// A client with separate connections, which trusts this certificate only.
fn client(server: &ServerHandle, trusted: &str) -> Client {
    let http: Http = https(server.local_addr().port(), trusted);
    let settings = trunkline::client::ClientConfig { retry: None, ..Default::default() };
    Client::with_config(http, settings)
}

async fn answers(client: &Client) -> bool {
    let ended = in_time("a call", client.call::<String>("ping", ()).into_future()).await;
    ended.is_ok_and(|pong| pong == "pong")
}

#[tokio::test]
async fn handlers_receive_the_scheme() {
    let (files, certificate) = Files::new();
    let scheme = |Extension(scheme): Extension<Scheme>| scheme.to_string();
    let rpc = Router::new().method("scheme", scheme).build().unwrap();
    let tls = files.open().unwrap().check_interval(None);
    let server = Server::bind("127.0.0.1:0").tls(tls).serve(rpc).await.unwrap();
    let called = client(&server, &certificate).call::<String>("scheme", ()).into_future();
    assert_eq!(in_time("a call", called).await.unwrap(), "https");
    assert!(server.stop().await.is_complete());
}

#[tokio::test]
async fn concurrent_calls_share_an_http2_connection() {
    let (files, certificate) = Files::new();
    let tls = files.open().unwrap().check_interval(None);
    let server = serve(tls, server::ServerConfig::default()).await;
    let client = client(&server, &certificate);
    assert!(answers(&client).await);
    let calls = (0..20).map(|_| answers(&client));
    assert_eq!(futures_util::future::join_all(calls).await, [true; 20]);
    assert_eq!(server.status().total_connections, 1);
    assert!(server.stop().await.is_complete());
}

#[tokio::test]
async fn new_connections_use_a_new_certificate() {
    let (files, old) = Files::new();
    let tls = files.open().unwrap().check_interval(None);
    let server = serve(tls.clone(), server::ServerConfig::default()).await;
    let connected = client(&server, &old);
    assert!(answers(&connected).await);
    let new = files.renew();
    // The files were not read again yet.
    assert!(answers(&client(&server, &old)).await);
    tls.reload().unwrap();
    assert!(answers(&client(&server, &new)).await);
    assert!(!answers(&client(&server, &old)).await);
    // The old connection is still open: its client trusts only the old certificate.
    assert!(answers(&connected).await);
    assert!(server.stop().await.is_complete());
}

#[tokio::test]
async fn keeps_the_certificate_if_files_are_invalid() {
    let (files, old) = Files::new();
    let tls = files.open().unwrap().check_interval(None);
    let server = serve(tls.clone(), server::ServerConfig::default()).await;
    let (_, other_key) = generated();
    let good = std::fs::read_to_string(&files.key).unwrap();
    let rows: [(&str, &str, &str); 4] = [
        ("key.pem", &other_key, "cannot be used with the key"),
        ("key.pem", &old, "contains no private key"),
        ("certificate.pem", "text", "contains no certificate"),
        ("certificate.pem", "-----BEGIN CERTIFICATE-----\nAAAA", "is not valid PEM"),
    ];
    for (name, text, expected) in rows {
        files.put(name, text);
        let error = tls.reload().unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(answers(&client(&server, &old)).await, "{expected}");
        files.put("key.pem", &good);
        files.put("certificate.pem", &old);
    }
    // A large file, which may be the wrong one, is an error.
    files.put("certificate.pem", &format!("{old}{}", "\n".repeat(1 << 20)));
    let large = files.certificate.clone();
    assert!(matches!(tls.reload(), Err(TlsError::Read { path, .. }) if path == large));
    files.put("certificate.pem", &old);
    std::fs::remove_file(&files.key).unwrap();
    assert!(matches!(tls.reload(), Err(TlsError::Read { path, .. }) if path == files.key));
    assert!(matches!(files.open(), Err(TlsError::Read { .. })));
    assert!(answers(&client(&server, &old)).await);
    server.stop().await;
}

#[tokio::test]
async fn reloads_changed_files() {
    let (files, old) = Files::new();
    let tls = files.open().unwrap().check_interval(Duration::from_millis(10));
    let server = serve(tls, server::ServerConfig::default()).await;
    assert!(answers(&client(&server, &old)).await);
    // Checks continue after an invalid file.
    files.put("certificate.pem", "text");
    let new = files.renew();
    in_time("the new certificate", async { while !answers(&client(&server, &new)).await {} }).await;
    assert!(!answers(&client(&server, &old)).await);
    server.stop().await;
}

/// Silent clients do not delay others, and their connections time out.
#[tokio::test]
async fn handshakes_time_out() {
    let (files, trusted) = Files::new();
    let head_timeout = Duration::from_millis(300);
    let settings = server::ServerConfig { head_timeout, ..Default::default() };
    let server = serve(files.open().unwrap(), settings).await;
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(support::Client::connect(server.local_addr()).await);
    }
    // Only the beginning of a handshake.
    let mut slow = support::Client::connect(server.local_addr()).await;
    slow.send([22, 3, 1]).await;
    assert!(answers(&client(&server, &trusted)).await);
    for mut client in silent.into_iter().chain([slow]) {
        assert_eq!(client.rest().await, b"");
    }
    server.stop().await;
}

#[tokio::test]
async fn replies_with_an_error_to_plain_http() {
    let (files, _) = Files::new();
    let server = serve(files.open().unwrap(), server::ServerConfig::default()).await;
    let mut plain = support::Client::connect(server.local_addr()).await;
    let reply = plain.ask(post("x".repeat(100_000))).await;
    assert_eq!(reply.status, 400);
    let error: Value = reply.json();
    assert_eq!(error["error"]["data"]["status"], 400);
    assert_eq!(plain.rest().await, b"");
    let mut garbage = support::Client::connect(server.local_addr()).await;
    // Invalid data that begins like TLS.
    garbage.send([22, 255, 255, 255, 255, 0, 0]).await;
    garbage.rest().await;
    server.stop().await;
}

/// New clients of a draining server get an error.
#[tokio::test]
async fn refuses_calls_while_draining() {
    let (files, trusted) = Files::new();
    let counts = CallCounts::new();
    let server = Server::bind("127.0.0.1:0").tls(files.open().unwrap());
    let server = server.serve(counts.router().build().unwrap()).await.unwrap();
    let running = client(&server, &trusted);
    let waiting = tokio::spawn(running.call::<String>("wait", ()).into_future());
    support::until("the call", || server.status().in_flight == 1).await;
    let stopping = server.clone();
    let stopped = tokio::spawn(async move { stopping.stop().await });
    support::until("draining", || server.status().phase == server::Phase::Draining).await;
    let late = client(&server, &trusted).call::<()>("open", ()).into_future();
    let error = in_time("a late call", late).await.unwrap_err();
    let code = error.error_object().map(ErrorObject::code);
    assert_eq!(code, Some(trunkline::code::BUSY), "{error:?}");
    waiting.abort();
    in_time("the server's end", stopped).await.unwrap();
}

/// An incomplete handshake does not delay the stop of the server.
#[tokio::test]
async fn stops_despite_silent_clients() {
    let (files, _) = Files::new();
    let server = serve(files.open().unwrap(), server::ServerConfig::default()).await;
    let _silent = TcpStream::connect(server.local_addr()).await.unwrap();
    support::until("the connection", || server.status().connections == 1).await;
    let drained = in_time("the server's end", server.stop()).await;
    assert!(drained.is_complete() && drained.duration < Duration::from_secs(8), "{drained:?}");
}

#[tokio::test]
async fn supports_http_1_and_http_2() {
    use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
    use std::sync::Arc;
    let (files, trusted) = Files::new();
    let server = serve(files.open().unwrap(), server::ServerConfig::default()).await;
    let rows: [(&[&[u8]], _); 3] = [
        (&[b"h2", b"http/1.1"], Some(b"h2".as_slice())),
        (&[b"http/1.1"], Some(b"http/1.1")),
        (&[], None),
    ];
    for (offered, chosen) in rows {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(trusted.as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = offered.iter().map(|name| name.to_vec()).collect();
        let socket = TcpStream::connect(server.local_addr()).await.unwrap();
        let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
        let name = ServerName::try_from("localhost").unwrap();
        let stream = in_time("the handshake", connector.connect(name, socket)).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), chosen);
        if chosen == Some(b"h2".as_slice()) {
            let (mut requests, connection) = h2::client::handshake(stream).await.unwrap();
            let driving = tokio::spawn(connection);
            let url = format!("https://localhost:{}/", server.local_addr().port());
            let request = http::Request::post(url).header("content-type", "application/json");
            let (reply, mut body) =
                requests.send_request(request.body(()).unwrap(), false).unwrap();
            let call = r#"{"jsonrpc":"2.0","method":"ping","id":1}"#;
            body.send_data(call.into(), true).unwrap();
            assert_eq!(in_time("the reply", reply).await.unwrap().status(), 200);
            drop((requests, body));
            driving.abort();
        }
    }
    server.stop().await;
}
