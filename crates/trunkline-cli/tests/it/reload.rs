//! SIGHUP and `POST /admin/reload`: changes of the configuration without a restart.

use std::fs::{self, OpenOptions};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};

use crate::roles::{DATABASES, bearer, folder, serve};
use crate::support::{Connection, PATIENCE, Reply, Server, in_session, post, run, trunkline};

const TOKENS: &str = "[access.tokens]\nreader = { file = 'reader' }\nadmin = { file = 'admin' }\n";

fn rpc(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

fn write(folder: &Path, config: &str) {
    fs::write(folder.join("trunkline.toml"), config).unwrap();
}

/// Reloads the server over HTTP.
fn reload(server: &Server, token: &str) -> Reply {
    server.connect().ask(&post("/admin/reload", &[&bearer(token)], &json!({})))
}

#[track_caller]
fn reloaded(server: &Server, token: &str, applied: &[&str], restart: &[&str]) {
    let reply = reload(server, token);
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(reply.json(), json!({"applied": applied, "restart": restart}));
}

fn status(server: &Server, token: &str, method: &str, params: &Value) -> u16 {
    server.connect().ask(&post("/", &[&bearer(token)], &rpc(method, params))).status
}

fn lists(server: &Server, token: &str) -> u16 {
    status(server, token, "db.list_tables", &json!({}))
}

#[track_caller]
fn until(mut is_true: impl FnMut() -> bool) {
    let deadline = Instant::now() + 2 * PATIENCE;
    while !is_true() {
        assert!(Instant::now() < deadline, "the condition is never met");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn metric(server: &Server, token: &str, name: &str) -> i64 {
    let head = "GET /metrics HTTP/1.1\r\nHost: localhost";
    let reply = server.connect().ask(&format!("{head}\r\n{}\r\n\r\n", bearer(token)));
    let text = String::from_utf8(reply.body).unwrap();
    let value = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
    value.unwrap_or_else(|| panic!("{text}")).parse().unwrap()
}

const SUCCESS: &str = "trunkline_config_last_reload_successful";

#[test]
fn sighup_changes_tokens_and_roles() {
    let folder = folder(&format!("{TOKENS}{DATABASES}"));
    let server = serve(folder.path(), &[]);
    assert_eq!(["reader", "clerk"].map(|token| lists(&server, token)), [200, 401]);

    // Another token, and none for the reader.
    let tokens = "[access.tokens]\nclerk = { file = 'clerk' }\nadmin = { file = 'admin' }\n";
    write(folder.path(), &format!("{tokens}{DATABASES}"));
    server.signal("HUP");
    until(|| lists(&server, "clerk") == 200);
    assert_eq!(lists(&server, "reader"), 401);

    // The content of a secret.
    fs::write(folder.path().join("clerk"), "changed").unwrap();
    server.signal("HUP");
    until(|| lists(&server, "changed") == 200);
    assert_eq!(lists(&server, "clerk"), 401);

    // A role, which also limits the rate.
    let roles =
        "[roles.some]\noperations = ['db.list_tables']\ntokens = ['clerk']\nrate_limit = 1\n";
    let admin = "[roles.admin]\noperations = ['*']\ntokens = ['admin']\n";
    write(folder.path(), &format!("{tokens}{roles}{admin}{DATABASES}"));
    server.signal("HUP");
    until(|| status(&server, "changed", "db.list_databases", &json!({})) == 403);
    until(|| lists(&server, "changed") == 429);
    assert_eq!(lists(&server, "admin"), 200);
    assert_eq!(metric(&server, "admin", SUCCESS), 1);
    let ended = server.stop();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.stderr.matches("configuration reloaded").count(), 3, "{}", ended.stderr);
}

#[test]
fn a_mistake_changes_nothing() {
    let folder = folder(&format!("{TOKENS}{DATABASES}"));
    let server = serve(folder.path(), &[]);
    for (config, expected) in [
        ("[access.tokens]\nclerk = { file = 'missing' }\n[server]\nlisen = ''\n", "lisen"),
        (
            "[roles.one]\noperations = ['db.lits_tables']\n[access.tokens]\nclerk = { file = 'clerk' }\n",
            "did you mean `db.list_tables`?",
        ),
        (
            "[roles.one]\noperations = ['*']\ndatabases = ['hrr']\n[access.tokens]\nclerk = { file = 'clerk' }\n",
            "unknown database `hrr`",
        ),
        (
            "[access.tokens]\nclerk = { file = 'clerk' }\n[access]\njwks = 'missing.json'\naudiences = ['*']\n",
            "missing.json",
        ),
        (
            "[access.tokens]\nclerk = { file = 'clerk' }\n[queries.bad]\nsql = 'SELECT x FROM nothing'\n",
            "bad",
        ),
        // It applies to the next start only.
        (
            "[access.tokens]\nclerk = { file = 'clerk' }\n[agent]\nurl = 'h'\nmodel = 'm'\n",
            "invalid --agent-url",
        ),
        ("", "restart the server"),
    ] {
        write(folder.path(), &format!("{config}{DATABASES}"));
        let reply = reload(&server, "admin");
        assert_eq!(reply.status, 400, "{config}: {reply:?}");
        let error = reply.json()["error"].as_str().unwrap().to_owned();
        assert!(error.contains(expected), "{config}: {error}");
        if config.contains("lisen") {
            let checked = run(trunkline(folder.path()).args(["config", "check"]));
            assert_eq!(checked.stderr, format!("trunkline: {error}\n"));
        }
        assert_eq!(["reader", "clerk"].map(|token| lists(&server, token)), [200, 401], "{config}");
        let health = server.connect().get("/health").json();
        assert_eq!(health["status"], "degraded", "{health}");
        assert_eq!(health["problems"][0]["component"], "configuration", "{health}");
        assert_eq!(metric(&server, "admin", SUCCESS), 0);
    }
    fs::remove_file(folder.path().join("trunkline.toml")).unwrap();
    let reply = reload(&server, "admin");
    assert_eq!(reply.json(), json!({"error": "trunkline.toml does not exist any more"}));
    fs::create_dir(folder.path().join("trunkline.toml")).unwrap();
    let reply = reload(&server, "admin");
    let error = "cannot read the configuration file trunkline.toml: not a regular file";
    assert_eq!(reply.json(), json!({ "error": error }));
    fs::remove_dir(folder.path().join("trunkline.toml")).unwrap();
    write(folder.path(), &format!("{TOKENS}{DATABASES}"));
    reloaded(&server, "admin", &[], &[]);
    assert_eq!(server.connect().get("/health").json()["status"], "healthy");
    let ended = server.stop();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("unknown key `server.lisen`"), "{}", ended.stderr);
}

#[test]
fn changed_keys_are_reported() {
    let folder = folder(&format!("{TOKENS}{DATABASES}"));
    // A flag takes precedence over the file.
    let server = serve(folder.path(), &["--max-body", "2000"]);
    let changed = "\
[server]
allow_hosts = ['db.example']
limits = { body = 3000, rows = 7, calls_per_second = 100000 }
[agent]
deny = ['db.create_table']
[history]
redact = ['query']
[queries.more]
sql = 'SELECT 7'
[upstreams.docs]
url = 'https://docs.example'
";
    let databases = DATABASES.replacen("writable = true", "writable = false", 1);
    write(folder.path(), &format!("{TOKENS}{changed}{databases}"));
    let restart = ["agent.deny", "databases.hr", "server.limits.rows", "upstreams.docs"];
    let applied =
        ["history.redact", "queries.more", "server.allow_hosts", "server.limits.calls_per_second"];
    reloaded(&server, "admin", &applied, &restart);
    reloaded(&server, "admin", &[], &restart);
    let request = post("/", &[&bearer("reader")], &rpc("queries.more", &json!({})));
    let request = request.replace("Host: localhost", "Host: db.example");
    let reply = server.connect().ask(&request);
    assert_eq!(reply.json()["result"]["rows"], json!([[7]]), "{reply:?}");
    let secret = json!({"query": "SELECT 'visible'"});
    assert_eq!(status(&server, "reader", "db.execute_raw_query", &secret), 200);
    let head = "GET /history?limit=1 HTTP/1.1\r\nHost: localhost";
    let history = server.connect().ask(&format!("{head}\r\n{}\r\n\r\n", bearer("reader")));
    let entry = &history.json()["entries"][0];
    assert_eq!(entry["method"], "db.execute_raw_query", "{entry}");
    assert!(!entry["request"].to_string().contains("visible"), "{entry}");
    let large = json!({"query": "x".repeat(2_500)});
    assert_eq!(status(&server, "reader", "db.execute_raw_query", &large), 413);
    write(folder.path(), &format!("{TOKENS}{DATABASES}"));
    reloaded(&server, "admin", &applied, &[]);
    let reply = server.connect().ask(&request);
    assert_eq!(reply.status, 403, "{reply:?}");
}

#[test]
fn only_permitted_callers_reload() {
    let config = "\
[roles.operator]
tokens = ['reader']
operations = ['admin.reload']
[roles.user]
tokens = ['clerk']
operations = ['db.*']
[access.tokens]
reader = { file = 'reader' }
clerk = { file = 'clerk' }
";
    let folder = folder(&format!("{config}{DATABASES}"));
    let server = serve(folder.path(), &[]);
    for (token, expected) in [("reader", 200), ("clerk", 403), ("other", 401)] {
        assert_eq!(reload(&server, token).status, expected, "{token}");
    }
    let get =
        format!("GET /admin/reload HTTP/1.1\r\nHost: localhost\r\n{}\r\n\r\n", bearer("reader"));
    assert_eq!(server.connect().ask(&get).status, 405);
    drop(server);

    write(folder.path(), DATABASES);
    let server = serve(folder.path(), &[]);
    assert_eq!(server.connect().ask(&post("/admin/reload", &[], &json!({}))).status, 200);
    let foreign = post("/admin/reload", &["Origin: https://elsewhere.example"], &json!({}));
    assert_eq!(server.connect().ask(&foreign).status, 403);
}

/// A session of the first era, and its event stream.
#[test]
fn mcp_sessions_and_connections_survive() {
    const BOTH: &str = "Accept: application/json, text/event-stream";
    let folder = folder(&format!("{TOKENS}{DATABASES}"));
    let server = serve(folder.path(), &[]);
    let token = bearer("reader");
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    let mut connection = server.connect();
    let opened = connection.ask(&post("/mcp", &[BOTH, &token], &rpc("initialize", &params)));
    let session = format!("Mcp-Session-Id: {}", opened.header("mcp-session-id").unwrap());
    let mut events = server.connect();
    let head = "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream";
    events.send(&format!("{head}\r\n{token}\r\n{session}\r\n\r\n"));
    let tools = |connection: &mut Connection| {
        let list = rpc("tools/list", &json!({}));
        let reply = connection.ask(&post("/mcp", &[BOTH, &token, &session], &list)).json();
        let tools =
            reply["result"]["tools"].as_array().unwrap_or_else(|| panic!("{reply}")).clone();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(tools(&mut connection).contains(&"insert_record".to_owned()));
    let role = "[roles.reader]\ntokens = ['reader']\noperations = ['db.list_tables', 'queries.*']\n\
        [roles.admin]\ntokens = ['admin']\noperations = ['*']\n";
    let query = "[queries.added]\nsql = 'SELECT 1'\n";
    write(folder.path(), &format!("{TOKENS}{role}{query}{DATABASES}"));
    reloaded(&server, "admin", &["queries.added", "roles.admin", "roles.reader"], &[]);
    let deadline = Instant::now() + PATIENCE;
    while !events.line().contains("notifications/tools/list_changed") {
        assert!(Instant::now() < deadline, "no notification");
    }
    let mut found = tools(&mut connection);
    found.sort();
    assert_eq!(found, ["added", "items", "list_tables", "staff"]);
}

#[test]
fn a_renewed_certificate_is_used() {
    let folder =
        folder("[server.tls]\ncert = 'cert.pem'\nkey = 'key.pem'\n[databases.hr]\nurl = 'hr.db'\n");
    let renew = |name: &str| {
        let certified = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
        fs::write(folder.path().join("cert.pem"), certified.cert.pem()).unwrap();
        fs::write(folder.path().join("key.pem"), certified.signing_key.serialize_pem()).unwrap();
        certified.cert.pem()
    };
    let first = renew("localhost");
    let server = serve(folder.path(), &[]);
    let lists = |certificate: &str| {
        fs::write(folder.path().join("trusted.pem"), certificate).unwrap();
        let url = format!("https://localhost:{}/", server.address.port());
        let mut call = trunkline(folder.path());
        call.env("SSL_CERT_FILE", "trusted.pem").env_remove("SSL_CERT_DIR");
        run(call.args(["call", &url, "db.list_tables"])).code == Some(0)
    };
    assert!(lists(&first));
    let second = renew("localhost");
    server.signal("HUP");
    until(|| lists(&second));
    assert!(!lists(&first));
}

/// Only changed queries are compiled, which requires a free reader of their database.
#[test]
fn roles_change_while_a_database_is_busy() {
    let folder = folder(DATABASES);
    let server = serve(folder.path(), &[]);
    let slow =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
    let slow = rpc("db.execute_raw_query", &json!({"query": slow}));
    let _running: Vec<_> = (0..32)
        .map(|_| {
            let mut connection = server.connect();
            connection.send(&post("/", &[], &slow));
            connection
        })
        .collect();
    server.until_all_readers_run();
    let role = "[roles.all]\noperations = ['admin.reload']\n";
    write(folder.path(), &format!("{role}{DATABASES}"));
    let reload = || server.connect().ask(&post("/admin/reload", &[], &json!({})));
    assert_eq!(reload().json(), json!({"applied": ["roles.all"], "restart": []}));
    assert_eq!(server.post(&rpc("db.list_tables", &json!({}))).status, 403);
    // All queries are compiled with a new one.
    let query = "[queries.more]\nsql = 'SELECT x FROM nothing'\n";
    write(folder.path(), &format!("{query}{DATABASES}"));
    assert_eq!(reload().status, 400);
    assert_eq!(server.post(&rpc("db.list_tables", &json!({}))).status, 403);
}

#[test]
fn waiting_requests_do_not_delay_the_shutdown() {
    let folder = folder(&format!("{TOKENS}{DATABASES}"));
    let server = serve(folder.path(), &[]);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let keys =
        format!("[access]\njwks = 'http://{}'\naudiences = ['*']\n", silent.local_addr().unwrap());
    write(folder.path(), &format!("{keys}{TOKENS}{DATABASES}"));
    let mut connections = [server.connect(), server.connect()];
    for connection in &mut connections {
        assert_eq!(connection.get("/health").status, 200);
        connection.send(&post("/admin/reload", &[&bearer("admin")], &json!({})));
    }
    // The first request waits for the keys, and the second one for the first.
    let _keys = silent.accept().unwrap();
    // With the request for the metrics.
    until(|| metric(&server, "admin", "trunkline_requests_running") >= 3);
    let ended = server.stop();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for connection in &mut connections {
        let status = connection.reply().status;
        assert!([400, 503].contains(&status), "{status}");
    }
}

/// The file is read for the value of the setting, and to find changes.
#[test]
fn each_readable_secret_has_one_warning() {
    let config = format!("{TOKENS}[databases.hr]\nurl = {{ file = 'url' }}\n");
    let folder = folder(&config);
    let url = folder.path().join("url");
    fs::write(&url, "hr.db").unwrap();
    fs::set_permissions(&url, PermissionsExt::from_mode(0o644)).unwrap();
    for token in ["reader", "admin"] {
        fs::set_permissions(folder.path().join(token), PermissionsExt::from_mode(0o600)).unwrap();
    }
    let server = serve(folder.path(), &[]);
    reloaded(&server, "admin", &[], &[]);
    let ended = server.stop();
    let count = ended.stderr.matches("can read url, which contains a secret").count();
    assert_eq!(count, 2, "at the start and after the reload: {}", ended.stderr);
}

/// SIGHUP of a closed terminal ends the server, like that of other programs.
#[test]
fn closing_the_terminal_stops_the_server() {
    let folder = folder("[databases.hr]\nurl = 'hr.db'\n");
    let (master, name) = pseudoterminal();
    let no_tty = i32::try_from(OpenptFlags::NOCTTY.bits()).unwrap();
    let slave = OpenOptions::new().read(true).write(true).custom_flags(no_tty).open(&name);
    let mut serve = trunkline(folder.path());
    serve.args(["--listen", "127.0.0.1:0"]);
    let mut serve = in_session(&serve);
    serve.stdin(slave.unwrap()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let server = Server::start(serve);
    server.signal("HUP");
    drop(master);
    let ended = server.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// The terminal is that of the log alone.
#[test]
fn closing_the_terminal_of_stderr_stops_the_server() {
    let folder = folder("[databases.hr]\nurl = 'hr.db'\n");
    let (master, name) = pseudoterminal();
    let serve = trunkline(folder.path());
    let script = format!("exec \"$0\" --listen 127.0.0.1:0 2>{name}");
    let program = serve.get_program().to_owned();
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).arg(program).current_dir(folder.path());
    shell.stdin(Stdio::null()).stdout(Stdio::piped());
    let server = Server::start(shell);
    drop(master);
    server.signal("HUP");
    let ended = server.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// Its first side, and the path of the other one.
fn pseudoterminal() -> (OwnedFd, String) {
    // The server must not inherit it.
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    (master, name)
}
