//! The start of a server: the banner, the page, and the files that it creates.

use std::fs::{self, File, OpenOptions};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Server, files, mismatch, post, tpch, trunkline};

const VERSION: &str = env!("CARGO_PKG_VERSION");

#[test]
fn banner_shows_what_is_served_and_how_to_call_it() {
    for (name, arguments) in [("serve", &["serve", "--sample"][..]), ("bare", &["--sample"])] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = trunkline(folder.path());
        command.args(arguments).args(["--listen", "127.0.0.1:0", "--data-dir", "data"]);
        let mut server = Server::start(command);
        let banner = server.banner();
        let address = server.address;
        let expected = [
            "filled trunkline.db with a TPC-H sample".to_owned(),
            format!("trunkline {VERSION}"),
            "  serving   trunkline.db (read-only)".to_owned(),
            format!("  listening http://{address}"),
            format!("  console   http://{address}/console"),
            "  records   on, todo, in data".to_owned(),
            "  history   on, last 1000 calls in memory; no log files (on with --log)".to_owned(),
            "  access    no token required, from this machine only".to_owned(),
            String::new(),
            format!(
                "  curl -s http://{address}/ -H 'Content-Type: application/json' \
                 -d '{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"db.list_tables\"}}'"
            ),
            format!("  claude mcp add --transport http trunkline http://{address}/mcp"),
        ];
        assert_eq!(banner.lines().collect::<Vec<_>>(), expected, "{name}");
        let reply = as_curl_would(&server, &banner);
        let tables = reply["result"]["tables"].as_array().unwrap_or_else(|| panic!("{reply}"));
        assert_eq!(tables.len(), 8, "{name}");
        assert_eq!(server.stop().code, Some(0), "{name}");
        assert_eq!(files(folder.path()).into_keys().collect::<Vec<_>>(), ["trunkline.db"]);
    }
}

/// A read-only server of a file serves nothing else, and creates nothing.
#[test]
fn a_file_alone() {
    let rows: [&[&str]; 4] =
        [&["tpch.db"], &["serve", "tpch.db"], &["serve", "--db", "tpch.db"], &["./tpch.db"]];
    for arguments in rows {
        let (folder, _) = tpch();
        let mut command = trunkline(folder.path());
        command.args(arguments).args(["--port", "0"]);
        let mut server = Server::start_without_data_directory(command);
        let banner = server.banner();
        for line in [
            &format!("  serving   {} (read-only)\n", arguments.last().unwrap()),
            "  records   off (on with --records, --expose, --data-dir or --store)\n",
        ] {
            assert!(banner.contains(line), "{arguments:?}: {banner}");
        }
        let count = server.sql(&json!({"query": "SELECT count(*) FROM nation"}));
        assert_eq!(count, Ok(json!([[25]])), "{arguments:?}");
        let create = server.call("todo.create", &json!({"title": "a"}));
        assert_eq!(create["error"]["code"], -32601, "{arguments:?}: {create}");
        let native = json!({"command": "create", "resource": "todo", "payload": {"title": "a"}});
        let reply = server.connect().ask(&post("/execute", &[], &native));
        assert_eq!((reply.status, reply.json()["error"].is_string()), (404, true));
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": "agent.list_conversations"});
        let list = server.connect().ask(&post("/api", &[], &list)).json();
        assert_eq!(list["result"]["conversations"], json!([]), "{list}");
        assert_eq!(entries(folder.path()), ["tpch.db"], "{arguments:?}, while it runs");
        assert_eq!(server.stop().code, Some(0), "{arguments:?}");
        assert_eq!(entries(folder.path()), ["tpch.db"], "{arguments:?}");
    }
}

/// The flags that turn records on, none of which creates their store.
#[test]
fn the_first_record_creates_the_store() {
    let types = "[records.note.fields]\na = { type = \"string\" }\n";
    let rows: [(&[&str], &str, &str); 4] = [
        (&["--sample"], "todo", ".trunkline/"),
        (&["--records", "types.toml"], "note", ".trunkline/"),
        (&["--expose", "todo"], "todo", ".trunkline/"),
        (&["--data-dir", "a/b"], "todo", "a/"),
    ];
    for (arguments, kind, directory) in rows {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("types.toml"), types).unwrap();
        let mut command = trunkline(folder.path());
        command.args(["--port", "0"]).args(arguments);
        let server = Server::start_without_data_directory(command);
        let list = server.call(&format!("{kind}.list"), &json!({}));
        assert_eq!(list["result"]["items"], json!([]), "{arguments:?}: {list}");
        assert_eq!(server.connect().get("/health").json()["status"], "healthy");
        let before = entries(folder.path());
        assert!(!before.contains(&directory.to_owned()), "{arguments:?}: {before:?}");
        let field = if kind == "todo" { "title" } else { "a" };
        let create = server.call(&format!("{kind}.create"), &json!({ field: "x" }));
        assert_eq!(create["result"][field], "x", "{arguments:?}: {create}");
        assert!(entries(folder.path()).contains(&directory.to_owned()), "{arguments:?}");
        let list = server.call(&format!("{kind}.list"), &json!({}));
        assert_eq!(list["result"]["items"].as_array().unwrap().len(), 1, "{arguments:?}: {list}");
        assert_eq!(server.stop().code, Some(0), "{arguments:?}");
    }
}

/// The names of the files and folders in a directory; a folder's ends with a slash.
fn entries(folder: &Path) -> Vec<String> {
    files(folder).into_keys().collect()
}

/// The banner stays short with many types.
#[test]
fn the_banner_of_many_resources() {
    let folder = tempfile::tempdir().unwrap();
    let name = |index: usize| format!("type_{index}");
    let types = (0..25)
        .map(|index| format!("[records.{}.fields]\na = {{ type = \"string\" }}\n", name(index)));
    fs::write(folder.path().join("types.toml"), types.collect::<String>()).unwrap();
    let mut command = trunkline(folder.path());
    command.args(["--listen", "127.0.0.1:0", "--records", "types.toml", "--expose", "type_1"]);
    command.args(["--data-dir", "data"]);
    let banner = Server::start(command).banner();
    let shown = (0..10).map(name).collect::<Vec<_>>().join(", ").replace("type_1,", "type_1*,");
    let line = format!("  records   on, {shown} and 15 more (* MCP tools), in data\n");
    assert!(banner.contains(&line), "{line} in {banner}");
}

/// Browsers get a page at the paths of JSON-RPC; other clients the error for `GET`.
#[test]
fn page_for_browsers() {
    const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    let (folder, path) = tpch();
    let folder = folder.path().to_str().unwrap();
    let server = Server::of(&path);
    let get = |path: &str, accept: &str, host: &str| {
        let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept: {accept}\r\n\r\n");
        server.connect().ask(&head)
    };
    for path in ["/", "/rpc", "/jsonrpc"] {
        let reply = get(path, BROWSER, "localhost:1234");
        assert_eq!(
            (reply.status, reply.header("content-type")),
            (200, Some("text/html; charset=utf-8"))
        );
        let policy = reply.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
        let page = String::from_utf8(reply.body).unwrap();
        for part in ["tpch.db (read-only)", "http://localhost:1234/mcp", "db.list_tables"] {
            assert!(page.contains(part), "no {part} in {page}");
        }
        assert!(!page.contains("<script") && !page.contains(folder), "{page}");
        for accept in ["*/*", "application/json", "text/html;q=0, */*", "text/*"] {
            let reply = get(path, accept, "localhost");
            assert_eq!((reply.status, reply.header("allow")), (405, Some("POST")), "{accept}");
        }
    }
    assert_eq!(get("/", BROWSER, "rebound.example").status, 403, "the host is checked");
    assert_eq!(get("/nothing", BROWSER, "localhost").status, 404);

    let (folder, _) = tpch();
    let mut command = trunkline(folder.path());
    command.args(["tpch.db", "--port", "0", "--bearer", "t0ken"]);
    let server = Server::start(command);
    let head = "GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n";
    assert_eq!(server.connect().ask(&format!("{head}\r\n")).status, 401);
    let reply = server.connect().ask(&format!("{head}Authorization: Bearer t0ken\r\n\r\n"));
    let page = String::from_utf8(reply.body).unwrap();
    assert!(page.contains("Bearer TOKEN") && !page.contains("t0ken"), "{page}");
}

#[test]
fn with_a_token_the_curl_line_has_a_header() {
    let (folder, _) = tpch();
    let mut command = trunkline(folder.path());
    command.args(["--listen", "127.0.0.1:0", "--db", "tpch.db", "--bearer", "t0ken"]);
    let mut server = Server::start(command);
    let banner = server.banner();
    assert!(!banner.contains("t0ken"), "{banner}");
    let reply = as_curl_would(&server, &banner.replace("TOKEN", "t0ken"));
    assert_eq!(mismatch(&reply, &json!({"result": {}})), None);
}

/// Sends the request of the banner's curl line, which a shell splits as for curl. Does not require curl.
#[track_caller]
fn as_curl_would(server: &Server, banner: &str) -> Value {
    let line = banner.lines().find(|line| line.contains("curl ")).unwrap();
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
        ("POST", "/rpc/", 200),
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
        ("POST", "/health", 405),
        ("POST", "/health/live", 405),
        ("POST", "/health/ready", 405),
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
fn sample_fills_only_empty_databases() {
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
fn serves_without_a_working_stdout_or_stderr() {
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
    assert_eq!(wrong.status().unwrap().code(), Some(1), "an error with a full stderr");
}
