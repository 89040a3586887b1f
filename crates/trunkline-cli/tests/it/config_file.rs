//! `trunkline.toml`.

use std::fs;
use std::path::Path;

use crate::support::{Server, run, tpch, trunkline};

const FILE: &str = "\
[server]
listen = '127.0.0.1:0'
allow_hosts = ['db.example', 'other.example']
limits = { body = '2KiB', calls_per_second = 7 }
";

fn write(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).unwrap();
}

/// Starts a server, and returns the lines of its log about the configuration.
#[track_caller]
fn settings(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Vec<String> {
    let mut command = trunkline(folder);
    command.env("RUST_LOG", "trunkline=debug").env("NO_COLOR", "1");
    command.args(arguments).args(["--db", "tpch.db"]).envs(environment.iter().copied());
    let ended = Server::start(command).stop();
    let lines = ended.stderr.lines().filter_map(|line| line.split_once("configuration setting="));
    // The tests set the variable.
    let lines = lines.filter(|(_, setting)| !setting.contains("TRUNKLINE_DATA_DIR"));
    lines.map(|(_, setting)| setting.to_owned()).collect()
}

#[test]
fn flags_and_variables_override_the_file() {
    let (folder, _) = tpch();
    write(folder.path(), "trunkline.toml", FILE);
    let origins = |arguments: &[&str], environment: &[(&str, &str)]| {
        settings(folder.path(), arguments, environment)
    };
    let file = [
        r#""server.listen" origin=trunkline.toml:2:10"#,
        r#""server.allow_hosts" origin=trunkline.toml:3:15"#,
        r#""server.limits.body" origin=trunkline.toml:4:19"#,
        r#""server.limits.calls_per_second" origin=trunkline.toml:4:46"#,
    ];
    assert_eq!(origins(&[], &[]), file);
    assert_eq!(origins(&["serve"], &[]), file);
    let variable = r#""server.limits.body" origin=TRUNKLINE_MAX_BODY"#;
    let with_variable = [("TRUNKLINE_MAX_BODY", "3000")];
    assert_eq!(origins(&[], &with_variable)[2], variable);
    let flag = r#""server.limits.body" origin=--max-body"#;
    assert_eq!(origins(&["serve", "--max-body", "4000"], &with_variable)[2], flag);
}

#[test]
fn values_of_the_file_apply() {
    let (folder, _) = tpch();
    write(folder.path(), "trunkline.toml", FILE);
    let mut command = trunkline(folder.path());
    command.args(["--db", "tpch.db"]);
    let server = Server::start(command);
    let ask = |host: &str, length: usize| {
        let body = "x".repeat(length);
        let request = format!(
            "POST / HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        server.connect().ask(&request).status
    };
    for (host, length, expected) in [
        ("db.example", 100, 200),
        ("other.example", 100, 200),
        ("third.example", 100, 403),
        ("localhost", 2_048, 200),
        ("localhost", 2_049, 413),
    ] {
        assert_eq!(ask(host, length), expected, "{host} {length}");
    }
}

#[test]
fn the_file_of_a_flag_or_a_variable() {
    let (folder, _) = tpch();
    fs::create_dir(folder.path().join("etc")).unwrap();
    write(folder.path(), "etc/a.toml", FILE);
    // The default file is not read, too.
    write(folder.path(), "trunkline.toml", "[invalid]");
    let expected = r#""server.listen" origin=etc/a.toml:2:10"#;
    for (arguments, environment) in
        [(&["--config", "etc/a.toml"][..], None), (&[], Some(("TRUNKLINE_CONFIG", "etc/a.toml")))]
    {
        let found = settings(folder.path(), arguments, environment.as_slice());
        assert_eq!(found.first().map(String::as_str), Some(expected), "{arguments:?}");
    }
}

#[test]
fn invalid_files() {
    #[track_caller]
    fn check(arguments: &[&str], text: Option<&str>, expected: &str) {
        let (folder, _) = tpch();
        if let Some(text) = text {
            write(folder.path(), "trunkline.toml", text);
        }
        let ended = run(trunkline(folder.path()).args(arguments));
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert_eq!(ended.stderr, expected);
    }
    let mistakes = "\
trunkline: invalid configuration file trunkline.toml: 2 mistakes
  trunkline.toml:2:1: unknown key `server.lisen`; did you mean `listen`?
  trunkline.toml:3:27: invalid value `0` of `server.limits.calls_per_second`: 0 is not in 1..=1000000
";
    let text = "[server]\nlisen = 'a'\nlimits.calls_per_second = 0\n";
    check(&[], Some(text), mistakes);
    check(&["serve", "tpch.db"], Some(text), mistakes);
    check(&["mcp", "--db", "tpch.db"], Some(text), mistakes);
    check(
        &["--config", "none.toml"],
        None,
        "trunkline: cannot read the configuration file none.toml: No such file or directory (os error 2)\n",
    );
    check(
        &[],
        Some(&" ".repeat((1 << 20) + 1)),
        "trunkline: the configuration file trunkline.toml is larger than 1048576 bytes\n",
    );
}

/// Other commands do not read it.
#[test]
fn commands_of_clients_ignore_the_file() {
    let (folder, _) = tpch();
    write(folder.path(), "trunkline.toml", "[invalid");
    for arguments in [&["--help"][..], &["records", "list", "--file"], &["completions", "bash"]] {
        let ended = run(trunkline(folder.path()).args(arguments));
        assert!(!ended.stderr.contains("trunkline.toml"), "{arguments:?}: {ended:?}");
    }
}

/// A named pipe would block the start.
#[test]
fn files_of_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let made = std::process::Command::new("mkfifo").arg(path("pipe")).status().unwrap();
    assert!(made.success());
    fs::write(path("large"), "s3cret".repeat(11_000)).unwrap();
    fs::write(path("open"), "s3cret\n").unwrap();
    fs::write(path("private"), "s3cret\n").unwrap();
    let mode = |name: &str, mode: u32| {
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(path(name), permissions).unwrap();
    };
    mode("open", 0o644);
    mode("private", 0o640);
    for (name, expected) in [
        ("pipe", "not a regular file"),
        (".", "not a regular file"),
        ("/dev/zero", "not a regular file"),
    ] {
        let ended = run(trunkline(folder.path()).args(["config", "check", "--config", name]));
        assert_eq!(ended.code, Some(2), "{name}: {ended:?}");
        assert!(ended.stderr.contains(expected), "{name}: {ended:?}");
    }
    for (name, code, expected) in [
        ("pipe", 2, "pipe is not a regular file"),
        (".", 2, ". is not a regular file"),
        ("large", 2, "large is larger than 64 KiB"),
        ("none", 2, "cannot read none: No such file"),
        ("open", 0, "warning: all users of this machine can read open, which contains a secret"),
        ("private", 0, ""),
    ] {
        fs::write(path("trunkline.toml"), format!("agent.key = {{ file = '{name}' }}")).unwrap();
        let ended = run(trunkline(folder.path()).args(["config", "check"]));
        assert_eq!(ended.code, Some(code), "{name}: {ended:?}");
        assert!(ended.stderr.contains(expected), "{name}: {ended:?}");
        assert_eq!(ended.stderr.is_empty(), expected.is_empty(), "{name}: {ended:?}");
        assert!(!ended.stderr.contains("s3cret"), "{name}: {ended:?}");
    }
    fs::write(path("trunkline.toml"), "access.bearer = [{ file = 'open' }]").unwrap();
    let ended = run(trunkline(folder.path()).args(["doctor", "--port", "0"]));
    assert!(ended.stdout.contains("warning  configuration: all users"), "{ended:?}");
    let mut serve = trunkline(folder.path());
    serve.args(["--listen", "127.0.0.1:0"]);
    let ended = Server::start(serve).stop();
    assert!(ended.stderr.contains("WARN"), "{ended:?}");
    assert!(ended.stderr.contains("all users of this machine can read open"), "{ended:?}");
}
