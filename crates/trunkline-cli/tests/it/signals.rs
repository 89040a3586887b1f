//! The end of a server: running calls are answered first.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use rusqlite::Connection as Sqlite;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Connection, ENDLESS, Reply, Server, post, tpch, trunkline};

/// The maximum numbers of running and waiting calls; further calls are answered `busy`.
const READERS: usize = 4;
const QUEUE: usize = 64;
const CONNECTIONS: usize = 100;

fn call(id: usize, params: &Value) -> String {
    let method = "db.execute_raw_query";
    post("/", &[], &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

/// A query that waits while the database is locked.
fn regions() -> Value {
    json!({"query": "SELECT count(*) FROM region"})
}

/// A server whose queries wait for as long as the connection that is returned, too, has the database locked.
fn locked_server() -> (TempDir, Server, Sqlite) {
    let (folder, path) = tpch();
    let lock = Sqlite::open(&path).unwrap();
    // Readers of a write-ahead log do not wait.
    lock.pragma_update(None, "journal_mode", "DELETE").unwrap();
    let mut command = trunkline(folder.path());
    command.args(["--listen", "127.0.0.1:0", "--query-timeout-ms", "60000", "--db"]).arg(&path);
    let server = Server::start_alone(command);
    assert_eq!(server.sql(&regions()), Ok(json!([[5]])));
    lock.execute_batch("BEGIN EXCLUSIVE").unwrap();
    (folder, server, lock)
}

/// Waits until a server that received a signal is stopping. Returns the reply of `/health`.
fn until_draining(server: &Server) -> Reply {
    loop {
        // The server closes connections that have sent nothing when it begins to stop.
        match server.connect().get_unless_closed("/health") {
            Some(page) if page.status != 200 => return page,
            _ => {}
        }
    }
}

#[test]
fn calls_in_flight_are_answered() {
    for signal in ["TERM", "INT"] {
        let (_folder, server, lock) = locked_server();
        let mut connections: Vec<Connection> = (0..CONNECTIONS).map(|_| server.connect()).collect();
        for (id, connection) in connections.iter_mut().enumerate().take(READERS) {
            connection.send(&call(id, &regions()));
        }
        server.until_all_readers_run();
        for (id, connection) in connections.iter_mut().enumerate().skip(READERS) {
            connection.send(&call(id, &regions()));
        }
        // Calls that find the queue full are answered at once. Then all others have been read.
        let (told, replies) = std::sync::mpsc::channel();
        for mut connection in connections {
            let told = told.clone();
            thread::spawn(move || told.send(connection.reply()));
        }
        drop(told);
        let refused = CONNECTIONS - READERS - QUEUE;
        let mut answers: Vec<_> = replies.iter().take(refused).collect();
        server.signal(signal);
        until_draining(&server);
        drop(lock);
        let ended = server.end();
        answers.extend(replies);

        assert_eq!(ended.code, Some(0), "{signal}: {ended:?}");
        let (_, in_flight) = ended.stderr.split_once("in_flight=").expect(&ended.stderr);
        let in_flight = in_flight.lines().next().unwrap().parse().unwrap();
        assert!((READERS..=READERS + QUEUE).contains(&in_flight), "{}", ended.stderr);
        let mut ids = Vec::new();
        for reply in &answers {
            let json = reply.json();
            assert_eq!(reply.status, 200, "{signal}: {json}");
            let id = json["id"].as_u64().unwrap() as usize;
            ids.push(id);
            // A call that waits for a reader for more than 2 s is busy, too.
            let is_busy = id >= READERS && json["error"]["data"]["kind"] == "busy";
            assert!(is_busy || json["result"]["rows"] == json!([[5]]), "{signal}: {json}");
        }
        ids.sort_unstable();
        assert_eq!(ids, (0..CONNECTIONS).collect::<Vec<_>>(), "{signal}");
        let busy = answers.iter().filter(|reply| reply.json()["error"].is_object()).count();
        assert!(busy >= refused, "{signal}: the queue accepted too many calls");
    }
}

#[test]
fn a_stopping_server_is_draining() {
    let (_folder, server, lock) = locked_server();
    let mut running: Vec<Connection> = (0..READERS).map(|_| server.connect()).collect();
    let mut idle = server.connect();
    assert_eq!(idle.get("/health/live").status, 200);
    for (id, connection) in running.iter_mut().enumerate() {
        connection.send(&call(id, &regions()));
    }
    server.until_all_readers_run();

    server.signal("TERM");
    let page = until_draining(&server);
    assert_eq!((page.status, &page.json()["status"]), (503, &json!("draining")));
    let late = server.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "db.list_tables"}));
    assert_eq!((late.status, &late.json()["error"]["code"]), (503, &json!(-32005)));
    drop(lock);
    for mut connection in running {
        assert_eq!(connection.reply().json()["result"]["rows"], json!([[5]]));
    }
    // An idle connection does not delay the end.
    let ended = server.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.took < Duration::from_secs(20), "{:?}", ended.took);
}

/// A second Ctrl-C ends the server without waiting.
#[test]
fn a_second_signal_ends_the_server_at_once() {
    for (first, second) in [("INT", "INT"), ("TERM", "INT"), ("INT", "TERM")] {
        let (_folder, path) = tpch();
        let server = Server::alone_of(&path);
        let mut running: Vec<Connection> = (0..READERS).map(|_| server.connect()).collect();
        for (id, connection) in running.iter_mut().enumerate() {
            connection.send(&call(id, &json!({"query": ENDLESS})));
        }
        server.until_all_readers_run();
        server.signal(first);
        // Waits until it drains, when idle connections are closed.
        let health = || server.connect().get_unless_closed("/health");
        while health().is_some_and(|reply| reply.status == 200) {}
        server.signal(second);
        let ended = server.end();
        let name = format!("{first}, {second}");
        assert_eq!(ended.code, Some(1), "{name}: {ended:?}");
        let said = format!("a second signal aborted {READERS} requests");
        assert!(ended.stderr.contains(&said), "{name}: {}", ended.stderr);
        assert!(ended.took < Duration::from_secs(20), "{name}: {:?}", ended.took);
    }
}

/// Further signals do not prevent a server without requests from closing its database.
#[test]
fn further_signals_do_not_end_an_idle_server() {
    for signal in ["INT", "TERM"] {
        let (folder, path) = tpch();
        let mut command = trunkline(folder.path());
        command.args(["--writable", "--listen", "127.0.0.1:0", "--db"]).arg(&path);
        let server = Server::start_alone(command);
        let create = json!({"query": "CREATE TABLE t(a)", "read_only": false});
        assert!(server.call("db.execute_raw_query", &create)["result"].is_object());
        // One of them arrives while the server stops.
        server.signals(signal, 2_000);
        let ended = server.end();
        assert_eq!(ended.code, Some(0), "{signal}: {ended:?}");
        // The database was closed: its log is in the file.
        assert!(!path.with_extension("db-wal").exists(), "{signal}");
    }
}

/// A terminal that accepts no output for a while delays the banner, not the server.
#[test]
fn a_signal_before_the_banner_is_written() {
    for signal in ["TERM", "INT"] {
        let (folder, _) = tpch();
        let (mut terminal, mut screen) = UnixStream::pair().unwrap();
        terminal.set_nonblocking(true).unwrap();
        while terminal.write(&[b' '; 4096]).is_ok() {}
        terminal.set_nonblocking(false).unwrap();

        let mut command = trunkline(folder.path());
        command.args(["--db", "tpch.db", "--listen", "127.0.0.1:0"]);
        command.stdout(OwnedFd::from(terminal));
        let server = Server::start_unheard(command);
        server.signal(signal);
        io::copy(&mut screen, &mut io::sink()).unwrap();
        let ended = server.end();
        assert_eq!(ended.code, Some(0), "{signal}: {ended:?}");
    }
}
