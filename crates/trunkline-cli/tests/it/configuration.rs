//! Flags and the environment.

use std::path::Path;

use serde_json::json;

use crate::support::{Server, post, run, tpch, trunkline};

/// Arguments and variables.
type Settings<'s> = (&'s [&'s str], &'s [(&'s str, &'s str)]);

fn server(folder: &Path, (arguments, environment): Settings<'_>) -> Server {
    let mut command = trunkline(folder);
    command.args(arguments).envs(environment.iter().copied());
    Server::start(command)
}

fn status(server: &Server, headers: &[&str]) -> u16 {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "db.list_tables"});
    let reply = server.connect().ask(&post("/", headers, &call));
    let part = if reply.status == 200 { "result" } else { "error" };
    assert!(reply.json()[part].is_object(), "{}", reply.json());
    reply.status
}

#[test]
fn flags_override_the_environment() {
    let (folder, _) = tpch();
    const FLAGS: &[&str] = &["--db", "tpch.db", "--listen", "127.0.0.1:0"];
    const FLAGS_OF_SERVE: &[&str] = &["serve", "--db", "tpch.db", "--listen", "127.0.0.1:0"];
    const RIGHT: &[(&str, &str)] =
        &[("TRUNKLINE_DB", "tpch.db"), ("TRUNKLINE_LISTEN", "127.0.0.1:0")];
    const WRONG: &[(&str, &str)] = &[("TRUNKLINE_DB", "none.db"), ("TRUNKLINE_LISTEN", "nonsense")];
    let rows: [(&str, Settings<'_>); 6] = [
        ("flags", (FLAGS, &[])),
        ("flags of serve", (FLAGS_OF_SERVE, &[])),
        ("environment", (&[], RIGHT)),
        ("environment of serve", (&["serve"], RIGHT)),
        ("both", (FLAGS, WRONG)),
        ("both, of serve", (FLAGS_OF_SERVE, WRONG)),
    ];
    for (name, settings) in rows {
        let mut server = server(folder.path(), settings);
        let banner = server.banner();
        assert!(banner.contains("serving   tpch.db (read-only)"), "{name}: {banner}");
        let count = server.sql(&json!({"query": "SELECT count(*) FROM nation"}));
        assert_eq!(count, Ok(json!([[25]])), "{name}");
    }
}

#[test]
fn boolean_variables() {
    for (word, tables) in [("1", 8), ("true", 8), ("yes", 8), ("0", 0), ("false", 0)] {
        let folder = tempfile::tempdir().unwrap();
        let environment = [("TRUNKLINE_SAMPLE", word), ("TRUNKLINE_LISTEN", "127.0.0.1:0")];
        let server = server(folder.path(), (&[], &environment));
        let list = server.call("db.list_tables", &json!({}));
        assert_eq!(list["result"]["tables"].as_array().unwrap().len(), tables, "{word}");
    }
}

#[test]
fn limits() {
    let (folder, _) = tpch();
    const LISTEN: [&str; 4] = ["--db", "tpch.db", "--listen", "127.0.0.1:0"];
    let flags =
        [&LISTEN[..], &["--max-rows", "3", "--query-timeout-ms", "2000", "--max-body", "500"]];
    let environment = [
        ("TRUNKLINE_MAX_ROWS", "3"),
        ("TRUNKLINE_QUERY_TIMEOUT_MS", "2000"),
        ("TRUNKLINE_MAX_BODY", "500"),
    ];
    for (name, arguments, environment) in [
        ("flags", flags.concat(), &environment[..0]),
        ("environment", LISTEN.to_vec(), &environment),
    ] {
        let server = server(folder.path(), (&arguments, environment));
        let rows = server.sql(&json!({"query": "SELECT n_nationkey FROM nation ORDER BY 1"}));
        assert_eq!(rows, Ok(json!([[0], [1], [2]])), "{name}");
        let endless =
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
        let reply = server.call("db.execute_raw_query", &json!({"query": endless}));
        assert_eq!(reply["error"]["data"]["timeout_ms"], 2_000, "{name}: {reply}");
        let long = json!({"jsonrpc": "2.0", "id": 1, "method": "m", "x": "x".repeat(500)});
        assert_eq!(server.connect().ask(&post("/", &[], &long)).status, 413, "{name}");
    }
}

#[test]
fn tokens() {
    const HOST: [&str; 4] = ["--db", "tpch.db", "--listen", "0.0.0.0:0"];
    const ENVIRONMENT: &[(&str, &str)] = &[("TRUNKLINE_BEARER", "one,two")];
    let (folder, _) = tpch();
    // The statuses without a token, and with `one`, `two`, `three` and `one,two`.
    let rows: [(&str, Settings<'_>, [u16; 5]); 5] = [
        ("a flag", (&["--bearer", "one"], &[]), [401, 200, 401, 401, 401]),
        ("two flags", (&["--bearer", "one", "--bearer", "two"], &[]), [401, 200, 200, 401, 401]),
        ("a flag with a comma", (&["--bearer", "one,two"], &[]), [401, 401, 401, 401, 200]),
        ("the environment", (&[], ENVIRONMENT), [401, 401, 401, 401, 200]),
        ("the flag wins", (&["--bearer", "three"], ENVIRONMENT), [401, 401, 401, 200, 401]),
    ];
    for (name, (arguments, environment), expected) in rows {
        let arguments = [&HOST[..], arguments].concat();
        let mut server = server(folder.path(), (&arguments, environment));
        assert!(server.banner().contains("-H 'Authorization: Bearer TOKEN'"), "{name}");
        server.address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
        let headers = ["X-None: 0", "one", "two", "three", "one,two"].map(|token| match token {
            "X-None: 0" => token.to_owned(),
            token => format!("Authorization: Bearer {token}"),
        });
        let statuses = headers.each_ref().map(|header| status(&server, &[header]));
        assert_eq!(statuses, expected, "{name}");
        for wrong in
            ["Authorization: Bearer", "Authorization: Bearer \t", "Authorization: Basic one"]
        {
            assert_eq!(status(&server, &[wrong]), 401, "{name}: {wrong}");
        }
        assert_eq!(server.connect().get("/health").status, 200, "{name}: health needs no token");
    }
}

#[test]
fn all_addresses_of_ipv6_with_a_token() {
    let (folder, _) = tpch();
    let arguments = ["--db", "tpch.db", "--listen", "[::]:0", "--bearer", "one"];
    let mut server = server(folder.path(), (&arguments, &[]));
    server.address.set_ip(std::net::Ipv6Addr::LOCALHOST.into());
    assert_eq!(status(&server, &[]), 401);
    assert_eq!(status(&server, &["Authorization: Bearer one"]), 200);
}

#[test]
fn no_token_is_logged() {
    let (folder, _) = tpch();
    let arguments = ["--db", "tpch.db", "--listen", "127.0.0.1:0"];
    let environment = [("RUST_LOG", "trace"), ("TRUNKLINE_BEARER", "s3cret-right")];
    let server = server(folder.path(), (&arguments, &environment));
    assert_eq!(status(&server, &["Authorization: Bearer s3cret-right"]), 200);
    assert_eq!(status(&server, &["Authorization: Bearer s3cret-wrong"]), 401);
    assert_eq!(status(&server, &["Authorization: Basic czNjcmV0"]), 401);
    let ended = server.stop();
    let output = ended.stdout + &ended.stderr;
    assert!(output.contains("TRACE") && output.contains("db.list_tables"), "{output}");
    assert!(!output.contains("s3cret") && !output.contains("czNjcmV0"), "{output}");
}

#[test]
fn additional_hosts_and_origins() {
    let (folder, _) = tpch();
    let arguments = ["--db", "tpch.db", "--listen", "127.0.0.1:0"];
    let environment = [
        ("TRUNKLINE_ALLOW_HOST", "db.example,other.example"),
        ("TRUNKLINE_ALLOW_ORIGIN", "https://app.example"),
    ];
    let server = server(folder.path(), (&arguments, &environment));
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "db.list_tables"});
    for (host, expected) in [
        ("localhost", 200),
        ("db.example", 200),
        ("other.example:8080", 200),
        ("rebound.example", 403),
    ] {
        let request = post("/", &[], &call).replacen("localhost", host, 1);
        assert_eq!(server.connect().ask(&request).status, expected, "{host}");
    }
    for (origin, expected) in [("https://app.example", 200), ("https://else.example", 403)] {
        assert_eq!(status(&server, &[&format!("Origin: {origin}")]), expected, "{origin}");
    }
}

/// Variables with empty values, and lists with blanks and an extra comma.
#[test]
fn empty_names_are_ignored() {
    let (folder, _) = tpch();
    let arguments = ["--db", "tpch.db", "--listen", "127.0.0.1:0"];
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "db.list_tables"});
    for (hosts, origins, listed) in [
        ("", "", 403),
        ("db.example, other.example,", "https://a.example, https://b.example,", 200),
    ] {
        let environment = [("TRUNKLINE_ALLOW_HOST", hosts), ("TRUNKLINE_ALLOW_ORIGIN", origins)];
        let server = server(folder.path(), (&arguments, &environment));
        for (host, expected) in
            [("localhost", 200), ("", 400), (":80", 403), ("other.example", listed)]
        {
            let request = post("/", &[], &call).replacen("localhost", host, 1);
            assert_eq!(server.connect().ask(&request).status, expected, "{hosts:?}: {host:?}");
        }
        for (origin, expected) in [("", 403), ("null", 403), ("https://b.example", listed)] {
            let header = format!("Origin: {origin}");
            assert_eq!(status(&server, &[&header]), expected, "{origins:?}: {origin:?}");
        }
    }
}

/// The variables of a command, from its help.
fn variables(command: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let help = run(trunkline(folder.path()).args([command, "--help"])).stdout;
    let names = help.split("[env: ").skip(1).filter_map(|rest| rest.split(['=', ']']).next());
    names.map(str::to_owned).collect()
}

/// A compose file passes a variable that is not set as an empty one: `${NAME:-}`.
#[test]
fn empty_variables_count_as_not_set() {
    let (folder, _) = tpch();
    let all = variables("serve");
    assert!(all.len() > 50, "{all:?}");
    let unset = |command: &mut std::process::Command, names: &[String]| {
        command.envs(names.iter().map(|name| (name, "")));
    };
    let mut command = trunkline(folder.path());
    command.args(["serve", "--db", "tpch.db", "--port", "0"]);
    unset(&mut command, &all);
    let server = Server::start_without_data_directory(command);
    assert_eq!(status(&server, &[]), 200);
    let ended = server.stop();
    let warnings: Vec<_> =
        ended.stderr.lines().filter_map(|line| line.split_once("WARN ")).collect();
    for (name, flag) in [
        ("TRUNKLINE_BEARER", "--bearer"),
        ("TRUNKLINE_REQUIRE", "--require"),
        ("TRUNKLINE_TLS_CERT", "--tls-cert"),
        ("TRUNKLINE_DENY_TABLE", "--deny-table"),
        ("TRUNKLINE_AUDIT_LOG", "--audit-log"),
        ("TRUNKLINE_CONFIRM_DESTRUCTIVE", "--confirm-destructive"),
    ] {
        let warning = format!("{name} is empty and counts as not set: {flag} does not apply");
        assert!(warnings.iter().any(|(_, text)| text.ends_with(&warning)), "{warnings:?}");
    }
    for name in ["TRUNKLINE_WRITABLE", "TRUNKLINE_MAX_ROWS", "TRUNKLINE_CONFIG", "OTEL_"] {
        assert!(!warnings.iter().any(|(_, text)| text.contains(name)), "{warnings:?}");
    }

    let mut command = trunkline(folder.path());
    unset(command.args(["mcp", "--db", "tpch.db"]), &variables("mcp"));
    let ended = run(&mut command);
    assert_eq!(ended.code, Some(0), "{ended:?}");

    // Clients: an empty token is not sent.
    let server = Server::of(&folder.path().join("tpch.db"));
    let mut command = trunkline(folder.path());
    unset(command.arg("call").arg(server.address.to_string()), &variables("call"));
    let ended = run(command.arg("db.list_tables"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// Variables of others, which libraries read, and blanks.
#[test]
fn blank_variables_count_as_not_set() {
    let (folder, _) = tpch();
    for value in ["", " ", "\t \n"] {
        let mut command = trunkline(folder.path());
        command.args(["serve", "--db", "tpch.db", "--port", "0"]);
        // Blanks in other variables are refused.
        let protects =
            ["BEARER", "REQUIRE", "ISSUER", "AUDIENCE", "JWKS", "TLS_", "MASK", "_TABLE"];
        let protects_more = ["SCOPE", "RATE", "AUDIT", "CONFIRM", "REDACT", "AGENT_", "SERVER"];
        let all = variables("serve");
        let is_free = |name: &&String| {
            let mut parts = protects.iter().chain(&protects_more);
            value.is_empty() || !parts.any(|part| name.contains(part))
        };
        let free: Vec<_> = all.iter().filter(is_free).collect();
        assert!(free.len() > 35, "{free:?}");
        command.envs(free.iter().map(|name| (name, value)));
        let others = ["SSL_CERT_FILE", "SSL_CERT_DIR", "HOME", "XDG_STATE_HOME", "NOTIFY_SOCKET"];
        command.envs(others.map(|name| (name, value)));
        command.envs(["TERM", "NO_COLOR", "RUST_LOG", "TMPDIR"].map(|name| (name, value)));
        command.envs(["PGHOST", "PGPORT", "PGSSLMODE", "PGPASSFILE"].map(|name| (name, value)));
        command.envs(["OTEL_TRACES_SAMPLER", "OTEL_SDK_DISABLED"].map(|name| (name, value)));
        let server = Server::start_without_data_directory(command);
        assert_eq!(status(&server, &[]), 200, "{value:?}");
        let stderr = server.stop().stderr;
        assert!(!stderr.contains("NOTIFY_SOCKET"), "{value:?}: {stderr}");
    }

    // Root certificates are those of the machine.
    let server = Server::of(&folder.path().join("tpch.db"));
    for (name, value) in [("SSL_CERT_FILE", ""), ("SSL_CERT_FILE", " "), ("SSL_CERT_DIR", "")] {
        let url = format!("https://{}", server.address);
        let mut command = trunkline(folder.path());
        command.env_remove("SSL_CERT_FILE").env_remove("SSL_CERT_DIR").env(name, value);
        let ended = run(command.args(["call", &url, "db.list_tables"]));
        assert_eq!(ended.code, Some(3), "{name}: {ended:?}");
        assert!(ended.stderr.contains("the server does not use TLS"), "{name}: {}", ended.stderr);
    }
}

/// A value of the file applies in place of an empty variable, and protects without a warning.
#[test]
fn the_file_applies_in_place_of_an_empty_variable() {
    let (folder, _) = tpch();
    let file = "[server]\nwritable = true\naudit_log = 'audit.log'\n[server.limits]\nrows = 7\n";
    std::fs::write(folder.path().join("trunkline.toml"), file).unwrap();
    let mut command = trunkline(folder.path());
    command.args(["config", "show"]);
    let names = ["TRUNKLINE_WRITABLE", "TRUNKLINE_MAX_ROWS", "TRUNKLINE_AUDIT_LOG"];
    let ended = run(command.envs(names.map(|name| (name, ""))));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for line in [
        "writable = true  # trunkline.toml:2:12",
        "audit_log = \"audit.log\"  # trunkline.toml:3:13",
        "rows = 7  # trunkline.toml:5:8",
        "listen = \"127.0.0.1:8080\"  # default",
    ] {
        assert!(ended.stdout.lines().any(|found| found == line), "{line}: {}", ended.stdout);
    }
    assert_eq!(ended.stderr, "");
}

/// Sizes and times have the same forms on the command line, in the environment and in the file.
#[test]
fn sizes_and_times_have_the_same_forms() {
    #[track_caller]
    fn check((flag, variable, key): (&str, &str, &str), given: &str, expected: Option<&str>) {
        let folder = tempfile::tempdir().unwrap();
        let show = || {
            let mut command = trunkline(folder.path());
            command.args(["config", "show"]);
            command
        };
        let quoted = format!("{key} = '{given}'\n");
        let is_number = given.bytes().all(|byte| byte.is_ascii_digit());
        let files = [quoted, format!("{key} = {given}\n")];
        let mut ended = vec![run(show().args([flag, given])), run(show().env(variable, given))];
        for file in files.iter().take(if is_number { 2 } else { 1 }) {
            std::fs::write(folder.path().join("trunkline.toml"), file).unwrap();
            ended.push(run(&mut show()));
        }
        for ended in ended {
            let Some(expected) = expected else {
                assert_eq!(ended.code, Some(2), "{given}: {ended:?}");
                assert!(ended.stderr.contains(" such as "), "{given}: {}", ended.stderr);
                continue;
            };
            let name = key.rsplit('.').next().unwrap();
            let line = ended.stdout.lines().find(|line| line.starts_with(&format!("{name} = ")));
            let value = line.and_then(|line| Some(line.split_once(" = ")?.1.split_once("  #")?.0));
            assert_eq!(value, Some(expected), "{flag} {given}: {ended:?}");
        }
    }
    let memory = ("--max-memory", "TRUNKLINE_MAX_MEMORY", "server.limits.memory");
    let body = ("--max-body", "TRUNKLINE_MAX_BODY", "server.limits.body");
    let query = ("--query-timeout-ms", "TRUNKLINE_QUERY_TIMEOUT_MS", "server.limits.query_time");
    check(memory, "64MiB", Some("\"64MiB\""));
    check(memory, "64Mi", Some("\"64MiB\""));
    check(memory, "67108864", Some("\"64MiB\""));
    check(memory, "100 MB", Some("100000000"));
    check(memory, "64M", None);
    check(memory, "much", None);
    check(body, "10kB", Some("10000"));
    check(query, "30s", Some("\"30s\""));
    check(query, "5m", Some("\"5min\""));
    check(query, "1m30s", Some("\"90s\""));
    check(query, "2500", Some("\"2500ms\""));
    check(query, "soon", None);
}

/// A burst is two calls. Requests that do not count are sent first.
#[test]
fn a_rate_counts_calls() {
    let (folder, _) = tpch();
    let arguments = ["--db", "tpch.db", "--listen", "127.0.0.1:0", "--rate-limit", "1"];
    let server = server(folder.path(), (&arguments, &[("TRUNKLINE_BEARER", "one")]));
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "db.list_tables"});
    let ask = |token: &str, body: &serde_json::Value| {
        let header = format!("Authorization: Bearer {token}");
        server.connect().ask(&post("/", &[&header], body))
    };
    for _ in 0..4 {
        assert_eq!(ask("two", &call).status, 401);
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
        assert!(ask("one", &list).json()["result"].is_object());
    }
    let unknown = json!({"jsonrpc": "2.0", "id": 1, "method": "db.none"});
    let replies = ask("one", &json!([unknown, call, unknown, call, unknown, call])).json();
    let codes = replies.as_array().unwrap().iter().map(|reply| reply["error"]["code"].as_i64());
    let (refused, counted): (Vec<_>, Vec<_>) = codes.partition(|code| *code == Some(-32010));
    // On a slow machine, another call may be allowed.
    assert!((2..=3).contains(&counted.len()), "{refused:?}: {replies}");
    assert!(counted.iter().all(|code| [None, Some(-32601)].contains(code)), "{replies}");
    assert!(counted.contains(&Some(-32601)), "{replies}");
}
