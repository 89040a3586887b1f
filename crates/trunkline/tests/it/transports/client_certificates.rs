//! Client certificates of TLS, alone and with tokens.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use axum::routing::get;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedKey, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, SanType, date_time_ymd, generate_simple_self_signed,
};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use trunkline::access::{Principal, Scopes};
use trunkline::http::{ClientCertificates, Context, HttpConfig, Message, Routes};
use trunkline::server::{Server, ServerHandle, Tls, TlsError};
use trunkline::{Extensions, Router};

use crate::support::in_time;

/// The certificate and the key of a client.
type Identity = (CertificateDer<'static>, PrivateKeyDer<'static>);

/// An authority of clients.
struct Authority(Issuer<'static, KeyPair>, String);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self(Issuer::new(params, key), pem)
    }

    fn identity(&self, change: impl FnOnce(&mut CertificateParams)) -> Option<Identity> {
        let mut params = CertificateParams::default();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap().der().clone();
        Some((certificate, PrivatePkcs8KeyDer::from(key.serialize_der()).into()))
    }

    fn named(&self, name: &str) -> Option<Identity> {
        self.identity(|params| params.subject_alt_names = vec![dns(name)])
    }
}

fn dns(name: &str) -> SanType {
    SanType::DnsName(name.try_into().unwrap())
}

/// A server, its folder, and the certificate that it presents.
struct Fixture {
    folder: TempDir,
    tls: Tls,
    server: ServerHandle,
    presented: CertificateDer<'static>,
}

fn name(extensions: &Extensions) -> String {
    Principal::of(extensions).map_or("-", Principal::name).to_owned()
}

impl Fixture {
    /// A server with the token `secret` of `ada`, if `has_token`.
    async fn start(authority: &Authority, has_token: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let path = |name: &str| -> PathBuf { folder.path().join(name) };
        std::fs::write(path("cert.pem"), cert.pem()).unwrap();
        std::fs::write(path("key.pem"), signing_key.serialize_pem()).unwrap();
        std::fs::write(path("ca.pem"), &authority.1).unwrap();
        let tls = Tls::open(path("cert.pem"), path("key.pem")).unwrap().check_interval(None);
        let tls = tls.client_ca(path("ca.pem")).unwrap();
        let certificates = ClientCertificates { scopes: Scopes::new(["all"]) };
        let mut config = HttpConfig {
            paths: vec!["/rpc".to_owned()],
            authenticators: vec![Arc::new(certificates)],
            cors_origins: vec!["https://app.example".to_owned()],
            ..HttpConfig::default()
        };
        if has_token {
            config.bearer.allow_as("ada", "secret");
        }
        let whoami = |caller: Option<Principal>| {
            let scoped = caller.as_ref().is_some_and(|caller| caller.has_scope("all"));
            format!("{} {scoped}", caller.as_ref().map_or("-", Principal::name))
        };
        let rpc = Router::new().method("whoami", whoami).build().unwrap();
        let page = async |context: Context| name(&context.extensions);
        let routes = Routes::new("page", axum::Router::new().route("/page", get(page).post(page)));
        let routes = routes.messages("/messages", |message: Message| {
            let text = serde_json::to_vec(&name(&message.extensions)).unwrap();
            let response = axum::response::Response::new(axum::body::Body::from(text));
            trunkline::http::ResponseFuture::value(response.map(trunkline::http::ReplyBody::stream))
        });
        let service = rpc.http_with(config).merge(routes);
        let server = Server::bind("127.0.0.1:0").tls(tls.clone()).serve(service).await.unwrap();
        Self { folder, tls, server, presented: cert.der().clone() }
    }

    async fn connect(&self, identity: Option<Identity>) -> io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.presented.clone()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let config = match identity {
            Some((certificate, key)) => {
                config.with_client_auth_cert(vec![certificate], key).unwrap()
            }
            None => config.with_no_client_auth(),
        };
        let socket = TcpStream::connect(self.server.local_addr()).await?;
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, socket).await
    }
}

/// The status and the body of a response.
async fn ask(stream: &mut TlsStream<TcpStream>, request: &str) -> io::Result<(u16, String)> {
    stream.write_all(request.as_bytes()).await?;
    let mut text = Vec::new();
    loop {
        let found = String::from_utf8_lossy(&text).into_owned();
        if let Some((head, body)) = found.split_once("\r\n\r\n") {
            let length = head.to_lowercase();
            let length = length.split_once("content-length: ").unwrap().1;
            let length = length.lines().next().unwrap().parse::<usize>().unwrap();
            if body.len() >= length {
                return Ok((head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned()));
            }
        }
        if stream.read_buf(&mut text).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

fn request(method: &str, path: &str, headers: &str) -> String {
    let body = match path {
        "/rpc" => r#"{"jsonrpc":"2.0","id":1,"method":"whoami"}"#,
        _ => "{}",
    };
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}\
         Content-Length: {length}\r\n\r\n{body}"
    )
}

/// Checks the response to a request of a client, or the failure of its handshake: `None`.
#[track_caller]
fn check(row: &str, found: io::Result<(u16, String)>, expected: Option<(u16, &str)>) {
    match (found, expected) {
        (Ok((status, body)), Some((expected, part))) => {
            assert_eq!(status, expected, "{row}: {body}");
            assert!(body.contains(part), "{row}: {body}");
        }
        (Err(_), None) => {}
        (found, _) => panic!("{row}: {found:?}"),
    }
}

async fn asked(
    fixture: &Fixture,
    identity: Option<Identity>,
    request: &str,
) -> io::Result<(u16, String)> {
    let asked = async { ask(&mut fixture.connect(identity).await?, request).await };
    in_time("a request", asked).await
}

#[tokio::test]
async fn certificates_of_an_authority_authenticate_clients() {
    let (authority, other) = (Authority::new(), Authority::new());
    let fixture = Fixture::start(&authority, false).await;
    let uri = SanType::URI("spiffe://test/app".try_into().unwrap());
    let usage = |usage| {
        move |params: &mut CertificateParams| {
            params.subject_alt_names = vec![dns("app.test")];
            params.extended_key_usages = vec![usage];
        }
    };
    let valid = |from, to| {
        authority.identity(|params| {
            params.subject_alt_names = vec![dns("app.test")];
            (params.not_before, params.not_after) =
                (date_time_ymd(from, 1, 1), date_time_ymd(to, 1, 1));
        })
    };
    let rows = [
        ("a DNS name", authority.named("app.test"), Some((200, "certificate:app.test true"))),
        (
            "a URI is preferred",
            authority.identity(|params| params.subject_alt_names = vec![dns("app.test"), uri]),
            Some((200, "certificate:spiffe://test/app true")),
        ),
        (
            "the common name only",
            authority.identity(|params| {
                params.distinguished_name.push(rcgen::DnType::CommonName, "app.test");
            }),
            Some((401, "the client certificate has neither a URI nor a DNS name")),
        ),
        (
            "no certificate",
            None,
            Some((401, "missing credentials; connect with a client certificate")),
        ),
        ("another authority", other.named("app.test"), None),
        ("for servers", authority.identity(usage(ExtendedKeyUsagePurpose::ServerAuth)), None),
        ("valid", valid(2020, 4000), Some((200, "certificate:app.test"))),
        ("expired", valid(2010, 2020), None),
        ("not yet valid", valid(3000, 4000), None),
    ];
    for (row, identity, expected) in rows {
        let found = asked(&fixture, identity, &request("POST", "/rpc", "")).await;
        check(row, found, expected);
    }
    assert!(fixture.server.stop().await.is_complete());
}

#[tokio::test]
async fn a_token_decides_before_a_certificate() {
    let authority = Authority::new();
    let fixture = Fixture::start(&authority, true).await;
    let (token, wrong) = ("Authorization: Bearer secret\r\n", "Authorization: Bearer wrong\r\n");
    let both = "missing credentials; send `Authorization: Bearer TOKEN`, or connect with a client certificate";
    for (path, other) in [("/rpc", ""), ("/messages", ""), ("/page", "")] {
        let rows = [
            ("certificate", true, other, (200, "certificate:app.test")),
            ("token", false, token, (200, "ada")),
            ("certificate and token", true, token, (200, "ada")),
            ("certificate and wrong token", true, wrong, (401, "the token is not valid")),
            ("another scheme", true, "Authorization: Basic YQ==\r\n", (200, "certificate:app")),
            ("neither", false, other, (401, both)),
        ];
        for (row, has_certificate, headers, expected) in rows {
            let identity = authority.named("app.test").filter(|_| has_certificate);
            let found = asked(&fixture, identity, &request("POST", path, headers)).await;
            check(&format!("{path}, {row}"), found, Some(expected));
        }
    }
    assert!(fixture.server.stop().await.is_complete());
}

/// Browsers send a certificate with the requests of all pages.
#[tokio::test]
async fn pages_of_other_origins_send_no_changes_with_a_certificate() {
    let authority = Authority::new();
    let fixture = Fixture::start(&authority, true).await;
    let rows = [
        ("POST", "", 200),
        ("POST", "Origin: https://localhost\r\n", 200),
        ("POST", "Origin: https://app.example\r\n", 403),
        ("GET", "Origin: https://app.example\r\n", 200),
        ("POST", "Origin: https://app.example\r\nAuthorization: Bearer secret\r\n", 200),
    ];
    for (method, headers, status) in rows {
        let sent = request(method, "/page", headers);
        let found = asked(&fixture, authority.named("app.test"), &sent).await;
        check(&format!("{method} {headers}"), found, Some((status, "")));
    }
    assert!(fixture.server.stop().await.is_complete());
}

#[tokio::test]
async fn replaced_authorities_apply_to_new_connections() {
    let (old, new) = (Authority::new(), Authority::new());
    let fixture = Fixture::start(&old, false).await;
    let sent = request("POST", "/rpc", "");
    let mut open = fixture.connect(old.named("old.test")).await.unwrap();
    check("before", ask(&mut open, &sent).await, Some((200, "certificate:old.test")));
    let path = fixture.folder.path().join("ca.pem");
    for (text, expected) in [("text", "contains no certificate"), ("", "contains no certificate")] {
        std::fs::write(&path, text).unwrap();
        let error = fixture.tls.reload().unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        let found = asked(&fixture, old.named("old.test"), &sent).await;
        check("invalid file", found, Some((200, "certificate:old.test")));
    }
    std::fs::write(&path, &new.1).unwrap();
    fixture.tls.reload().unwrap();
    check("new", asked(&fixture, new.named("new.test"), &sent).await, Some((200, "new.test")));
    check("old", asked(&fixture, old.named("old.test"), &sent).await, None);
    check("open", ask(&mut open, &sent).await, Some((200, "certificate:old.test")));
    drop(open);
    let missing = fixture.tls.clone().client_ca(fixture.folder.path().join("none.pem"));
    assert!(matches!(missing, Err(TlsError::Read { .. })), "{missing:?}");
    assert!(fixture.server.stop().await.is_complete());
}
