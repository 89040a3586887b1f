//! `trunkline monitor`: a server's calls on a terminal, and in a pipe.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::call::check;
use crate::call_peer::{Asked, Peer, http};
use crate::support::{PATIENCE, Server, run, tpch, trunkline};

/// A running monitor. It is killed when dropped.
struct Monitor {
    child: Child,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
}

impl Monitor {
    fn of(url: &str, arguments: &[&str]) -> Self {
        let mut child = command(url, arguments).spawn().unwrap();
        let stdout = lines(child.stdout.take().unwrap());
        let stderr = lines(child.stderr.take().unwrap());
        Self { child, stdout, stderr }
    }

    fn line(&self) -> String {
        self.stdout.recv_timeout(PATIENCE).expect("a line in time")
    }

    fn remark(&self) -> String {
        self.stderr.recv_timeout(PATIENCE).expect("a remark in time")
    }

    /// Ends it as Ctrl-C does. Returns the exit code.
    fn interrupt(mut self) -> Option<i32> {
        let script = format!("kill -INT {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        // Both fail if it has ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn lines(output: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            if sender.send(line.unwrap()).is_err() {
                return;
            }
        }
    });
    lines
}

fn command(url: &str, arguments: &[&str]) -> Command {
    let mut command = trunkline(Path::new("."));
    command.args(["monitor", url]).args(arguments).stdin(Stdio::null());
    command
}

fn cells(line: &str) -> Vec<&str> {
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

#[test]
fn prints_calls_to_a_pipe() {
    let (_folder, path) = tpch();
    let server = Server::of(&path);
    let url = format!("http://{}", server.address);
    server.call("db.list_tables", &json!({}));
    let plain = Monitor::of(&url, &["--last", "1"]);
    let documents = Monitor::of(&url, &["--json", "--last", "9", "--status", "error"]);
    let filtered = Monitor::of(&url, &["--last", "9", "--method", "no.*", "--id", "\"ä b\""]);

    let line = plain.line();
    let [time, rest @ .., ms] = &cells(&line)[..] else { panic!("{line:?}") };
    assert_eq!(rest, ["json-rpc", "db.list_tables", "1", "result"], "{line:?}");
    assert!(time.len() == "09:30:00.123".len() && ms.parse::<f64>().is_ok(), "{line:?}");
    assert!(!line.contains('\u{1b}'), "no colours in a pipe: {line:?}");

    for id in [json!(2), json!("ä b"), json!("\u{1b}[2J")] {
        let params = json!({"password": "hunter2"});
        server.post(&json!({"jsonrpc": "2.0", "id": id, "method": "no.such", "params": params}));
    }
    let line = plain.line();
    assert_eq!(cells(&line)[1..5], ["json-rpc", "no.such", "2", "error -32601"], "{line:?}");
    assert_eq!(cells(&filtered.line())[3], "\"ä b\"");
    let json: Value = serde_json::from_str(&documents.line()).unwrap();
    assert_eq!((&json["id"], &json["code"]), (&json!(2), &json!(-32601)));
    let request = json["request"]["text"].as_str().unwrap();
    assert!(request.contains("[redacted]") && !request.contains("hunter2"), "{request}");
    plain.line();
    let line = plain.line();
    assert!(!line.contains('\u{1b}') && line.contains("[2J"), "{line:?}");
    for monitor in [plain, documents, filtered] {
        assert_eq!(monitor.interrupt(), Some(0));
    }
}

/// Calls from before the connection was restored are shown.
#[test]
fn reconnects_after_a_restart() {
    let (folder, path) = tpch();
    let server = Server::of(&path);
    let address = server.address.to_string();
    let monitor = Monitor::of(&format!("http://{address}"), &["--last", "9"]);
    server.call("db.list_tables", &json!({}));
    assert_eq!(cells(&monitor.line())[2], "db.list_tables");
    assert_eq!(server.stop().code, Some(0));
    assert!(monitor.remark().contains("connection lost"));
    let mut command = trunkline(folder.path());
    command.args(["--db", "tpch.db", "--listen", &address]);
    let server = Server::start(command);
    server.call("db.describe_table", &json!({"table": "region"}));
    assert!(monitor.remark().contains("reconnected"));
    assert_eq!(cells(&monitor.line())[2], "db.describe_table");
    drop(server);
    assert_eq!(monitor.interrupt(), Some(0));
}

fn events(text: &str) -> Vec<u8> {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    format!("{head}{text}").into_bytes()
}

fn entry(sequence: u64) -> String {
    let json = json!({"time": "2026-07-28T09:30:00.123Z", "method": "m", "id": sequence});
    format!("event: entry\nid: e-{sequence}\ndata: {json}\n\n")
}

/// A server that closes connections, and rejects the last one.
#[test]
fn reconnects_after_broken_connections() {
    let answers = [
        events(&format!("retry: 1\nid: e-0\n\n{}event: entry\nid: e-9\ndata: cut", entry(1))),
        events("event: lost\nid: e-4\ndata: {\"count\":3}\n\nevent: news\ndata: {}\n\n"),
        http(
            "503 Service Unavailable\nContent-Type: application/json",
            r#"{"jsonrpc":"2.0","error":{"code":-32005,"message":"Server is busy"},"id":null}"#,
        ),
        events(&format!(": still here\nid: e-5\n\n{}", entry(6))),
        http(
            "403 Forbidden\nContent-Type: application/json",
            r#"{"jsonrpc":"2.0","error":{"code":-32008,"message":"Forbidden"},"id":null}"#,
        ),
    ];
    let answers = Arc::new(Mutex::new(answers.into_iter()));
    let peer = Peer::new(move |_| answers.lock().unwrap().next().unwrap_or_default());
    let ended = run(&mut command(&peer.url, &["--code", "-1", "--bearer", "t0ken"]));
    let last = |asked: &Asked| asked.header("last-event-id").map(str::to_owned);
    let asked = peer.asked();
    let ids: Vec<_> = asked.iter().map(last).collect();
    let text = |id: &str| Some(id.to_owned());
    assert_eq!(ids, [None, text("e-1"), text("e-4"), text("e-4"), text("e-6")]);
    for asked in &asked {
        assert!(asked.head.starts_with("get /history/stream?code=-1 http/1.1\r\n"), "{asked:?}");
        assert_eq!(asked.header("authorization"), Some("bearer t0ken"));
        assert_eq!(asked.header("accept"), Some("text/event-stream"));
    }
    let shown: Vec<_> = ended.stdout.lines().map(|line| cells(line)[2].to_owned()).collect();
    assert_eq!(shown, ["1", "6"], "{ended:?}");
    let remarks = ["3 calls omitted", "(-32005); reconnecting", "reconnected", "Forbidden"];
    check("at last", &ended, 1, &["09:30:00.123"], &remarks);
}

#[test]
fn rejects_other_replies() {
    let json = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    let page = http("404 Not Found\nContent-Type: text/html", "<html>");
    let unauthorized = http(
        "401 Unauthorized\nContent-Type: application/json",
        r#"{"jsonrpc":"2.0","error":{"code":-32007,"message":"Unauthenticated"},"id":null}"#,
    );
    let large = events(&format!("data: {}", "x".repeat(5 << 20)));
    for (name, answer, code, expected) in [
        (
            "JSON",
            json.as_bytes().to_vec(),
            4,
            "media type \"application/json\" instead of an event stream",
        ),
        ("a page", page, 4, "404"),
        ("no token", unauthorized, 1, "TRUNKLINE_TOKEN"),
        ("no entry", events("event: entry\ndata: []\n\n"), 4, "invalid history entry"),
        ("no JSON", events("event: lost\ndata: no\n\n"), 4, "expected"),
        ("no end", large, 4, "4194304"),
    ] {
        let peer = Peer::always(answer);
        check(name, &run(&mut command(&peer.url, &[])), code, &[], &[expected]);
    }
    let refused = run(&mut command("http://127.0.0.1:1", &[]));
    check("no server", &refused, 3, &[], &["start the server"]);
    check("no URL", &run(&mut command("x", &[])), 2, &[], &["http://x"]);
    check("status", &run(&mut command("http://x", &["--status", "ok"])), 2, &[], &["cancelled"]);
}
