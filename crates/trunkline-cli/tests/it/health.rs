//! `/health/live` and `/health/ready`.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{PATIENCE, Reply, Server, tpch};

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
    let checks =
        |database: Value| json!({ "database": database, "records": "ok", "conversations": "ok" });
    let ready = until(&server, 200);
    assert_eq!(ready.json(), json!({ "status": "ready", "checks": checks("ok".into()) }));
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
