//! HTTP apart from calls: headers, metrics, rates, https.

use std::fs;

use rcgen::{CertificateParams, KeyPair};
use serde_json::json;

use crate::access::Issuer;
use crate::call::check;
use crate::support::{Server, post, run, tpch, trunkline};

/// All responses have security headers and the id of the request.
#[test]
fn headers() {
    let (_folder, path) = tpch();
    let server = Server::of(&path);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "db.list_tables"});
    let answered = server.connect().ask(&post("/", &["X-Request-Id: mine"], &call));
    assert_eq!(answered.header("x-request-id"), Some("mine"));
    let refused = server.connect().get("/nowhere");
    assert!(refused.header("x-request-id").is_some_and(|id| id.len() >= 16), "{refused:?}");
    for (status, reply) in [(200, answered), (404, refused)] {
        assert_eq!(reply.status, status);
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{reply:?}");
        assert_eq!(reply.header("cache-control"), Some("no-store"), "{reply:?}");
    }
}

/// A request at a path that may have a slash at its end.
#[track_caller]
fn check_slash(server: &Server, method: &str, path: &str, expected: u16) {
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let request = match method {
        "POST" => post(path, &[], &call),
        _ => format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n"),
    };
    let mut connection = server.connect();
    assert_eq!(connection.ask(&request).status, expected, "{method} {path}");
}

#[test]
fn a_slash_at_the_end_of_a_path_is_ignored() {
    let (_folder, path) = tpch();
    let server = Server::of(&path);
    for (method, path, expected) in [
        ("POST", "/mcp/", 200),
        ("POST", "/mcp/?x=1", 200),
        ("POST", "/rpc/", 200),
        ("POST", "/jsonrpc/", 200),
        ("GET", "/sse/", 200),
        ("POST", "/api/", 200),
        // The methods of the path.
        ("GET", "/mcp/", 405),
        ("DELETE", "/mcp/", 405),
        ("GET", "/rpc/", 405),
        // As before: exact paths, which proxies limit.
        ("POST", "/console/sign-in/", 404),
        ("POST", "/admin/reload/", 404),
        ("GET", "/metrics/", 200),
        ("GET", "/history/", 404),
        ("GET", "/console/", 404),
        ("POST", "/", 200),
        ("POST", "/mcp", 200),
        ("POST", "//", 404),
        ("POST", "/mcp//", 404),
        ("POST", "//mcp", 404),
        ("POST", "/mcp/x", 404),
        ("POST", "/mcp%2F", 404),
        ("POST", "/MCP/", 404),
        ("GET", "/nowhere/", 404),
    ] {
        check_slash(&server, method, path, expected);
    }
    // The endpoint of HTTP+SSE is absolute.
    let mut stream = server.connect();
    assert_eq!(stream.get("/sse/").status, 200);
    // The size of the chunk, and the event.
    let lines = [stream.line(), stream.line(), stream.line()];
    assert!(lines[2].starts_with("data: /messages?sessionId="), "{lines:?}");
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let endpoint = lines[2].trim_start_matches("data: ").replace("/messages", "/messages/");
    assert_eq!(server.connect().ask(&post(&endpoint, &[], &message)).status, 202);
}

#[test]
fn metrics_count_registered_names_only() {
    let (_folder, path) = tpch();
    let server = Server::of(&path);
    for method in ["db.list_tables", "db.list_tables", "db.no_such", "{\"x\"}"] {
        server.post(&json!({"jsonrpc": "2.0", "id": 1, "method": method}));
    }
    let reply = server.connect().get("/metrics");
    assert_eq!(reply.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let text = String::from_utf8(reply.body).unwrap();
    let of = |method, outcome| {
        format!("\ntrunkline_calls_total{{method=\"{method}\",outcome=\"{outcome}\"}} 2\n")
    };
    for line in [of("db.list_tables", "result"), of("unknown", "refused")] {
        assert!(text.contains(&line), "{line} in {text}");
    }
    assert!(!text.contains("no_such"), "{text}");
}

#[test]
fn calls_above_the_rate_are_refused() {
    let (folder, _) = tpch();
    let mut command = trunkline(folder.path());
    command.args(["--db", "tpch.db", "--listen", "127.0.0.1:0", "--rate-limit", "1"]);
    let server = Server::start(command);
    let call =
        json!({"jsonrpc": "2.0", "id": 1, "method": "db.describe_table", "params": ["region"]});
    // A burst is two calls; a third within a second is refused.
    let replies: Vec<_> = (0..20).map(|_| server.post(&call)).collect();
    let refused = replies.iter().find(|reply| reply.status == 429).expect("20 calls in a second");
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(refused.json()["error"]["code"], -32010);
    assert!(replies[..2].iter().all(|reply| reply.status == 200));
    assert_eq!(server.connect().get("/health").status, 200, "health has no limit");
}

#[test]
fn https() {
    let (folder, _) = tpch();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["localhost".to_owned()]).unwrap();
    let certificate = certificate.self_signed(&key).unwrap();
    fs::write(folder.path().join("cert.pem"), certificate.pem()).unwrap();
    fs::write(folder.path().join("key.pem"), key.serialize_pem()).unwrap();
    fs::write(folder.path().join("text.pem"), "no certificate").unwrap();
    let serve = |certificate: &str| {
        let mut command = trunkline(folder.path());
        command.args(["--db", "tpch.db", "--listen", "127.0.0.1:0", "--tls-cert", certificate]);
        command
    };

    let mut command = serve("cert.pem");
    command.args(["--tls-key", "key.pem"]);
    let mut server = Server::start(command);
    assert!(server.banner().contains("curl -s https://127.0.0.1:"));
    let url = format!("https://localhost:{}", server.address.port());
    let mut call = trunkline(folder.path());
    call.args(["call", &url, "db.list_tables", "--json"]).env("SSL_CERT_FILE", "cert.pem");
    check("over https", &run(&mut call), 0, &["\"region\""], &[]);
    drop(server);

    check("no key", &run(&mut serve("cert.pem")), 2, &[], &["--tls-key"]);
    let mut command = serve("text.pem");
    command.args(["--tls-key", "key.pem"]);
    check(
        "no certificate",
        &run(&mut command),
        1,
        &[],
        &["cannot serve https; check --tls-cert", "text.pem"],
    );
}

/// An endpoint that needs a flag does not exist without it.
#[test]
fn the_reference_lists_endpoints_with_their_flags() {
    let (folder, _) = tpch();
    fs::create_dir(folder.path().join("tools")).unwrap();
    Issuer::new().publish(folder.path());
    let start = |arguments: &[&str]| {
        let mut command = trunkline(folder.path());
        command.args(["--db", "tpch.db", "--listen", "127.0.0.1:0"]).args(arguments);
        Server::start_without_data_directory(command)
    };
    let plain = start(&[]);
    let all = start(&["--data-dir", "data", "--log", "--command-tools", "tools"]);
    let (url, issuer) = ("https://db.example.com/mcp", "https://login.example");
    let tokens = ["--jwks", "jwks.json", "--resource-url", url, "--authorization-server", issuer];
    let resource = start(&tokens);
    let exists = |server: &Server, method: &str, path: &str| {
        let path = path.replace("NAME", "main");
        let fields = "Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 0";
        let mut connection = server.connect();
        let reply = connection.ask(&format!("{method} {path} HTTP/1.1\r\n{fields}\r\n\r\n"));
        // `/messages` returns 404 for an unknown session, too.
        let body = String::from_utf8_lossy(&reply.body);
        let is_absent =
            ["path not found", "records are off"].iter().any(|part| body.contains(part));
        reply.status != 404 || !is_absent
    };
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/endpoints.md");
    let page = fs::read_to_string(page).unwrap();
    let mut count = 0;
    for row in page.lines().filter(|line| line.starts_with("| `") && line.contains(" /")) {
        let (endpoints, purpose) = row[2..].split_once(" | ").unwrap();
        let needs_flag = purpose.contains("with `--") || purpose.contains("404 unless");
        let with_flags = if purpose.contains("--resource-url") { &resource } else { &all };
        let mut methods = Vec::new();
        for span in endpoints.split('`').skip(1).step_by(2) {
            // A span is `GET /a`, `/b` for the same method, or a method for the path of the next one.
            let (method, path) = span.split_once(' ').unwrap_or(match span.strip_prefix('/') {
                Some(_) => ("", span),
                None => (span, ""),
            });
            if !method.is_empty() {
                methods.retain(|(_, has_path)| !has_path);
                methods.push((method, false));
            }
            for (method, has_path) in methods.iter_mut().filter(|_| !path.is_empty()) {
                *has_path = true;
                assert!(exists(with_flags, method, path), "{method} {path}: {row}");
                assert_eq!(exists(&plain, method, path), !needs_flag, "{method} {path}: {row}");
                count += 1;
            }
        }
    }
    assert!(count >= 28, "{count}");
}
