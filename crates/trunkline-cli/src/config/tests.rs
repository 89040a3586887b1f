use std::path::Path;

use super::quantity::Size;
use super::{Config, ConfigError};

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse("a/t.toml".into(), text, &crate::arguments::command())
}

/// `expected` are the lines of the message, without the path.
#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let ConfigError::Invalid { path, problems } = parse(text).unwrap_err() else {
        panic!("{text}: another error");
    };
    let found: Vec<_> = problems
        .iter()
        .map(|problem| format!("{}: {}", problem.position, problem.message))
        .collect();
    assert_eq!(found, expected, "{text}");
    assert_eq!(path, Path::new("a/t.toml"));
}

#[test]
fn unknown_keys() {
    check(
        "[server]\nlisten_on = ''",
        &["2:1: unknown key `server.listen_on`; did you mean `listen`?"],
    );
    check("[sever]\nlisten = ''", &["1:2: unknown key `sever`; did you mean `server`?"]);
    check(
        "[server]\n  tls = { file = 1 }",
        &["2:11: unknown key `server.tls.file`; the keys here are `cert`, `key`, `client_ca`"],
    );
    check(
        "[server.limits]\nboby = 1\n[server.tls]\ncret = ''",
        &[
            "2:1: unknown key `server.limits.boby`; did you mean `body`?",
            "4:1: unknown key `server.tls.cret`; did you mean `cert`?",
        ],
    );
    check("[history]\nlogs = true", &["2:1: unknown key `history.logs`; did you mean `log`?"]);
    check("server.tls.kye = ''", &["1:12: unknown key `server.tls.kye`; did you mean `key`?"]);
}

#[test]
fn invalid_values() {
    check(
        "[server]\nlisten = 8080",
        &["2:10: `server.listen`: invalid type: integer `8080`, expected a string"],
    );
    check("server = 1", &["1:10: `server`: invalid type: integer `1`, expected a table"]);
    check(
        "[server]\nallow_hosts = 'a'",
        &["2:15: `server.allow_hosts`: invalid type: string \"a\", expected an array"],
    );
    check(
        "[server]\nallow_hosts = ['é', 1]",
        &["2:21: `server.allow_hosts`: invalid type: integer `1`, expected a string"],
    );
    check(
        "[server.limits]\nbody = '1 M'",
        &[
            "2:8: `server.limits.body`: invalid value: string \"1 M\", expected a number of bytes, or a size such as \"64KiB\", \"10MB\" or \"1GiB\"",
        ],
    );
    check(
        "[server.limits]\nbody = -1",
        &[
            "2:8: `server.limits.body`: invalid value: integer `-1`, expected a number of bytes, or a size such as \"64KiB\", \"10MB\" or \"1GiB\"",
        ],
    );
    check(
        "[server.limits]\nbody = '1B'",
        &["2:8: invalid value `1` of `server.limits.body`: 1 is not in 64..=1073741824"],
    );
    check(
        "[server.limits]\ncalls_per_second = 0",
        &["2:20: invalid value `0` of `server.limits.calls_per_second`: 0 is not in 1..=1000000"],
    );
}

/// A value of each form, as the texts of its flag.
#[test]
fn values_of_flags() {
    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let config = parse(text).unwrap();
        assert_eq!(config.flags.len(), 1, "{text}");
        assert_eq!(config.flags[0].values(), expected, "{text}");
    }
    check("server.listen = '127.0.0.1:1'", &["127.0.0.1:1"]);
    check("server.allow_hosts = ['a', 'b']", &["a", "b"]);
    check("server.allow_hosts = []", &[]);
    check("server.tls.cert = 'c.pem'", &["a/c.pem"]);
    check("server.tls.cert = '/c.pem'", &["/c.pem"]);
    check("access.jwks = 'keys.json'", &["a/keys.json"]);
    check("access.jwks = 'https://b/keys.json'", &["https://b/keys.json"]);
    check("server.limits.rows = 7", &["7"]);
    check("server.limits.body = '2KiB'", &["2048"]);
    check("server.limits.query_time = '2s'", &["2000"]);
    check("server.writable = true", &["true"]);
    check("history.enabled = false", &["true"]);
    check("access.require = { 'db.*' = 'role:a', x = 'scope:b' }", &["db.*=role:a", "x=scope:b"]);
    check("access.bearer = [{ file = '/proc/sys/kernel/ostype' }]", &["Linux"]);
}

/// An invalid value is not missing, too.
#[test]
fn invalid_values_of_required_keys() {
    check(
        "upstreams.a.command = 'a'\nqueries.b.sql = 1\ndatabases.c.url = 2\nserver.limits.rows = -5",
        &[
            "1:23: `upstreams.a.command`: invalid type: string \"a\", expected an array",
            "2:17: `queries.b.sql`: invalid type: integer `1`, expected a string",
            "3:19: `databases.c.url`: invalid type: integer `2`, expected text, { env = \"NAME\" } or { file = \"PATH\" }",
            "4:22: `server.limits.rows`: invalid value: integer `-5`, expected a number from 0",
        ],
    );
}

#[test]
fn several_mistakes_are_reported_together() {
    check(
        "[serve]\na = 1\n[server]\nlisten = 1\nallow_hots = []\n[server.limits]\nmemory = 1\nbody = ''",
        &[
            "1:2: unknown key `serve`; did you mean `server`?",
            "4:10: `server.listen`: invalid type: integer `1`, expected a string",
            "5:1: unknown key `server.allow_hots`; did you mean `allow_hosts`?",
            "7:10: invalid value `1` of `server.limits.memory`: 1 is not in 33554432..",
            "8:8: `server.limits.body`: invalid value: string \"\", expected a number of bytes, or a size such as \"64KiB\", \"10MB\" or \"1GiB\"",
        ],
    );
}

#[test]
fn invalid_syntax() {
    check(
        "[server\nlisten = 'a'\nx = = 1",
        &[
            "1:8: unclosed table, expected `]`",
            "3:5: extra `=`, expected nothing",
            "3:7: unexpected key or value, expected newline, `#`",
        ],
    );
    check("[server]\nlisten = 'a'\nlisten = 'b'", &["3:1: duplicate key"]);
}

#[test]
fn sizes() {
    #[track_caller]
    fn check(value: &str, expected: Option<u64>) {
        #[derive(serde::Deserialize)]
        struct Document {
            size: Size,
        }
        let document = toml::from_str::<Document>(&format!("size = {value}"));
        assert_eq!(document.ok().map(|document| document.size.0), expected, "{value}");
    }
    check("12", Some(12));
    check("0", Some(0));
    check("'12B'", Some(12));
    check("'64KiB'", Some(65_536));
    check("'1 MiB'", Some(1 << 20));
    check("'2GiB'", Some(2 << 30));
    check("'12'", Some(12));
    check("'1MB'", Some(1_000_000));
    for invalid in ["-1", "1.5", "'MiB'", "'1M'", "'-1B'", "''", "'99999999999GiB'", "true"] {
        check(invalid, None);
    }
}

#[test]
fn mistakes_in_upstreams() {
    check("[upstreams.up]", &["1:12: `upstreams.up` requires `url` or `command`"]);
    check(
        "[upstreams.up]\nurl = 'http://a'\ncommand = ['a']",
        &["3:11: `upstreams.up.command`: an upstream has either `url` or `command`"],
    );
    check(
        "[upstreams.up]\nurl = 'ftp://a'\nurls = ''",
        &[
            "2:7: `upstreams.up.url`: unsupported scheme ftp://; use http:// or https://",
            "3:1: unknown key `upstreams.up.urls`; did you mean `url`?",
        ],
    );
    check(
        "[upstreams.a__b]\ncommand = ['a']",
        &[
            "1:12: invalid name `a__b` in `upstreams`: a name of an upstream has 1 to 32 letters, digits, `-` or `_`, begins and ends with a letter or digit, and has no `__`",
        ],
    );
    check(
        "[upstreams.up]\ncommand = []",
        &["2:11: `upstreams.up.command`: the command is empty; give a program"],
    );
    check(
        "[upstreams.up]\ncommand = ['a']\nbearer = { env = 'A' }\nheaders = { a = 'b' }\nredirects = ['http://a']",
        &[
            "3:10: `upstreams.up.bearer`: the key applies to upstreams with a `url`",
            "4:17: `upstreams.up.headers`: the key applies to upstreams with a `url`",
            "5:14: `upstreams.up.redirects`: the key applies to upstreams with a `url`",
        ],
    );
    check(
        "[upstreams.up]\nurl = 'http://a'\nenv = { A = 'b' }\nfolder = 'c'\nheaders = { 'a b' = 's3cret' }",
        &[
            "3:13: `upstreams.up.env`: the key applies to upstreams with a `command`",
            "4:10: `upstreams.up.folder`: the key applies to upstreams with a `command`",
            "5:21: `upstreams.up.headers`: invalid header `a b`",
        ],
    );
    check(
        "upstreams.up = { command = ['a'], timeout = '0s', pin = 1 }",
        &[
            "1:45: `upstreams.up.timeout`: the time must be longer than 0",
            "1:57: `upstreams.up.pin`: invalid type: integer `1`, expected a boolean",
        ],
    );
    check(
        "[upstreams.up]\ncommand = ['a']\ntimeout = '5 years'",
        &[
            "3:11: `upstreams.up.timeout`: invalid value: string \"5 years\", expected a number of milliseconds, or a time such as \"500ms\", \"30s\", \"5min\", \"1h\" or \"7d\"",
        ],
    );
}

/// The messages never contain a secret.
#[test]
fn mistakes_in_secrets() {
    #[track_caller]
    fn check_bearer(secret: &str, expected: &str) {
        let text = format!("[upstreams.up]\nurl = 'http://a'\nbearer = {secret}");
        check(&text, &[&format!("3:10: `upstreams.up.bearer`: {expected}")]);
    }
    check_bearer(
        "'s3cret'",
        "a secret is not written in this file; use { env = \"NAME\" } or { file = \"PATH\" }",
    );
    check_bearer(
        "1",
        "invalid type: integer `1`, expected { env = \"NAME\" } or { file = \"PATH\" }",
    );
    check(
        "access.bearer = 's3cret'",
        &[
            "1:17: `access.bearer`: a secret is not written in this file; use { env = \"NAME\" } or { file = \"PATH\" }",
        ],
    );
    check_bearer("{}", "the table is empty; use `env` or `file`");
    check_bearer("{ env = 'A', file = 'b' }", "a secret has one source: `env` or `file`");
    check_bearer(
        "{ env = 'TRUNKLINE_TEST_NONE' }",
        "environment variable `TRUNKLINE_TEST_NONE` is not set",
    );
    check_bearer("{ file = 'none' }", "cannot read a/none: No such file or directory (os error 2)");
    check_bearer("{ file = '/dev/null' }", "/dev/null is not a regular file");
    check_bearer("{ file = '/' }", "/ is not a regular file");
}

#[test]
fn periods() {
    #[track_caller]
    fn check(value: &str, expected: Option<u64>) {
        let text = format!("[upstreams.up]\ncommand = ['a']\ntimeout = {value}");
        let config = parse(&text);
        let timeout = config.ok().map(|config| config.upstreams[0].call_timeout.as_millis());
        assert_eq!(timeout, expected.map(u128::from), "{value}");
    }
    check("'1ms'", Some(1));
    check("'30s'", Some(30_000));
    check("'5 min'", Some(300_000));
    check("'2h'", Some(7_200_000));
    check("'1d'", Some(86_400_000));
    check("'1m'", Some(60_000));
    check("1500", Some(1_500));
    check("'1500'", Some(1_500));
    for invalid in ["-1", "1.5", "'s'", "'-1s'", "'1.5s'", "'1M'", "'99999999999999999d'"] {
        check(invalid, None);
    }
}

/// The page of reloads lists the keys that a running server applies.
#[test]
fn the_documentation_lists_the_live_settings() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(page.join("../../docs/operations/reload.md")).unwrap();
    let row = |line: &str| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned());
    let (_, keys) = page.split_once("\n## Keys\n").unwrap();
    let (keys, _) = keys.split_once("\n## ").unwrap();
    let found: Vec<String> = keys.lines().filter_map(row).collect();
    let live = super::settings::SETTINGS.iter().filter(|setting| setting.is_live);
    let expected: Vec<&str> = live
        .map(|setting| setting.key)
        .chain(["roles.NAME", "queries.NAME", "upstreams.NAME"])
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn changes_of_settings_and_sections() {
    use super::Changes;

    #[track_caller]
    fn check(before: &str, after: &str, live: &[&str], fixed: &[&str]) {
        let snapshot = |text: &str| {
            let command = crate::arguments::command();
            let mut config = parse(text).unwrap();
            let command = config.with_defaults(command);
            let matches = command.clone().get_matches_from(["trunkline"]);
            config.resolve(&command, &command, &matches);
            config.snapshot()
        };
        let owned = |keys: &[&str]| keys.iter().map(ToString::to_string).collect();
        let expected = Changes { live: owned(live), fixed: owned(fixed) };
        assert_eq!(snapshot(before).changes(&snapshot(after)), expected, "{before} {after}");
    }
    check("", "", &[], &[]);
    check("server.allow_hosts = ['a']", "server.allow_hosts = ['b']", &["server.allow_hosts"], &[]);
    check("server.allow_hosts = []", "", &[], &[]);
    check("", "server.limits.rows = 7", &[], &["server.limits.rows"]);
    let role = "[roles.a]\noperations = ['*']\n";
    check(role, "[roles.a]\noperations = [ '*' ] # all\n", &[], &[]);
    check(role, "", &["roles.a"], &[]);
    check(role, &format!("{role}read_only = true"), &["roles.a"], &[]);
    let upstream = "[upstreams.a]\ncommand = ['a']\n";
    check(upstream, &upstream.replace("['a']", "['b']"), &["upstreams.a"], &[]);
    check(upstream, "", &["upstreams.a"], &[]);
    check("", upstream, &["upstreams.a"], &[]);
    let database = "[databases.a]\nurl = 'a.db'\n";
    check(database, &database.replace("a.db", "b.db"), &[], &["databases.a"]);
}
