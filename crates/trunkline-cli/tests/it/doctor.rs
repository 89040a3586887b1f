//! `trunkline doctor`.

use std::fs;

use crate::support::{McpServer, Model, run, tpch, trunkline};

/// Writes a configuration file next to the database `tpch.db`, and checks the exit code and lines of the report.
#[track_caller]
fn check(file: &str, code: i32, expected: &[&str]) {
    let (folder, _) = tpch();
    fs::write(folder.path().join("trunkline.toml"), file).unwrap();
    let before = fs::read_dir(folder.path()).unwrap().count();
    let ended = run(trunkline(folder.path()).args(["doctor", "--port", "0"]));
    assert_eq!(ended.code, Some(code), "{}", ended.stdout);
    for line in expected {
        let is_printed = ended.stdout.lines().any(|printed| printed.starts_with(line));
        assert!(is_printed, "{line}\n{}", ended.stdout);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), before, "{}", ended.stdout);
}

#[test]
fn a_server_that_could_work() {
    let upstream = McpServer::start();
    let model = Model::listing();
    let file = format!(
        "databases.shop.url = 'tpch.db'
        [databases.new]
        url = 'new.db'
        writable = true
        [upstreams.up]
        url = '{}'
        [agent]
        url = '{}'
        model = '{}'",
        upstream.url,
        model.flags()[3],
        model.flags()[1],
    );
    let expected = [
        "ok       configuration: trunkline.toml is valid",
        "ok       clock: ",
        "ok       listen: 127.0.0.1:0 is free",
        "ok       access: no token is required, from this machine only",
        "ok       data directory: ",
        "ok       database shop: SQLite 3.",
        "ok       database new: ",
        "ok       upstream up: ",
        "ok       model: ",
        "0 failed, ",
    ];
    check(&file, 0, &expected);
}

#[test]
fn each_mistake_is_reported() {
    for (file, expected) in [
        ("server.tls.cert = 'none.pem'", "failed   tls: server.tls.cert requires server.tls.key"),
        ("access.jwks = 'none.json'", "failed   access: "),
        ("server.allow_hosts = ['h:1']", "failed   access: invalid --allow-host h:1: "),
        ("server.allow_origins = ['h']", "failed   access: invalid --allow-origin h: "),
        ("telemetry.otlp_endpoint = 'h'", "failed   telemetry: invalid --otlp-endpoint"),
        ("server.data_dir = '/proc/none'", "failed   data directory: cannot write to /proc; "),
        ("records.types = 'none.toml'", "failed   records: "),
        (
            "databases.a.url = 'tcph.db'",
            "failed   database a: database file tcph.db does not exist; did you mean tpch.db?",
        ),
        (
            "databases.a.url = 'postgres://u@127.0.0.1:9/d'",
            "failed   database a: cannot serve postgres://u@127.0.0.1:9/d: cannot connect",
        ),
        (
            "databases.a.url = 'tpch.db'\nqueries.q.sql = 'SELECT nothing'",
            "failed   saved queries: ",
        ),
        ("upstreams.u.url = 'http://127.0.0.1:9/mcp'", "failed   upstream u: "),
        ("agent = { url = 'http://127.0.0.1:9/v1', model = 'm' }", "failed   model: "),
    ] {
        let file = match file.contains("databases") {
            true => file.to_owned(),
            false => format!("databases.shop.url = 'tpch.db'\n{file}"),
        };
        check(&file, 1, &[expected, "1 failed, "]);
    }
}

/// Databases that cannot be served together, and rules for other databases.
#[test]
fn databases_of_the_command_line() {
    for (arguments, expected) in [
        (&["--db", "a=tpch.db", "--db", "A=tpch.db"][..], "duplicate database name `A`"),
        (&["--db", "a=tpch.db", "--deny-table", "b=t"], "`b` in --allow-table, --deny-table or"),
        (&["--db", "a=tpch.db", "--mask", "b=t.c"], "`b` in --allow-table, --deny-table or"),
    ] {
        let (folder, _) = tpch();
        let mut command = trunkline(folder.path());
        let ended = run(command.args(["doctor", "--port", "0"]).args(arguments));
        assert_eq!(ended.code, Some(1), "{arguments:?}: {ended:?}");
        let line = ended.stdout.lines().find(|line| line.starts_with("failed   databases: "));
        assert!(line.is_some_and(|line| line.contains(expected)), "{}", ended.stdout);
    }
}
