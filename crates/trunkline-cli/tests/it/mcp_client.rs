//! `trunkline tools`, `resources` and `prompts` with a server that uses what clients offer, and with child processes.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::call::{check, client};
use crate::call_peer::{Peer, http, json as json_answer};
use crate::support::{McpServer, PATIENCE, PICTURE, run, runs, tpch, trunkline};
use crate::tools::modern;

/// A name, arguments after the URL, the exit code, and parts of stdout and of stderr.
type Row<'r> = (&'r str, &'r [&'r str], i32, &'r [&'r str], &'r [&'r str]);

#[track_caller]
fn check_rows(command: &str, rows: &[Row<'_>]) {
    let server = McpServer::start();
    server.go_on.notify_one();
    for (name, arguments, code, stdout, stderr) in rows {
        let ended = client(&[&[command, &server.url], *arguments].concat());
        check(name, &ended, *code, stdout, stderr);
    }
}

#[test]
fn resources() {
    let counter = "test://counter     counter  text/plain              Changes.";
    let template = "template           name  type        description";
    let usage = ["For more information, try '--help'."];
    check_rows(
        "resources",
        &[
            ("list", &[], 0, &["uri  ", counter, "3 rows"], &[]),
            ("list", &["list", "--format", "csv"], 0, &["uri,name,type,size,desc"], &[]),
            ("list", &["--json"], 0, &["[{", "\"mimeType\":\"image/png\""], &[]),
            ("templates", &["templates"], 0, &[template, "test://items/{id}"], &[]),
            ("text", &["read", "test://items/7"], 0, &["item 7\n"], &[]),
            ("document", &["read", "test://rows"], 0, &["[{\"a\":1},{\"a\":2}]\n"], &[]),
            ("table", &["read", "test://rows", "--format", "csv"], 0, &["a\n1\n2\n"], &[]),
            ("json", &["read", "test://rows", "--json"], 0, &["\"contents\":[{"], &[]),
            (
                "bytes",
                &["read", "test://a/logo.png"],
                0,
                &["[test://a/logo.png, image/png, 20 bytes]\n"],
                &[],
            ),
            ("unknown", &["read", "test://nope"], 1, &[], &["error -32602"]),
            ("no URI", &["read"], 2, &[], &["missing URI after `read`", usage[0]]),
            ("no action", &["describe"], 2, &[], &["unknown action `describe`; use list"]),
            ("no resource", &["templates", "--watch"], 2, &[], &["--watch requires `read URI`"]),
            ("both", &["--", "true"], 2, &[], &["both the address `http://127.0.0.1:"]),
        ],
    );
}

#[test]
fn prompts() {
    let greeting = "user:\nGreet Ada \\u{1b}[2Jhostile\n\nassistant:\n[image/png, 20 bytes]\n";
    check_rows(
        "prompts",
        &[
            ("list", &[], 0, &["name   arguments  description", "greet  name*      Greets"], &[]),
            ("list", &["list", "--format", "ndjson"], 0, &["{\"name\":\"greet\","], &[]),
            ("get", &["get", "greet", "name=Ada"], 0, &[greeting], &[]),
            ("number", &["get", "greet", "name=42"], 0, &["Greet 42 "], &[]),
            ("object", &["get", "greet", r#"{"name":"Ada"}"#], 0, &[greeting], &[]),
            ("json", &["get", "greet", "name=Ada", "--json"], 0, &["\"messages\":["], &[]),
            ("no string", &["get", "greet", "name:=1"], 2, &[], &["must be strings"]),
            ("missing", &["get", "greet"], 1, &[], &["error -32602"]),
            ("unknown", &["get", "gret"], 1, &[], &["unknown prompt `gret`\n  try: greet\n"]),
            ("no name", &["get"], 2, &[], &["missing NAME after `get`"]),
            ("no action", &["greet"], 2, &[], &["unknown action `greet`; use list or get NAME"]),
        ],
    );
}

#[test]
fn tools() {
    let pictures = "Two:\n[image/png, 20 bytes]\n[audio/wav, 20 bytes]\n";
    let root = fs::canonicalize(".").unwrap();
    let root = format!("file://{}\n", root.display());
    check_rows(
        "tools",
        &[
            ("task", &["build"], 0, &["built\n"], &[]),
            ("content", &["pictures"], 0, &[pictures], &[]),
            ("verb", &["call", "pictures"], 0, &[pictures], &[]),
            ("a tool named call", &["call", "x=1"], 1, &[], &["unknown tool `call`"]),
            // Without a terminal, elicitation is not supported.
            ("form", &["form"], 1, &[], &["error -32021", "elicitation"]),
            ("URL", &["visit"], 1, &[], &["error -32021", "elicitation"]),
            ("no roots", &["roots"], 1, &[], &["error -32021", "roots"]),
            ("roots", &["roots", "--root", env!("CARGO_MANIFEST_DIR")], 0, &[&root], &[]),
            ("unknown root", &["roots", "--root", "/nope"], 2, &[], &["invalid --root /nope"]),
            ("level", &["--log-level", "loud"], 2, &[], &["invalid value 'loud'"]),
        ],
    );
}

/// The progress is shown on terminals only, log messages everywhere.
#[test]
fn log_messages() {
    let error = "[error] {\"text\":\"\\u001b[2Jhostile\"}\n";
    for (flags, info, stderr) in [
        (&[][..], false, &[][..]),
        (&["--log-level", "info"], true, &["[info] about to begin\n", error]),
        (&["--log-level", "error"], false, &[error]),
    ] {
        let server = McpServer::start();
        server.go_on.notify_one();
        let ended = client(&[&["tools", &server.url, "advance"], flags].concat());
        check("log", &ended, 0, &["advanced\n"], stderr);
        assert_eq!(ended.stderr.contains("[info]"), info, "{ended:?}");
    }
}

#[test]
fn saves_binary_content() {
    let server = McpServer::start();
    let folder = tempfile::tempdir().unwrap();
    let client = |arguments: &[&str]| {
        let mut command = trunkline(folder.path());
        run(command.arg(arguments[0]).arg(&server.url).args(&arguments[1..]))
    };
    let read = ["resources", "read", "test://a/logo.png", "--output"];
    let saved = |path: &str| format!("[test://a/logo.png, image/png, 20 bytes, saved as {path}]\n");
    for (target, path) in
        [("new", "new"), ("new", "new"), (".", "./logo.png"), (".", "./logo-2.png")]
    {
        let ended = client(&[&read[..], &[target]].concat());
        check(target, &ended, 0, &[&saved(path)], &[]);
        assert_eq!(fs::read(folder.path().join(path)).unwrap(), PICTURE, "{path}");
    }
    let ended = client(&[&read[..], &["json", "--json"]].concat());
    check("json", &ended, 0, &["\"blob\":"], &[]);
    assert_eq!(fs::read(folder.path().join("json")).unwrap(), PICTURE);

    let ended = client(&["tools", "pictures", "--output", "one"]);
    check("two parts", &ended, 1, &[], &["the result has 2 binary parts\n  try: name a folder"]);
    let ended = client(&["tools", "pictures", "--output", "."]);
    check("a folder", &ended, 0, &["saved as ./content.png", "saved as ./content.wav"], &[]);
    let ended = client(&["resources", "read", "test://rows", "--output", "x"]);
    check("no bytes", &ended, 0, &["[{"], &["nothing was saved"]);
    let ended = client(&[&read[..], &["nope/x"]].concat());
    check("no folder", &ended, 1, &[], &["cannot save nope/x"]);
}

/// A running client. It is killed when dropped.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Self {
        Self(command.spawn().unwrap())
    }

    fn signal(&self, name: &str) {
        let script = format!("kill -{name} {}", self.0.id());
        assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
    }

    fn end(&mut self) -> Option<i32> {
        self.0.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail if it has ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn watches_a_resource() {
    let server = McpServer::start();
    let mut command = trunkline(Path::new("."));
    command.args(["resources", &server.url, "read", "test://counter", "--watch"]);
    let mut watch = Running::start(&mut command);
    let mut lines = BufReader::new(watch.0.stdout.take().unwrap()).lines();
    for expected in ["read 1", "read 2", "read 3"] {
        assert_eq!(lines.next().unwrap().unwrap(), expected);
        server.change();
    }
    watch.signal("INT");
    assert_eq!(watch.end(), Some(0));
    let ended = client(&["resources", &server.url, "read", "test://nope", "--watch"]);
    check("unknown", &ended, 4, &[], &["does not support subscriptions to `test://nope`"]);
}

#[test]
fn signals_cancel_calls() {
    let server = McpServer::start();
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let mut command = trunkline(Path::new("."));
        let mut call = Running::start(command.args(["tools", &server.url, "wait"]));
        assert_eq!(server.events.recv_timeout(PATIENCE), Ok("started"));
        call.signal(signal);
        assert_eq!(call.end(), Some(code), "{signal}");
        assert_eq!(server.events.recv_timeout(PATIENCE), Ok("ended"));
    }
}

/// A host without a port is the name of a tool.
#[test]
fn hosts_without_ports() {
    for (name, expected) in [("mcp.example.com", true), ("query_records", false)] {
        let mut command = trunkline(Path::new("."));
        let ended = run(command.args(["tools", name]).env("TRUNKLINE_URL", "http://127.0.0.1:1"));
        check(name, &ended, 3, &[], &["cannot connect to http://127.0.0.1:1\n"]);
        let remedy =
            "  try: write http://mcp.example.com, or the port, if `mcp.example.com` is a server\n";
        assert_eq!(ended.stderr.contains(remedy), expected, "{}", ended.stderr);
    }
}

#[test]
fn starts_a_command() {
    let (_folder, path) = tpch();
    let own = env!("CARGO_BIN_EXE_trunkline");
    let server = ["--", own, "mcp", path.to_str().unwrap()];
    let region = &["query_records", "table_name=region", "--format", "csv"][..];
    let rows: [(&[&str], &str); 4] = [
        (&["tools"], "query_records  (read-only)"),
        (&[&["tools"], region].concat(), "r_regionkey,r_name,r_comment\n0,AFRICA,"),
        (&["resources"], "db://"),
        (&["resources", "templates", "--json"], "{table_name}"),
    ];
    for (arguments, stdout) in rows {
        let ended = client(&[arguments, &server].concat());
        check("a command", &ended, 0, &[stdout], &[]);
    }
    let ended = client(&["tools", "--", "sh", "-c", "echo oops >&2; exit 3"]);
    check("exit", &ended, 3, &[], &["connection to sh (process ", "exit status: 3; output: oops"]);
    let ended = client(&["tools", "--", "echo", "usage: server PATH"]);
    check("stdout", &ended, 3, &[], &["exit status: 0; output: on stdout: usage: server PATH"]);
    let ended = client(&["tools", "--log-level", "debug", "--", "sh", "-c", "echo oops >&2"]);
    check("stderr", &ended, 3, &[], &["[stderr] oops\n"]);
    let late =
        ["tools", "--connect-timeout-ms", "300", "--", "sh", "-c", "echo fetch >&2; sleep 600"];
    let remedy = "  because: output: fetch\n  try: increase --connect-timeout-ms\n";
    check("a slow start", &client(&late), 3, &[], &["did not answer within 300 ms\n", remedy]);
    let header = ["tools", "--", "sh", "-c", "echo Content-Length: 9; sleep 600"];
    check(
        "framing",
        &client(&header),
        4,
        &[],
        &["MCP over stdio requires messages without headers"],
    );
    let ended = client(&["tools", "--", "/nope/program"]);
    check("no program", &ended, 3, &[], &["cannot start /nope/program", "No such file"]);
    let ended = client(&["tools", "--header", "a: b", "--", "true"]);
    check("header", &ended, 2, &[], &["cannot be used with"]);
}

/// A server that answers the first request, and then ignores the end of its input and SIGTERM.
const STUBBORN: &str = r#"
    trap "" TERM; echo $$ > pid
    read -r line; id=${line#*'"id":'}; id=${id%%,*}
    [ "$1" = silent ] ||
        echo '{"jsonrpc":"2.0","id":'$id',"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}'
    echo > ready; sleep 600 & wait; sleep 600 & wait; while :; do sleep 600 & wait; done
"#;

/// The process group of a command ends with the client, also if it is interrupted while it connects, or killed.
#[test]
fn ends_commands() {
    for (kind, signal, code) in
        [("answers", "INT", Some(130)), ("silent", "INT", Some(130)), ("silent", "KILL", None)]
    {
        let folder = tempfile::tempdir().unwrap();
        let mut command = trunkline(folder.path());
        command.args(["tools", "--", "sh", "-c", STUBBORN, "sh", kind]);
        let mut call = Running::start(command.stdin(Stdio::null()));
        until(|| folder.path().join("ready").exists());
        let pid = fs::read_to_string(folder.path().join("pid")).unwrap();
        assert!(runs(pid.trim()));
        call.signal(signal);
        assert_eq!(call.end(), code, "{kind}");
        // Nothing waits for the supervisor of a client that was killed.
        until(|| code.is_some() || !runs(pid.trim()));
        assert!(!runs(pid.trim()), "{kind}");
    }
}

#[track_caller]
fn until(is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "timeout");
        std::thread::yield_now();
    }
}

/// The replies of a server that requires a token, and of its authorization server.
fn protected() -> Peer {
    Peer::new(|asked| {
        let origin = format!("http://{}", asked.header("host").unwrap());
        let path = asked.head.split(' ').nth(1).unwrap();
        let document = |value: Value| json_answer(&value.to_string());
        match path {
            "/.well-known/oauth-protected-resource/mcp" => document(json!({
                "resource": format!("{origin}/mcp"), "authorization_servers": [origin],
            })),
            "/.well-known/oauth-authorization-server" => document(json!({
                "issuer": origin,
                "authorization_endpoint": format!("{origin}/authorize"),
                "token_endpoint": format!("{origin}/token"),
                "registration_endpoint": format!("{origin}/register"),
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
            })),
            "/register" => {
                document(json!({"client_id": "c1", "token_endpoint_auth_method": "none",
                "redirect_uris": asked.json()["redirect_uris"]}))
            }
            "/token" => document(json!({"access_token": "t0ken", "token_type": "Bearer",
                "expires_in": 3600})),
            _ if asked.header("authorization") == Some("bearer t0ken") => {
                modern(asked, &json!({"content": []}))
            }
            _ => http(
                &format!(
                    "401 Unauthorized\nWWW-Authenticate: Bearer resource_metadata=\"{origin}/.well-known/oauth-protected-resource/mcp\""
                ),
                "",
            ),
        }
    })
}

#[test]
fn logs_in() {
    let peer = protected();
    let folder = tempfile::tempdir().unwrap();
    let command = |flags: &[&str]| {
        let mut command = trunkline(folder.path());
        command.args(["tools", &peer.url]).args(flags);
        // Without a browser: `PATH` has no programs.
        command.env("XDG_DATA_HOME", folder.path()).env("PATH", folder.path());
        command
    };
    let ended = run(&mut command(&[]));
    check("no token", &ended, 4, &[], &["HTTP 401", "--bearer", "log in with --login"]);
    let ended = run(&mut command(&["--login", "--bearer", "a"]));
    check("both", &ended, 2, &[], &["--login cannot be used with --bearer"]);

    let mut login = Running::start(&mut command(&["--login"]));
    let mut stderr = BufReader::new(login.0.stderr.take().unwrap()).lines().map(Result::unwrap);
    let page = stderr.find_map(|line| Some(line.split_once("the page is ")?.1.to_owned())).unwrap();
    let parameter = |name: &str| {
        let (_, rest) = page.split_once(&format!("{name}=")).unwrap();
        let value = rest.split('&').next().unwrap();
        percent_encoding::percent_decode_str(value).decode_utf8().unwrap().into_owned()
    };
    let redirect = parameter("redirect_uri");
    let rest = redirect.strip_prefix("http://").unwrap();
    let (address, path) = rest.split_once('/').unwrap();
    let mut browser = crate::support::Connection::open(address.parse().unwrap());
    let state = parameter("state");
    let head = format!("GET /{path}?code=c0de&state={state} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    assert_eq!(browser.ask(&head).status, 200);
    assert_eq!(login.end(), Some(0));

    let tokens = folder.path().join("trunkline/tokens");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let file = fs::read_dir(&tokens).unwrap().next().unwrap().unwrap().path();
    assert_eq!((mode(&file), mode(&tokens)), (0o600, 0o700));
    // The next command uses the token.
    check("later", &run(&mut command(&[])), 0, &["2 tools"], &[]);
    let mut other = command(&[]);
    check("another", &run(other.env("TRUNKLINE_TOKEN", "x")), 4, &[], &["HTTP 401"]);

    let logout = || {
        let mut command = trunkline(folder.path());
        command.args(["logout", &peer.url]).env("XDG_DATA_HOME", folder.path());
        command
    };
    check("logout", &run(&mut logout()), 0, &["removed the tokens of"], &[]);
    assert!(!fs::read_to_string(&file).unwrap().contains("access"));
    check("logged out", &run(&mut command(&[])), 4, &[], &["HTTP 401"]);
    check("again", &run(&mut logout()), 0, &["no tokens of"], &[]);
}
