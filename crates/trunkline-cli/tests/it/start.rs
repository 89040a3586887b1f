//! From the command to the first reply.

use std::fs::{self, File, OpenOptions};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Server, files, mismatch, post, tpch, trunkline};

const VERSION: &str = env!("CARGO_PKG_VERSION");

#[test]
fn the_banner_says_what_is_served_and_how_to_try_it() {
    for (name, arguments) in [("serve", &["serve", "--sample"][..]), ("bare", &["--sample"])] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = trunkline(folder.path());
        command.args(arguments).args(["--listen", "127.0.0.1:0"]);
        let mut server = Server::start(command);
        let banner = server.banner();
        let expected = [
            "filled trunkline.db with a TPC-H sample".to_owned(),
            format!("trunkline {VERSION}"),
            "  serving   trunkline.db (read-only)".to_owned(),
            "  resources todo  (records in ".to_owned(),
            format!(
                "  listening http://{}  \
                 (POST /, /rpc, /jsonrpc: JSON-RPC; POST /execute, /repeat, /revert, GET /forms: commands; POST /api: agent; \
                 /mcp, GET /sse: MCP; GET /health, /ping, /metrics, /openrpc.json, /history)",
                server.address
            ),
            "  methods   db.list_tables, db.describe_table, db.query_records, db.execute_raw_query"
                .to_owned(),
        ];
        for (line, expected) in banner.lines().zip(&expected) {
            assert!(line.starts_with(expected), "{name}: {line:?} is not {expected:?}");
        }
        let reply = as_curl_would(&server, &banner);
        let tables = reply["result"]["tables"].as_array().unwrap_or_else(|| panic!("{reply}"));
        assert_eq!(tables.len(), 8, "{name}");
        assert_eq!(server.stop().code, Some(0), "{name}");
        assert_eq!(files(folder.path()).into_keys().collect::<Vec<_>>(), ["trunkline.db"]);
    }
}

/// It stays as long as a person reads, however many there are.
#[test]
fn the_banner_of_many_resources() {
    let folder = tempfile::tempdir().unwrap();
    let name = |index: usize| format!("type_{index}");
    let types = (0..25)
        .map(|index| format!("[resources.{}.fields]\na = {{ type = \"string\" }}\n", name(index)));
    fs::write(folder.path().join("types.toml"), types.collect::<String>()).unwrap();
    let mut command = trunkline(folder.path());
    command.args(["--listen", "127.0.0.1:0", "--resources", "types.toml", "--expose", "type_1"]);
    command.args(["--data-dir", "data"]);
    let banner = Server::start(command).banner();
    let shown = (0..20).map(name).collect::<Vec<_>>().join(", ").replace("type_1,", "type_1*,");
    let line = format!("  resources {shown} and 5 more  (records in data; * are tools of MCP)\n");
    assert!(banner.contains(&line), "{line} in {banner}");
    let methods = "rpc.discover, RESOURCE.{create,read,update,delete,list,filter,status,revert}\n";
    assert!(banner.contains(methods), "{banner}");
    assert!(banner.lines().all(|line| line.len() < 300), "{banner}");
}

#[test]
fn with_a_token_the_line_to_try_shows_where_it_goes() {
    let (folder, _) = tpch();
    let mut command = trunkline(folder.path());
    command.args(["--listen", "127.0.0.1:0", "--db", "tpch.db", "--bearer", "t0ken"]);
    let mut server = Server::start(command);
    let banner = server.banner();
    assert!(!banner.contains("t0ken"), "{banner}");
    let reply = as_curl_would(&server, &banner.replace("TOKEN", "t0ken"));
    assert_eq!(mismatch(&reply, &json!({"result": {}})), None);
}

/// Sends the request of the banner's curl line, which a shell takes apart as it would for curl.
/// (The machine that runs this need not have curl.)
#[track_caller]
fn as_curl_would(server: &Server, banner: &str) -> Value {
    let line = banner.find("curl ").map(|start| &banner[start..]).unwrap();
    let script = format!("curl() {{ printf '%s\\0' \"$@\"; }}\n{line}");
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let arguments = String::from_utf8(output.stdout).unwrap();
    let mut arguments = arguments.trim_end_matches('\0').split('\0');

    let (mut headers, mut body, mut url) = (Vec::new(), None, None);
    while let Some(argument) = arguments.next() {
        match argument {
            "-s" => {}
            "-H" => headers.push(arguments.next().unwrap()),
            "-d" => body = arguments.next(),
            _ => assert_eq!(url.replace(argument), None, "{line}"),
        }
    }
    let body = body.unwrap();
    let path = url.unwrap().strip_prefix(&format!("http://{}", server.address)).unwrap();
    let headers = headers.join("\r\n");
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {}\r\n{headers}\r\nContent-Length: {}\r\n\r\n{body}",
        server.address,
        body.len()
    );
    let reply = server.connect().ask(&request);
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json")));
    reply.json()
}

#[test]
fn paths() {
    let (_folder, path) = tpch();
    let server = Server::of(&path);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "db.list_tables"});
    let rows = [
        ("POST", "/", 200),
        ("POST", "/rpc", 200),
        ("POST", "/jsonrpc", 200),
        ("POST", "/rpc?a=b", 200),
        ("POST", "/rpc/", 404),
        ("POST", "/mcp", 200),
        ("GET", "/mcp", 405),
        ("DELETE", "/mcp", 405),
        ("POST", "/sse", 405),
        ("POST", "/messages", 404),
        ("POST", "/mcp/v1/tools/list", 404),
        ("GET", "/mcp/v1/tools/list", 404),
        ("GET", "/", 405),
        ("GET", "/rpc", 405),
        ("DELETE", "/jsonrpc", 405),
        ("POST", "/health", 404),
    ];
    for (method, path, status) in rows {
        let request = post(path, &[], &call).replacen("POST", method, 1);
        let reply = server.connect().ask(&request);
        assert_eq!(reply.status, status, "{method} {path}");
        let part = if status == 200 { "result" } else { "error" };
        assert!(reply.json()[part].is_object(), "{method} {path}: {}", reply.json());
    }
}

#[test]
fn health() {
    let (_folder, path) = tpch();
    let server = Server::of(&path);
    let reply = server.connect().get("/health");
    let expected = json!({"status": "healthy", "service": "trunkline", "version": VERSION});
    assert_eq!((reply.status, reply.json()), (200, expected));
    assert_eq!(reply.header("content-type"), Some("application/json"));
}

#[test]
fn a_sample_takes_the_place_of_nothing_only() {
    let sample = "filled trunkline.db with a TPC-H sample";
    let kept = "trunkline.db already has content and is served unchanged";
    let rows: [(&str, Option<&str>, bool, &str, usize); 5] = [
        ("no file, sample", None, true, sample, 8),
        ("no file", None, false, "created trunkline.db, which is empty", 0),
        ("empty file, sample", Some(""), true, sample, 8),
        ("a table, sample", Some("CREATE TABLE t(a); INSERT INTO t VALUES (1)"), true, kept, 1),
        ("a table", Some("CREATE TABLE t(a)"), false, "trunkline ", 1),
    ];
    for (name, content, with_sample, first_line, tables) in rows {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trunkline.db");
        match content {
            None => {}
            Some("") => drop(File::create(&path).unwrap()),
            Some(sql) => rusqlite::Connection::open(&path).unwrap().execute_batch(sql).unwrap(),
        }
        let before = fs::read(&path).ok().filter(|bytes| !bytes.is_empty());
        let mut command = trunkline(folder.path());
        command.args(["--listen", "127.0.0.1:0"]).args(with_sample.then_some("--sample"));
        let mut server = Server::start(command);

        let banner = server.banner();
        assert!(banner.starts_with(first_line), "{name}: {banner}");
        let list = server.call("db.list_tables", &json!({}));
        assert_eq!(list["result"]["tables"].as_array().unwrap().len(), tables, "{name}");
        assert_eq!(server.stop().code, Some(0), "{name}");
        if before.is_some() {
            assert!(fs::read(&path).ok() == before, "{name}: the file changed");
        }
        assert_eq!(files(folder.path()).len(), 1, "{name}: the file alone");
    }
}

/// `trunkline | head -1`, a full disk, a terminal that was closed.
#[test]
fn it_serves_although_nobody_hears_it() {
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    let (folder, _) = tpch();
    let command = || {
        let mut command = trunkline(folder.path());
        command.args(["--listen", "127.0.0.1:0", "--db", "tpch.db"]);
        command
    };

    let mut deaf_stdout = command();
    deaf_stdout.stdout(full());
    let server = Server::start_unheard(deaf_stdout);
    assert_eq!(server.sql(&json!({"query": "SELECT 1"})), Ok(json!([[1]])), "no stdout");
    let ended = server.stop();
    assert_eq!(ended.code, Some(0), "{ended:?}");

    let mut deaf_stderr = command();
    deaf_stderr.stderr(full()).env("RUST_LOG", "trace");
    let server = Server::start(deaf_stderr);
    assert_eq!(server.sql(&json!({"query": "SELECT 1"})), Ok(json!([[1]])), "no stderr");
    let ended = server.stop();
    assert_eq!(ended.code, Some(0), "{ended:?}");

    let mut wrong = trunkline(folder.path());
    wrong.args(["--db", "none.db"]).stdout(Stdio::null()).stderr(full());
    assert_eq!(wrong.status().unwrap().code(), Some(1), "an error that nobody hears");
}
