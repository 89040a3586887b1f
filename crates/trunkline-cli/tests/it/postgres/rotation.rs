//! Users and passwords in files that change while they are in use.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trunkline_test_postgres::{create_database, psql, url_of};

use super::{CONTENT, serve};
use crate::support::{PATIENCE, Server, post};

/// Creates a role with the password `one`, which it must give.
fn create_role(name: &str, database: &str) {
    let script = format!(
        "CREATE ROLE {name} LOGIN PASSWORD 'one' IN ROLE guarded, reader; GRANT CREATE ON DATABASE {database} TO {name}"
    );
    psql("postgres", database, &script);
}

fn set_password(role: &str, password: &str) {
    psql("postgres", "postgres", &format!("ALTER ROLE {role} PASSWORD '{password}'"));
}

/// Ends all connections to a database, so that new ones are opened.
fn end_connections(database: &str) {
    let end = format!(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{database}' \
         AND pid <> pg_backend_pid()"
    );
    psql("postgres", "postgres", &end);
}

fn write_private(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// The user of a new connection.
fn user(server: &Server, database: &str) -> Result<Value, Value> {
    end_connections(database);
    server.sql(&json!({ "query": "SELECT current_user::text" }))
}

#[track_caller]
fn check(server: &Server, database: &str, expected: &str) {
    let since = Instant::now();
    loop {
        let found = user(server, database);
        if found == Ok(json!([[expected]])) {
            return;
        }
        assert!(since.elapsed() < PATIENCE, "{found:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[track_caller]
fn check_reload(server: &Server, restart: &[&str]) {
    let reply = server.connect().ask(&post("/admin/reload", &[], &json!({})));
    assert_eq!(reply.json(), json!({ "applied": [], "restart": restart }));
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_rotated_url_is_used_by_new_connections() {
    let name = create_database(CONTENT);
    let roles = ["one", "two"].map(|suffix| format!("{name}_{suffix}"));
    roles.iter().for_each(|role| create_role(role, &name));
    let [first, second] = &roles;
    let folder = tempfile::tempdir().unwrap();
    let write = |user: &str, password: &str, host: &str| {
        let url = url_of(&format!("{user}:{password}"), &name).replace("127.0.0.1", host);
        write_private(&folder.path().join("url"), &format!("{url}\n"));
    };
    write(first, "one", "127.0.0.1");
    let text = "store.url = { file = 'url' }\n[databases.shop]\nurl = { file = 'url' }\n";
    fs::write(folder.path().join("trunkline.toml"), text).unwrap();
    let server = Server::start(serve(folder.path()));
    let record = || server.call("todo.create", &json!({ "title": "a" }));
    check(&server, &name, first);
    assert!(record()["result"].is_object());

    // Before the file.
    set_password(first, "two");
    let refused = user(&server, &name).unwrap_err();
    assert_eq!(refused["data"]["kind"], "unreachable", "{refused}");
    write(first, "two", "127.0.0.1");
    check(&server, &name, first);
    assert!(record()["result"].is_object());
    check_reload(&server, &[]);

    // As a service that issues users does.
    write(second, "one", "127.0.0.1");
    check(&server, &name, second);
    check_reload(&server, &[]);

    // The privileges of a new user are checked.
    write("postgres", "none", "127.0.0.1");
    let refused = user(&server, &name).unwrap_err();
    assert_eq!(refused["data"]["kind"], "unreachable", "{refused}");

    write(second, "one", "127.0.0.1");
    check(&server, &name, second);

    // Another host, and a file that cannot be read.
    write(second, "one", "localhost");
    check(&server, &name, second);
    check_reload(&server, &["databases.shop", "store.url"]);
    write_private(&folder.path().join("url"), "");
    check(&server, &name, second);
    let ended = server.stop();
    assert!(ended.stderr.contains("which requires a restart"), "{}", ended.stderr);
    assert!(!ended.stderr.contains(":one@") && !ended.stderr.contains(":two@"));
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_rotated_password_file_is_used_by_new_connections() {
    let name = create_database(CONTENT);
    let role = format!("{name}_filed");
    create_role(&role, &name);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pgpass");
    let write = |password: &str| write_private(&file, &format!("*:*:*:{role}:{password}\n"));
    write("one");
    let mut command = serve(folder.path());
    command.arg("--db").arg(url_of(&role, &name)).env("PGPASSFILE", &file);
    let server = Server::start(command);
    check(&server, &name, &role);
    set_password(&role, "two");
    assert!(user(&server, &name).is_err());
    write("two");
    check(&server, &name, &role);
    // Others can read it: the last password is used.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    check(&server, &name, &role);
}
