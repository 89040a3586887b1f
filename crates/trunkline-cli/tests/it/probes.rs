//! The listener of probes and scrapers (`--health-listen`), and `trunkline health`.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use rcgen::{CertificateParams, KeyPair};

use crate::support::{Connection, Ended, PATIENCE, Server, post, run, tpch, trunkline};

/// A server with a token, and the address of its listener for probes.
fn server(folder: &std::path::Path) -> (Server, SocketAddr) {
    let mut command = trunkline(folder);
    command.args(["serve", "--db", "tpch.db", "--port", "0", "--health-listen", "127.0.0.1:0"]);
    let mut server = Server::start(command_with_token(command));
    let banner = server.banner();
    let line = banner.lines().find_map(|line| line.trim().strip_prefix("probes    http://"));
    let probes = line.and_then(|line| line.strip_suffix("/health")?.parse().ok());
    (server, probes.unwrap_or_else(|| panic!("{banner}")))
}

fn command_with_token(mut command: std::process::Command) -> std::process::Command {
    command.env("TRUNKLINE_BEARER", "s3cret");
    command
}

#[track_caller]
fn check(address: SocketAddr, request: &str, expected: u16) -> String {
    let reply = Connection::open(address).ask(request);
    let body = String::from_utf8_lossy(&reply.body).into_owned();
    assert_eq!(reply.status, expected, "{request}: {body}");
    body
}

fn get(path: &str, host: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n")
}

/// Requests as the kubelet and Prometheus send them: by the address of a pod, without a token.
#[test]
fn probes_and_scrapers_need_no_token_and_no_host() {
    let (folder, _) = tpch();
    let (server, probes) = server(folder.path());
    for path in ["/health", "/health/live", "/health/ready", "/metrics"] {
        for path in [path.to_owned(), format!("{path}/")] {
            for host in ["10.1.2.3:8080", "[2001:db8::1]:9090", "pod.example", "localhost"] {
                check(probes, &get(&path, host), 200);
            }
        }
    }
    check(probes, &get("/metrics?format=text", "10.1.2.3"), 200);
    let metrics = check(probes, &get("/metrics", "10.1.2.3:9090"), 200);
    assert!(metrics.contains("trunkline_build_info{version="), "{metrics}");
    // Everything else is at the other listener.
    let call = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "rpc.discover"});
    for path in ["/", "/rpc", "/mcp", "/api", "/admin/reload", "/db/main/query", "/history"] {
        check(probes, &post(path, &["Authorization: Bearer s3cret"], &call), 404);
        check(probes, &get(path, "localhost"), 404);
    }
    check(probes, &post("/metrics", &[], &call), 405);
    check(probes, &post("/health/ready", &[], &call), 405);

    // There, the pages of health are public, too, and the metrics are not.
    check(server.address, &get("/health/ready", "10.1.2.3:8080"), 200);
    check(server.address, &get("/health/ready/", "10.1.2.3:8080"), 200);
    check(server.address, &get("/metrics", "localhost"), 401);
    check(server.address, &get("/metrics", "10.1.2.3:8080"), 403);
    let header = "Authorization: Bearer s3cret";
    for path in ["/metrics", "/metrics/"] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{header}\r\n\r\n");
        check(server.address, &request, 200);
    }
    assert_eq!(server.stop().code, Some(0));
    assert!(std::net::TcpStream::connect_timeout(&probes, PATIENCE).is_err());
}

/// The listener reports a server that stops, and answers until it has stopped.
#[test]
fn probes_see_a_server_that_stops() {
    let (folder, _) = tpch();
    let (server, probes) = server(folder.path());
    let endless =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
    let params = serde_json::json!({"query": endless, "timeout_ms": 4_000});
    let call = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "db.execute_raw_query", "params": params});
    let mut waiting = server.connect();
    waiting.send(&post("/", &["Authorization: Bearer s3cret"], &call));
    // Until the call runs, the server would stop at once.
    let deadline = std::time::Instant::now() + PATIENCE;
    while !check(probes, &get("/metrics", "a"), 200).contains("trunkline_requests_running 1") {
        assert!(std::time::Instant::now() < deadline, "the call does not run");
        std::thread::sleep(Duration::from_millis(20));
    }
    server.signal("TERM");
    let mut ready = Connection::open(probes).get("/health/ready");
    while ready.status != 503 {
        assert!(std::time::Instant::now() < deadline, "the server does not stop");
        std::thread::sleep(Duration::from_millis(20));
        ready = Connection::open(probes).get("/health/ready");
    }
    assert_eq!(ready.json()["status"], "draining");
    check(probes, &get("/health/live", "a"), 200);
    assert_eq!(waiting.reply().status, 200);
    assert_eq!(server.end().code, Some(0));
}

/// The command with these arguments and variables.
fn health(folder: &std::path::Path, arguments: &[&str], environment: &[(&str, &str)]) -> Ended {
    let mut command = trunkline(folder);
    run(command.arg("health").args(arguments).envs(environment.iter().copied()))
}

#[track_caller]
fn check_health(ended: &Ended, code: i32, part: &str) {
    assert_eq!(ended.code, Some(code), "{ended:?}");
    let text = if code == 0 { &ended.stdout } else { &ended.stderr };
    assert!(text.contains(part) && text.lines().count() == 1, "{part}: {ended:?}");
    assert!(ended.took < Duration::from_secs(10), "{ended:?}");
}

#[test]
fn the_health_command_finds_the_configured_server() {
    let (folder, path) = tpch();
    let (server, probes) = server(folder.path());
    let [calls, probes] = [server.address, probes].map(|address| address.to_string());
    let all = format!("0.0.0.0:{}", server.address.port());
    let port = server.address.port().to_string();
    let url = |path: &str| format!("http://{calls}{path}");
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    for (arguments, environment) in [
        (&[][..], &[("TRUNKLINE_LISTEN", &*calls)][..]),
        (&[], &[("TRUNKLINE_LISTEN", &*all)]),
        (&[], &[("TRUNKLINE_LISTEN", &*free), ("TRUNKLINE_HEALTH_LISTEN", &*probes)]),
        (&[], &[("TRUNKLINE_LISTEN", &*calls), ("TRUNKLINE_HEALTH_LISTEN", "")]),
        (&["--listen", &calls], &[]),
        (&["--port", &port], &[]),
        (&["--health-listen", &probes], &[("TRUNKLINE_TLS_CERT", "cert.pem")]),
        (&[&calls], &[]),
        (&[&url("")], &[]),
        (&[&url("/health/ready")], &[]),
    ] {
        check_health(&health(folder.path(), arguments, environment), 0, ": ready\n");
    }
    check_health(&health(folder.path(), &[&url("/health")], &[]), 0, ": healthy\n");
    check_health(&health(folder.path(), &["--live", &calls], &[]), 0, ": alive\n");
    let text = format!("server.listen = '{free}'\nserver.health_listen = '{probes}'\n");
    fs::write(folder.path().join("trunkline.toml"), text).unwrap();
    check_health(&health(folder.path(), &[], &[]), 0, ": ready\n");

    fs::rename(&path, folder.path().join("away.db")).unwrap();
    std::thread::sleep(Duration::from_millis(1_100));
    check_health(&health(folder.path(), &[], &[]), 1, "not ready: database: ");
    check_health(&health(folder.path(), &["--live"], &[]), 0, ": alive\n");
}

/// The certificate need not name the address, nor be valid for other clients.
#[test]
fn the_health_command_expects_the_certificate_of_the_server() {
    let (folder, _) = tpch();
    let path = |name: &str| folder.path().join(name);
    let write = |name: &str, has_ended: bool| {
        let key = KeyPair::generate().unwrap();
        let mut certificate = CertificateParams::new(vec!["tools.example".to_owned()]).unwrap();
        if has_ended {
            certificate.not_after = rcgen::date_time_ymd(2020, 1, 1);
        }
        let certificate = certificate.self_signed(&key).unwrap();
        fs::write(path(&format!("{name}.pem")), certificate.pem()).unwrap();
        fs::write(path(&format!("{name}.key")), key.serialize_pem()).unwrap();
    };
    write("a", false);
    write("b", true);
    let server = |name: &str| {
        let mut command = trunkline(folder.path());
        let files = [format!("{name}.pem"), format!("{name}.key")];
        command.args(["serve", "--db", "tpch.db", "--port", "0"]);
        command.args(["--tls-cert", &files[0], "--tls-key", &files[1]]);
        Server::start(command)
    };
    for name in ["a", "b"] {
        let server = server(name);
        let port = server.address.port().to_string();
        let all = format!("0.0.0.0:{port}");
        let file = format!("{name}.pem");
        let other = if name == "a" { "b.pem" } else { "a.pem" };
        let own = |arguments: &[&str], variables: &[(&str, &str)]| {
            let mut all = variables.to_vec();
            all.push(("TRUNKLINE_TLS_CERT", &file));
            health(folder.path(), arguments, &all)
        };
        check_health(&own(&["--port", &port], &[]), 0, ": ready\n");
        check_health(&own(&["--port", &port, "--live"], &[]), 0, ": alive\n");
        check_health(&own(&[], &[("TRUNKLINE_LISTEN", &*all)]), 0, ": ready\n");
        let arguments = ["--port", &port, "--tls-cert", other, "--timeout-ms", "700"];
        check_health(&health(folder.path(), &arguments, &[]), 1, "another certificate");
        // The certificate is not trusted for a URL.
        let url = format!("https://127.0.0.1:{port}");
        check_health(&own(&[&url], &[]), 1, "cannot connect");
        let text = format!("[server]\nlisten = '127.0.0.1:{port}'\ntls.cert = '{file}'\n");
        fs::write(path("trunkline.toml"), text + &format!("tls.key = '{name}.key'\n")).unwrap();
        check_health(&health(folder.path(), &[], &[]), 0, ": ready\n");
        fs::remove_file(path("trunkline.toml")).unwrap();
        drop(server);
    }

    // A file that is replaced meanwhile.
    let server = server("a");
    let port = server.address.port().to_string();
    write("a", false);
    let arguments = ["--port", &port, "--tls-cert", "a.pem", "--timeout-ms", "9s"];
    check_health(&health(folder.path(), &arguments, &[]), 0, ": ready\n");
}

#[test]
fn the_health_command_reports_a_server_that_does_not_answer() {
    let (folder, _) = tpch();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let server = Server::of(&folder.path().join("tpch.db"));
    let missing = format!("http://{}/none", server.address);
    for (arguments, part) in [
        (&[&*address, "--timeout-ms", "300ms"][..], "no answer within 300 ms"),
        (&[&free], "cannot connect"),
        (&["--listen", &free], "cannot connect"),
        (&[&missing], "HTTP status 404, and no health page"),
        (&["--port", "0"], "the system chooses the port of 127.0.0.1:0"),
        (&["--tls-cert", "cert.pem"], "cannot read the certificate cert.pem: "),
        (&["--tls-cert", "tpch.db"], "cannot read the certificate tpch.db: no certificate"),
    ] {
        check_health(&health(folder.path(), arguments, &[]), 1, part);
    }
    let ended = health(folder.path(), &["--port", "80", "--timeout-ms", "0"], &[]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
}
