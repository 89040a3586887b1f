//! Passwords in URLs are never shown.

use std::fs;
use std::net::TcpListener;

use serde_json::json;

use crate::support::{Server, post, run, trunkline};

/// Runs a command in a directory with a configuration file. Its output contains `shown`, and no password.
#[track_caller]
fn check(file: &str, environment: &[(&str, &str)], arguments: &[&str], shown: &str) {
    let folder = tempfile::tempdir().unwrap();
    if !file.is_empty() {
        fs::write(folder.path().join("trunkline.toml"), file).unwrap();
    }
    let mut command = trunkline(folder.path());
    command.args(arguments).envs(environment.iter().copied()).env("RUST_LOG", "trace");
    let ended = run(&mut command);
    let output = ended.stdout + &ended.stderr;
    let name = format!("{file} {environment:?} {arguments:?}");
    assert!(output.contains(shown), "{name}: {output}");
    assert!(!output.contains("s3cret"), "{name}: {output}");
}

const HTTPS: &str = "https://me:s3cret@h.example/a?key=s3cret";
const POSTGRES: &str = "postgres://me:s3cret@h:port/a?password=s3cret";

#[test]
fn on_the_command_line_and_in_variables() {
    let remedy = "user or password in the URL";
    for (flag, variable, url, more, shown) in [
        ("--jwks", "TRUNKLINE_JWKS", HTTPS, &["--audience", "a"][..], remedy),
        (
            "--resource-url",
            "TRUNKLINE_RESOURCE_URL",
            HTTPS,
            &["--jwks", "k", "--authorization-server", "https://a"],
            "must not contain a user or password",
        ),
        (
            "--authorization-server",
            "TRUNKLINE_AUTHORIZATION_SERVER",
            HTTPS,
            &["--jwks", "k", "--resource-url", "https://a"],
            "must not contain a user or password",
        ),
        ("--upstream", "TRUNKLINE_UPSTREAM", "up=https://me:s3cret@h/a", &[], remedy),
        ("--agent-url", "TRUNKLINE_AGENT_URL", HTTPS, &["--agent-model", "m"], remedy),
        ("--allow-origin", "TRUNKLINE_ALLOW_ORIGIN", HTTPS, &[], "invalid --allow-origin"),
        ("--db", "TRUNKLINE_DB", POSTGRES, &[], "invalid value for option `port`"),
        ("--db", "TRUNKLINE_DB", "mysql://me:s3cret@h/a", &[], "unknown scheme `mysql`"),
        ("--store", "TRUNKLINE_STORE", POSTGRES, &[], "invalid value for option `port`"),
    ] {
        let folder = ["--data-dir", "data"];
        for command in ["serve", "doctor"] {
            let arguments = [&[command, "--port", "0"], &folder[..], more].concat();
            check("", &[], &[&arguments[..], &[flag, url]].concat(), shown);
            check("", &[(variable, url)], &arguments, shown);
        }
        let shown = match flag {
            // They are checked when they are parsed.
            "--db" | "--store" => shown,
            // It has no key in the file.
            "--upstream" => "",
            _ => "<redacted>@h",
        };
        check("", &[(variable, url)], &["config", "show"], shown);
        check("", &[(variable, url)], &["serve", "--help"], variable);
        check("", &[(variable, url)], &["-h"], "trunkline");
    }
    for command in ["export", "import", "backup"] {
        check("", &[("TRUNKLINE_DB", POSTGRES)], &[command, "--help"], "TRUNKLINE_DB");
    }
    const REMEDY: &str = "use --bearer or --header";
    for (command, more) in
        [("call", &["m"][..]), ("tools", &[]), ("openrpc", &[]), ("monitor", &[]), ("chat", &[])]
    {
        for url in ["https://me:s3cret@h", "me:s3cret@h:80"] {
            check("", &[], &[&[command, url], more].concat(), REMEDY);
            check("", &[("TRUNKLINE_URL", url)], &[&[command], more].concat(), REMEDY);
        }
    }
}

/// Connection strings that are invalid, or of another form: no host is looked up, and no file.
#[test]
fn in_connection_strings() {
    const UNKNOWN: &str = "connection string of an unknown form";
    for (text, shown) in [
        ("postgres://me:p@s3cret@127.0.0.1/shop", "%40"),
        ("shop=postgres://me:p@s3cret@127.0.0.1/shop", "%40"),
        ("postgres://me:p?s3cret@127.0.0.1/shop", "%3F"),
        ("postgres://me:12?s3cret=1@127.0.0.1/shop", "%3F"),
        ("postgres://me:p/s3cret@127.0.0.1:1/shop", "127.0.0.1:1"),
        ("postgres://me:p#s3cret@127.0.0.1:1/shop", "127.0.0.1:1"),
        ("postgres://me:p%s3cret@127.0.0.1:1/shop", "127.0.0.1:1"),
        ("postgres://me:p:s3cret@127.0.0.1:1/shop", "127.0.0.1:1"),
        ("postgres://me:p@s3cret#/shop", "%23"),
        ("postgres://me@127.0.0.1:1/shop?password=s3cret", "127.0.0.1:1"),
        ("postgres://me:s3cret@127.0.0.1:1,127.0.0.1:2/shop", "127.0.0.1:2"),
        ("postgres://me:s3cret@127.0.0.1:1,me:s3cret@127.0.0.1:2/shop", "before the first host"),
        ("postgresql+psycopg2://me:s3cret@127.0.0.1:1/shop", "127.0.0.1:1"),
        ("jdbc:postgresql://127.0.0.1:1/shop?user=me&password=s3cret", "127.0.0.1:1"),
        ("host=127.0.0.1 port=1 user=me password=s3cret dbname=shop", "127.0.0.1:1"),
        ("shop=host=127.0.0.1 port=1 user=me password='s3cret' dbname=shop", "127.0.0.1:1"),
        ("host=127.0.0.1 port=1 user=me password=p s3cret dbname=shop", "single quotes"),
        ("me:s3cret@127.0.0.1/shop", UNKNOWN),
        ("sqlite://me:s3cret@127.0.0.1/shop.db", UNKNOWN),
        ("file:me:s3cret@127.0.0.1/shop.db", UNKNOWN),
        ("postgres:/me:s3cret@127.0.0.1/shop", UNKNOWN),
        ("Server=h;Database=shop;User Id=me;Password=s3cret;", UNKNOWN),
        ("jdbc:mysql://h/a?password=s3cret", "unknown scheme `jdbc:mysql`"),
    ] {
        for command in ["serve", "doctor"] {
            check("", &[], &[command, "--port", "0", "--db", text], shown);
            check("", &[("TRUNKLINE_DB", text)], &[command, "--port", "0"], shown);
        }
        check("", &[("TRUNKLINE_DB", text)], &["export", "--table", "t"], shown);
        if !text.starts_with("shop=") {
            let file = format!("databases.shop.url = \"\"\"{text}\"\"\"");
            check(&file, &[], &["doctor", "--port", "0"], shown);
            check(&file, &[], &["config", "show"], "");
        }
    }
    for (variable, shown) in [("PGPASSWORD", "127.0.0.1:1"), ("PGPASSFILE", "127.0.0.1:1")] {
        let url = "postgres://me@127.0.0.1:1/shop";
        check("", &[(variable, "s3cret")], &["doctor", "--port", "0", "--db", url], shown);
    }
    let store = "host=127.0.0.1 port=1 user=me password=s3cret dbname=shop";
    check("", &[("TRUNKLINE_STORE", store)], &["doctor", "--port", "0"], "127.0.0.1:1");
}

#[test]
fn in_the_configuration_file() {
    const REDACTED: &str = "https://<redacted>@h.example/a?<redacted>";
    for (key, shown, mistake) in [
        ("access.jwks", REDACTED, "access.jwks requires access.audiences"),
        ("access.resource_url", REDACTED, "apply to signed tokens: give access.jwks"),
        ("agent.url", REDACTED, "agent.url requires agent.model"),
        ("upstreams.up.url", "", "user or password in the URL"),
        ("databases.shop.url", "", "unknown scheme `https`"),
        ("store.url", "", "expected postgres://USER@HOST/DATABASE"),
        // A value of another type is quoted.
        ("access.audiences", "", "expected an array"),
        ("server.limits.body", "", "<redacted>@h.example"),
        ("server.toolset", "", "<redacted>@h.example"),
        ("history.enabled", "", "expected a boolean"),
    ] {
        let file = format!("{key} = '{HTTPS}'");
        let shown = if shown.is_empty() { mistake } else { shown };
        check(&file, &[], &["config", "show"], shown);
        check(&file, &[], &["config", "check"], mistake);
        for command in ["serve", "doctor"] {
            check(&file, &[], &[command, "--port", "0"], "");
        }
    }
    let keys = format!("access = {{ jwks = '{HTTPS}', audiences = ['a'] }}");
    check(&keys, &[], &["config", "check"], "keys of access.jwks https://<redacted>@h.example");
    let command = format!("upstreams.up.command = ['up', '--url', '{HTTPS}']");
    check(&command, &[], &["config", "show"], "<redacted>@h.example");
}

#[test]
fn in_a_reload_that_fails() {
    // No server listens there.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let token = "[access.tokens]\nadmin = { env = 'ADMIN' }\n";
    let file = folder.path().join("trunkline.toml");
    fs::write(&file, token).unwrap();
    let mut command = trunkline(folder.path());
    command.args(["--listen", "127.0.0.1:0"]).env("ADMIN", "t0ken").env("RUST_LOG", "trace");
    let server = Server::start(command);
    let keys =
        format!("[access]\njwks = 'http://{address}/a?key=s3cret'\naudiences = ['*']\n{token}");
    fs::write(&file, keys).unwrap();
    let request = post("/admin/reload", &["Authorization: Bearer t0ken"], &json!({}));
    let reply = server.connect().ask(&request);
    assert_eq!(reply.status, 400, "{reply:?}");
    let error = reply.json()["error"].as_str().unwrap().to_owned();
    assert!(error.contains("/a?<redacted>") && !error.contains("s3cret"), "{error}");
    let log = server.stop().stderr;
    for shown in ["are loaded without TLS", "configuration not reloaded"] {
        assert!(log.contains(shown), "{shown}: {log}");
    }
    assert!(!log.contains("s3cret"), "{log}");
}
