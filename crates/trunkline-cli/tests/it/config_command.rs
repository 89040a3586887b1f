//! `trunkline config`.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use trunkline::layers::validation::Validator;

use crate::support::{Server, run, trunkline};

fn config(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = trunkline(folder);
    command.arg("config").args(arguments);
    command
}

fn folder(file: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("trunkline.toml"), file).unwrap();
    folder
}

#[test]
fn a_new_file_is_valid_and_can_be_served() {
    let folder = tempfile::tempdir().unwrap();
    let created = run(&mut config(folder.path(), &["init"]));
    assert_eq!((created.code, created.stdout.as_str()), (Some(0), "created trunkline.toml\n"));
    let checked = run(&mut config(folder.path(), &["check"]));
    assert_eq!((checked.code, checked.stdout.as_str()), (Some(0), "trunkline.toml: valid\n"));
    let again = run(&mut config(folder.path(), &["init"]));
    assert_eq!(again.code, Some(1));
    assert!(again.stderr.contains("trunkline.toml exists already"), "{}", again.stderr);
    let mut serve = trunkline(folder.path());
    serve.args(["serve", "--listen", "127.0.0.1:0"]);
    let server = Server::start(serve);
    assert_eq!(server.call("db.list_tables", &json!({}))["result"]["tables"], json!([]));
}

#[test]
fn effective_settings_have_their_origins() {
    let folder = folder(
        "\
[server]
allow_hosts = ['db.example']
limits = { body = '2MiB', query_time = '90s', rows = 9 }
[access]
bearer = [{ env = 'TOKEN' }]
require = { 'db.*' = 'scope:read' }
[databases.shop]
url = 'postgres://me:s3cret@h/db?password=s3cret'
[upstreams.docs]
url = 'https://docs.example/mcp'
headers = { X-Key = 's3cret', X-Env = { env = 'TOKEN' } }
[history]
enabled = false
",
    );
    let mut command = config(folder.path(), &["show", "--max-rows", "5", "--agent-key", "s3cret"]);
    let shown =
        run(command.env("TOKEN", "s3cret").env("TRUNKLINE_ALLOW_ORIGIN", "https://a,https://b"));
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    for line in [
        r#"listen = "127.0.0.1:8080"  # default"#,
        r#"allow_hosts = ["db.example"]  # trunkline.toml:2:15"#,
        r#"allow_origins = ["https://a", "https://b"]  # TRUNKLINE_ALLOW_ORIGIN"#,
        "rows = 5  # --max-rows",
        r#"query_time = "90s"  # trunkline.toml:3:40"#,
        r#"body = "2MiB"  # trunkline.toml:3:19"#,
        r#"bearer = ["<redacted>"]  # trunkline.toml:5:10"#,
        r#"require = { "db.*" = "scope:read" }  # trunkline.toml:6:11"#,
        r#"key = "<redacted>"  # --agent-key"#,
        "# jwks is not set",
        "enabled = false  # trunkline.toml:13:11",
        "[databases.shop]",
        r#"url = "postgres://me:<redacted>@h/db?<redacted>"  # trunkline.toml:8:1"#,
        r#"url = "https://docs.example/mcp"  # trunkline.toml:10:1"#,
        r#"headers = { X-Key = "<redacted>", X-Env = { env = "TOKEN" } }  # trunkline.toml:11:1"#,
    ] {
        assert!(shown.stdout.lines().any(|shown| shown == line), "{line}\n{}", shown.stdout);
    }
    assert!(!shown.stdout.contains("s3cret"), "{}", shown.stdout);
}

/// Eleven mistakes, and their messages.
#[test]
fn all_mistakes_are_reported_together() {
    let folder = folder(
        "\
[serve]
listen = ''
[server]
lisen = '127.0.0.1:80'
limits = { body = '1M', calls_per_second = 0 }
toolset = 'all'
[access]
bearer = ['token']
[databases.'my shop']
url = 'shop.db'
[databases.sales]
url = 'mysql://h/sales'
[queries.top]
params = []
[upstreams.docs]
url = 'https://docs.example'
timeout = '5 years'
[history]
enabled = 'yes'
",
    );
    let checked = run(&mut config(folder.path(), &["check"]));
    let expected = "\
trunkline: invalid configuration file trunkline.toml: 11 mistakes
  trunkline.toml:1:2: unknown key `serve`; did you mean `server`?
  trunkline.toml:4:1: unknown key `server.lisen`; did you mean `listen`?
  trunkline.toml:5:19: `server.limits.body`: invalid value: string \"1M\", expected a number of bytes, or a size such as \"64KiB\", \"10MB\" or \"1GiB\"
  trunkline.toml:5:44: invalid value `0` of `server.limits.calls_per_second`: 0 is not in 1..=1000000
  trunkline.toml:6:11: invalid value `all` of `server.toolset`: use one of core, full
  trunkline.toml:8:11: `access.bearer`: a secret is not written in this file; use { env = \"NAME\" } or { file = \"PATH\" }
  trunkline.toml:9:12: invalid name `my shop` in `databases`: a name has 1 to 32 letters, digits, `-` or `_`, and begins with a letter
  trunkline.toml:12:7: `databases.sales.url`: unknown scheme `mysql`; use a path, sqlite:PATH or postgres://USER@HOST/DATABASE
  trunkline.toml:13:10: `queries.top` requires `sql`
  trunkline.toml:17:11: `upstreams.docs.timeout`: invalid value: string \"5 years\", expected a number of milliseconds, or a time such as \"500ms\", \"30s\", \"5min\", \"1h\" or \"7d\"
  trunkline.toml:19:11: `history.enabled`: invalid type: string \"yes\", expected a boolean
";
    assert_eq!(checked.code, Some(2));
    assert_eq!(checked.stderr, expected);
}

/// Values that are used only when a server starts.
#[test]
fn settings_that_a_server_would_refuse() {
    #[track_caller]
    fn check(file: &str, expected: &[&str]) {
        let folder = folder(file);
        let checked = run(config(folder.path(), &["check"]).env("TOKEN", "a-token"));
        assert_eq!(checked.code, Some(2), "{file}: {checked:?}");
        let mut lines = checked.stderr.lines();
        assert_eq!(
            lines.next(),
            Some("trunkline: invalid settings of trunkline.toml, flags and variables:"),
            "{file}"
        );
        let lines: Vec<_> = lines.map(str::trim).collect();
        assert_eq!(lines.len(), expected.len(), "{file}: {lines:?}");
        for (line, expected) in lines.iter().zip(expected) {
            assert!(line.starts_with(expected), "{file}: {line}");
        }
    }
    check("server.allow_hosts = ['h:1']", &["invalid server.allow_hosts h:1: host must not have"]);
    check("server.allow_origins = ['h']", &["invalid server.allow_origins h: origin must have"]);
    check(
        "server.allow_origins = ['*']",
        &["refused server.allow_origins *: pages of any web site"],
    );
    check(
        "server.allow_hosts = ['a--jwks:1']",
        &["invalid server.allow_hosts a--jwks:1: host must"],
    );
    check("server.listen = ':8080'", &["invalid server.listen :8080: the format is HOST:PORT"]);
    check("server.listen = 'here'", &["invalid server.listen here: the format is HOST:PORT"]);
    check("server.listen = '0.0.0.0:8080'", &["refused to listen on 0.0.0.0:8080: other machines"]);
    check("access.jwks = 'keys.json'", &["access.jwks requires access.audiences: the issuer"]);
    check(
        "access = { jwks = 'keys.json', audiences = ['a'], require = { 'db.*' = 's' } }",
        &["invalid access.require db.*=s; the format is like"],
    );
    check(
        "access = { bearer = [{ env = 'TOKEN' }], issuers = ['i'] }",
        &["access.audiences, access.issuers, access.require, "],
    );
    check(
        "agent = { url = 'h', model = 'm' }\ntelemetry.otlp_endpoint = 'h'",
        &[
            "invalid agent.url: invalid model URL \"h\": missing scheme; use http://h",
            "invalid telemetry.otlp_endpoint (OTEL_EXPORTER_OTLP_ENDPOINT): use the base URL",
        ],
    );
    check("agent.allow = ['']", &["agent.allow is empty: give a value"]);
    check("server.tls.cert = 'a.pem'", &["server.tls.cert requires server.tls.key"]);
    check("agent.model = 'm'", &["agent.model requires agent.url, the endpoint of the model"]);
    check(
        "server.limits = { memory = '32MiB', body = '20MiB' }",
        &["server.limits.body is 20971520, more than half of server.limits.memory, "],
    );
}

#[test]
fn valid_settings() {
    let file = "\
server = { listen = '[::1]:8080', allow_hosts = ['a.example'], allow_origins = ['https://a.example'] }
access = { jwks = 'https://login.example/keys', audiences = ['a'], require = { 'db.*' = 'role:admin' } }
agent = { url = 'https://model.example/v1', model = 'm', allow = ['db.*'] }
telemetry = { otlp_endpoint = 'http://127.0.0.1:4318', sample_ratio = 0.1 }
";
    let folder = folder(file);
    let checked = run(&mut config(folder.path(), &["check"]));
    assert_eq!(
        (checked.code, &*checked.stdout),
        (Some(0), "trunkline.toml: valid\n"),
        "{checked:?}"
    );
}

/// Mistakes in references, each at its place.
#[test]
fn mistakes_in_queries_and_databases() {
    #[track_caller]
    fn check(file: &str, expected: &[&str]) {
        let folder = folder(file);
        let checked = run(&mut config(folder.path(), &["check"]));
        assert_eq!(checked.code, Some(2), "{file}: {checked:?}");
        let lines: Vec<_> = checked.stderr.lines().skip(1).map(str::trim).collect();
        let expected: Vec<_> =
            expected.iter().map(|line| format!("trunkline.toml:{line}")).collect();
        assert_eq!(lines, expected, "{file}");
    }
    check(
        "\
[databases.shop]
url = 'shop.db'
[databases.Sales]
url = 'sales.db'
[queries.a]
sql = 'SELECT 1'
database = 'shp'
[queries.b]
sql = ' '
database = 'SALES'
[queries.c]
sql = 'SELECT :x'
database = 'other'
params = [
  { name = 'x', type = 'integer', default = 'one' },
  { name = 'x', type = 'boolean', default = true },
  { name = '', default = 1 },
  { name = 'd', default = 2026-01-01 },
]
",
        &[
            "9:7: `queries.b.sql`: the statement is empty",
            "15:45: `queries.c.params`: the default of parameter `x` must be an integer",
            "16:12: `queries.c.params`: duplicate parameter `x`",
            "17:12: `queries.c.params`: the name of a parameter is empty",
            "17:26: `queries.c.params`: the default of parameter `` must be a string",
            "18:27: `queries.c.params`: the default of parameter `d` must be a string",
        ],
    );
    // All mistakes of a section are found at once.
    check(
        "\
[databases.'my shop']
connections = 0
role = { claim = '', allow = ['a'] }
[databases.shop]
url = 'a.db'
[databases.Shop]
url = 'b.db'
ca_file = 'ca.pem'
[queries.'a b']
params = [{ name = 'x' }, { name = 'x' }]
",
        &[
            "1:12: `databases.my shop` requires `url`",
            "1:12: invalid name `my shop` in `databases`: a name has 1 to 32 letters, digits, `-` or `_`, and begins with a letter",
            "2:15: `databases.my shop.connections`: expected 1 to 1000",
            "3:8: `databases.my shop.role`: `claim` is empty",
            "6:12: duplicate database `Shop`: case is ignored in `shop`",
            "8:11: `databases.Shop.ca_file` requires a PostgreSQL database",
            "9:10: `queries.a b` requires `sql`",
            "9:10: invalid name `a b` in `queries`: a name has 1 to 64 letters, digits or `_`",
            "10:36: `queries.a b.params`: duplicate parameter `x`",
        ],
    );
}

/// The databases of flags replace those of the file.
#[test]
fn databases_of_saved_queries() {
    let sections = "[databases.shop]\nurl = 'shop.db'\n[databases.Sales]\nurl = 'sales.db'\n";
    for (sections, arguments, database, expected) in [
        (sections, &[][..], "SHOP", None),
        (
            sections,
            &[],
            "shp",
            Some("7:12: `queries.a.database`: unknown database `shp`; did you mean `shop`?"),
        ),
        (sections, &[], "other", Some("unknown database `other`; the server has `shop`, `Sales`")),
        (sections, &["--db", "other=a.db"], "other", None),
        (sections, &["--db", "other=a.db", "--db", "b.db"], "B", None),
        (
            sections,
            &["--db", "other=a.db"],
            "shop",
            Some("unknown database `shop`; the server has `other`"),
        ),
        ("", &["--db", "other=a.db"], "other", None),
        ("", &[], "main", None),
        ("", &[], "other", Some("unknown database `other`; the server has `main`")),
    ] {
        let file = format!("{sections}[queries.a]\nsql = 'SELECT 1'\ndatabase = '{database}'");
        let folder = folder(&file);
        let checked = run(&mut config(folder.path(), &[&["check"], arguments].concat()));
        let name = format!("{arguments:?} {file}");
        assert_eq!(
            checked.code,
            Some(if expected.is_some() { 2 } else { 0 }),
            "{name}: {checked:?}"
        );
        assert!(checked.stderr.contains(expected.unwrap_or_default()), "{name}: {checked:?}");
    }
}

#[test]
fn the_configuration_file_is_not_a_positional_argument() {
    let folder = folder("");
    for name in ["check", "show"] {
        let ended = run(&mut config(folder.path(), &[name, "other.toml"]));
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains("is given as --config FILE"), "{ended:?}");
    }
}

#[test]
fn booleans_are_shown_with_their_origins() {
    let folder = folder("server.confirm_destructive = true");
    for (arguments, environment, expected) in [
        (&[][..], &[][..], &["writable = false  # default", "enabled = true  # default"][..]),
        (
            &["--writable", "--no-history", "--no-console"],
            &[],
            &[
                "writable = true  # --writable",
                "enabled = false  # --no-history",
                "console = false  # --no-console",
                "confirm_destructive = true  # trunkline.toml:1:30",
            ],
        ),
        (&["--console"], &[], &["console = true  # --console"]),
        (
            &[],
            &[
                ("TRUNKLINE_WRITABLE", "1"),
                ("TRUNKLINE_NO_HISTORY", "yes"),
                ("TRUNKLINE_CONSOLE", "off"),
            ],
            &[
                "writable = true  # TRUNKLINE_WRITABLE",
                "enabled = false  # TRUNKLINE_NO_HISTORY",
                "console = false  # TRUNKLINE_CONSOLE",
            ],
        ),
        (
            &[],
            &[("TRUNKLINE_WRITABLE", "0"), ("TRUNKLINE_NO_HISTORY", "no")],
            &["writable = false  # TRUNKLINE_WRITABLE", "enabled = true  # TRUNKLINE_NO_HISTORY"],
        ),
    ] {
        let arguments = [&["show"], arguments].concat();
        let mut command = config(folder.path(), &arguments);
        let shown = run(command.envs(environment.iter().copied()));
        for line in expected {
            assert!(shown.stdout.lines().any(|shown| shown == *line), "{line}\n{shown:?}");
        }
    }
}

/// The schema accepts and refuses what the program does.
#[test]
fn the_schema_describes_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let schema = run(&mut config(folder.path(), &["schema"]));
    let schema: Value = serde_json::from_str(&schema.stdout).unwrap();
    let validator = Validator::new(&schema.into()).unwrap();
    #[track_caller]
    fn check(validator: &Validator, text: &str, expected: bool) {
        let document: Value = toml::from_str(text).unwrap();
        assert_eq!(validator.check(&document, text.len()).is_ok(), expected, "{text}");
    }
    for (text, expected) in [
        ("", true),
        ("server.limits.body = '1MiB'", true),
        ("server.limits.body = 4096", true),
        ("server.limits.body = '10MB'", true),
        ("server.limits.body = '64 Ki'", true),
        ("server.limits.body = '4096'", true),
        ("server.limits.body = '1M'", false),
        ("server.limits.query_time = '1m30s'", true),
        ("server.limits.query_time = 5000", true),
        ("server.limits.query_time = 'soon'", false),
        ("server.lisen = ''", false),
        ("server.toolset = 'full'", true),
        ("server.toolset = 'all'", false),
        ("access.bearer = [{ env = 'A' }]", true),
        ("access.bearer = ['a']", false),
        ("databases.a.url = { file = 'b' }", true),
        ("databases.a.role = { claim = 'b', allow = ['c'] }", true),
        ("databases.a.path = 'b'", false),
        (
            "queries.a = { sql = 'b', params = [{ name = 'c', type = 'integer', default = 1 }] }",
            true,
        ),
        ("queries.a.params = [{ name = 'c', type = 'text' }]", false),
        ("upstreams.a = { command = ['b'], env = { C = { env = 'D' } }, timeout = '5s' }", true),
        ("upstreams.a = { command = ['b'], connect_timeout = '2min' }", true),
        ("upstreams.a.timeout = -5", false),
        ("upstreams.a.connect_timeout = '5 years'", false),
    ] {
        check(&validator, text, expected);
    }
}

/// Each key has a row in the reference.
#[test]
fn the_reference_lists_all_keys() {
    let folder = tempfile::tempdir().unwrap();
    let shown = run(&mut config(folder.path(), &["show"]));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/configuration.md");
    let reference = fs::read_to_string(path).unwrap();
    let mut section = "";
    for line in shown.stdout.lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
            continue;
        }
        let Some(key) =
            line.trim_start_matches("# ").split(' ').next().filter(|key| !key.is_empty())
        else {
            continue;
        };
        let (_, table) = section.split_once('.').unwrap_or(("", ""));
        let name = if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") };
        let is_listed = [name.clone(), format!("{section}.{key}")]
            .iter()
            .any(|name| reference.contains(&format!("`{name}`")));
        assert!(is_listed, "{section}: {name}");
    }
}
