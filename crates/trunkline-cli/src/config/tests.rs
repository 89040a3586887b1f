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
        "[server]\n  limits = { size = 1 }",
        &[
            "2:14: unknown key `server.limits.size`; the keys here are `body`, `memory`, `calls_per_second`",
        ],
    );
    check(
        "[server.limits]\nboby = 1\n[server.tls]\ncret = ''",
        &[
            "2:1: unknown key `server.limits.boby`; did you mean `body`?",
            "4:1: unknown key `server.tls.cret`; did you mean `cert`?",
        ],
    );
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
        "[server.limits]\nbody = '1 MB'",
        &[
            "2:8: `server.limits.body`: invalid value: string \"1 MB\", expected a number of bytes, or a size such as \"64KiB\", \"1MiB\" or \"1GiB\"",
        ],
    );
    check(
        "[server.limits]\nbody = -1",
        &[
            "2:8: `server.limits.body`: invalid value: integer `-1`, expected a number of bytes, or a size such as \"64KiB\", \"1MiB\" or \"1GiB\"",
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

#[test]
fn several_mistakes_are_reported_together() {
    check(
        "[serve]\na = 1\n[server]\nlisten = 1\nallow_hots = []\n[server.limits]\nmemory = 1\nbody = ''",
        &[
            "1:2: unknown key `serve`; did you mean `server`?",
            "4:10: `server.listen`: invalid type: integer `1`, expected a string",
            "5:1: unknown key `server.allow_hots`; did you mean `allow_hosts`?",
            "7:10: invalid value `1` of `server.limits.memory`: 1 is not in 33554432..18446744073709551615",
            "8:8: `server.limits.body`: invalid value: string \"\", expected a number of bytes, or a size such as \"64KiB\", \"1MiB\" or \"1GiB\"",
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
    for invalid in
        ["-1", "1.5", "'12'", "'MiB'", "'1MB'", "'-1B'", "''", "'99999999999GiB'", "true"]
    {
        check(invalid, None);
    }
}
