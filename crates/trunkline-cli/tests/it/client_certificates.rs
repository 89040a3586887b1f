//! `--tls-client-ca`: callers with client certificates, on all endpoints.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::call::check;
use crate::support::{Server, post, run, tpch, trunkline};

/// The certificate and the key of a client.
type Identity = (CertificateDer<'static>, PrivateKeyDer<'static>);

/// Writes the certificate of an authority to `ca.pem`.
fn authority(folder: &Path) -> Issuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    fs::write(folder.join("ca.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
    Issuer::new(params, key)
}

fn identity(authority: &Issuer<'_, KeyPair>, name: &str) -> Identity {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new([name.to_owned()]).unwrap();
    let certificate = params.signed_by(&key, authority).unwrap().der().clone();
    (certificate, PrivatePkcs8KeyDer::from(key.serialize_der()).into())
}

/// The status and the text of the response. `None` if the handshake fails.
fn ask(server: &Server, identity: Option<Identity>, request: &str) -> Option<(u16, String)> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(server_certificate()).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match identity {
        Some((certificate, key)) => config.with_client_auth_cert(vec![certificate], key).unwrap(),
        None => config.with_no_client_auth(),
    };
    let name = ServerName::try_from("localhost").unwrap();
    let client = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = StreamOwned::new(client, TcpStream::connect(server.address).unwrap());
    let request = request.replacen("\r\n", "\r\nConnection: close\r\n", 1);
    stream.write_all(request.as_bytes()).ok()?;
    let mut text = Vec::new();
    stream.read_to_end(&mut text).ok()?;
    let text = String::from_utf8(text).unwrap();
    Some((text.split(' ').nth(1)?.parse().unwrap(), text))
}

/// One certificate for the servers of this module.
fn server_certificate() -> &'static Path {
    use std::sync::OnceLock;
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    static PATH: OnceLock<std::path::PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        let folder = FOLDER.get_or_init(|| tempfile::tempdir().unwrap()).path();
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        fs::write(folder.join("cert.pem"), made.cert.pem()).unwrap();
        fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
        folder.join("cert.pem")
    })
}

fn serve(folder: &Path, config: &str) -> Server {
    let certificate = server_certificate();
    let key = certificate.with_file_name("key.pem");
    let (certificate, key) = (certificate.display(), key.display());
    let tls = format!(
        "[server]\nlisten = '127.0.0.1:0'\nconsole = true\n[server.tls]\ncert = '{certificate}'\n\
         key = '{key}'\nclient_ca = 'ca.pem'\n"
    );
    fs::write(folder.join("trunkline.toml"), tls + config).unwrap();
    fs::write(folder.join("token"), "s3cret-token").unwrap();
    let mut command = trunkline(folder);
    command.args(["--db", "tpch.db"]);
    Server::start(command)
}

const TOKEN: &str = "[access.tokens]\nada = { file = 'token' }\n";

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n\r\n")
}

fn requests() -> [(&'static str, String); 5] {
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"db.list_tables"}"#;
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let accept = &["Accept: application/json, text/event-stream"][..];
    [
        ("JSON-RPC", post("/rpc", &[], &list)),
        ("MCP", post("/mcp", accept, &ping)),
        ("a route", get("/openrpc.json")),
        ("the history", get("/history")),
        ("the console", get("/console")),
    ]
}

#[test]
fn all_endpoints_accept_certificates() {
    let (folder, _) = tpch();
    let known = authority(folder.path());
    let server = serve(folder.path(), TOKEN);
    let other = tempfile::tempdir().unwrap();
    let stranger = authority(other.path());
    for (endpoint, request) in requests() {
        let certified = ask(&server, Some(identity(&known, "app.test")), &request);
        let (status, text) = certified.unwrap();
        assert_eq!(status, 200, "{endpoint}: {text}");
        if endpoint == "the console" {
            assert!(text.contains("certificate:app.test"), "{text}");
        }
        let (status, text) = ask(&server, None, &request).unwrap();
        assert_eq!(status, 401, "{endpoint}: {text}");
        let token = request.replacen("\r\n", "\r\nAuthorization: Bearer s3cret-token\r\n", 1);
        assert_eq!(ask(&server, None, &token).unwrap().0, 200, "{endpoint}");
        let wrong = ask(&server, Some(identity(&stranger, "app.test")), &request);
        assert!(wrong.is_none(), "{endpoint}: {wrong:?}");
    }
    let (status, text) = ask(&server, None, &get("/health")).unwrap();
    assert_eq!(status, 200, "{text}");
}

/// A role of a token is not that of a certificate with the same name.
#[test]
fn roles_have_names_of_certificates() {
    let (folder, _) = tpch();
    let known = authority(folder.path());
    let role = "[roles.reader]\ncertificates = ['app.test']\ntokens = ['ada']\n\
                operations = ['db.list_tables']\n";
    let server = serve(folder.path(), &format!("{TOKEN}{role}"));
    let call = |name: &str, method: &str| {
        let call = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#);
        ask(&server, Some(identity(&known, name)), &post("/rpc", &[], &call)).unwrap().0
    };
    let rows = [
        ("app.test", "db.list_tables", 200),
        ("app.test", "db.database_health", 403),
        ("other.test", "db.list_tables", 403),
        ("ada", "db.list_tables", 403),
    ];
    for (name, method, status) in rows {
        assert_eq!(call(name, method), status, "{name}: {method}");
    }
    // A new authority applies to new connections.
    let replaced = authority(folder.path());
    server.signal("HUP");
    let list = post("/rpc", &[], &r#"{"jsonrpc":"2.0","id":1,"method":"db.list_tables"}"#);
    let answers =
        |authority| ask(&server, Some(identity(authority, "app.test")), &list).map(|found| found.0);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while answers(&replaced) != Some(200) {
        assert!(std::time::Instant::now() < deadline, "the new authority is not used");
    }
    assert_eq!(answers(&known), None);
}

#[test]
fn invalid_settings_are_refused_at_the_start() {
    let (folder, _) = tpch();
    authority(folder.path());
    fs::write(folder.path().join("text.pem"), "text").unwrap();
    let certificate = server_certificate();
    let key = certificate.with_file_name("key.pem");
    let tls = ["--tls-cert", certificate.to_str().unwrap(), "--tls-key", key.to_str().unwrap()];
    let role = "[roles.reader]\ncertificates = ['app.test']\noperations = ['*']\n";
    let rows: [(&str, &[&str], &str, i32, &str); 5] = [
        ("plain HTTP", &["--tls-client-ca", "ca.pem"], "", 2, "--tls-cert"),
        (
            "plain HTTP in the file",
            &[],
            "server.tls.client_ca = 'ca.pem'\n",
            1,
            "server.tls.client_ca requires server.tls.cert",
        ),
        ("missing file", &[&tls[..], &["--tls-client-ca", "none.pem"]].concat(), "", 1, "none.pem"),
        (
            "no certificate",
            &[&tls[..], &["--tls-client-ca", "text.pem"]].concat(),
            "",
            1,
            "text.pem contains no certificate",
        ),
        ("a role without the flag", &tls, role, 2, "set server.tls.client_ca, too"),
    ];
    for (row, arguments, config, code, part) in rows {
        fs::write(folder.path().join("trunkline.toml"), config).unwrap();
        let mut command = trunkline(folder.path());
        command.args(["--db", "tpch.db", "--listen", "127.0.0.1:0"]).args(arguments);
        check(row, &run(&mut command), code, &[], &[part]);
    }
    fs::remove_file(folder.path().join("trunkline.toml")).unwrap();
}
