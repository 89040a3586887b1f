//! `/health/live` and `/health/ready`.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{PATIENCE, Reply, Server, tpch, trunkline};

/// Waits for a status of the readiness page.
#[track_caller]
fn until(server: &Server, status: u16) -> Reply {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let reply = server.connect().get("/health/ready");
        if reply.status == status {
            return reply;
        }
        assert!(Instant::now() < deadline, "{}", reply.json());
        sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_server_is_ready_while_its_database_can_be_read() {
    let (folder, database) = tpch();
    let server = Server::of(&database);
    let ready = until(&server, 200);
    assert_eq!(ready.json(), json!({ "status": "ready", "checks": { "database": "ok" } }));
    let away = folder.path().join("away.db");
    fs::rename(&database, &away).unwrap();
    let failed = until(&server, 503).json();
    assert_eq!(failed["status"], "not ready");
    let reason = failed["checks"]["database"].as_str().unwrap();
    assert!(reason.contains("removed or renamed"), "{reason}");
    let live = server.connect().get("/health/live");
    assert_eq!((live.status, live.json()), (200, json!({ "status": "alive" })));
    fs::rename(&away, &database).unwrap();
    until(&server, 200);
}

#[test]
fn the_reason_names_all_databases_that_do_not_work() {
    let (folder, _) = tpch();
    let path = |name: &str| folder.path().join(name);
    for name in ["a.db", "b.db", "c.db"] {
        fs::copy(path("tpch.db"), path(name)).unwrap();
    }
    let mut command = trunkline(folder.path());
    command.args(["serve", "--listen", "127.0.0.1:0"]);
    command.args(["--db", "a=a.db", "--db", "b=b.db", "--db", "c=c.db"]);
    let server = Server::start(command);
    until(&server, 200);
    fs::rename(path("a.db"), path("d.db")).unwrap();
    fs::rename(path("c.db"), path("e.db")).unwrap();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let failed = until(&server, 503).json();
        let reason = failed["checks"]["database"].as_str().unwrap().to_owned();
        let has = |name: &str| reason.split("; ").any(|part| part.starts_with(name));
        assert!(!has("b: "), "{reason}");
        if has("a: ") && has("c: ") {
            break;
        }
        assert!(Instant::now() < deadline, "{reason}");
        sleep(Duration::from_millis(100));
    }
}
