//! Log files, and `GET /logs`.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use trunkline::history::endpoint::{self, Readers};
use trunkline::history::log::{Log, LogConfig};
use trunkline::history::{History, HistoryConfig};
use trunkline::layers::authorize::Rules;
use trunkline::server::ServerHandle;

use super::endpoint::get;
use super::{handle, recorded, request};
use crate::support::{Client, Reply, in_time, on_loopback, serve_with, until};

const PATIENCE: Duration = Duration::from_secs(15);

fn lines(text: &str) -> Vec<Value> {
    let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e} in {line}"));
    text.lines().map(read).collect()
}

/// All lines of the logs of a folder, oldest first.
fn written(folder: &Path) -> Vec<Value> {
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let texts: Vec<String> = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    lines(&texts.concat())
}

async fn ask(server: &ServerHandle, path: &str) -> Reply {
    Client::connect(server.local_addr()).await.ask(get(path, "")).await
}

#[tokio::test]
async fn writes_entries() {
    let folder = tempfile::tempdir().unwrap();
    let (rpc, history) = recorded(HistoryConfig::default());
    handle(&rpc, request("echo", 1)).await;
    let log = Log::open(folder.path().join("new/logs"), &history, LogConfig::default()).unwrap();
    let login = r#"{"jsonrpc":"2.0","method":"login","params":{"password":"hunter2"},"id":1}"#;
    for body in [login, &request("fail", 2), "{"] {
        handle(&rpc, body).await;
    }
    assert!(log.close(PATIENCE));
    assert!(log.close(Duration::ZERO), "it is closed");
    let found = written(log.folder());
    let entries = history.entries(&Default::default()).entries;
    let recorded: Vec<Value> =
        entries.iter().rev().skip(1).map(|entry| serde_json::to_value(&**entry).unwrap()).collect();
    assert_eq!(found, recorded, "the entries of the session");
    let text = fs::read_to_string(log.folder().join(&log.files().unwrap()[0].name)).unwrap();
    assert!(text.contains("[redacted]") && !text.contains("hunter2"), "{text}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let file = log.folder().join(&log.files().unwrap()[0].name);
        assert_eq!((mode(log.folder()), mode(&file)), (0o700, 0o600));
    }
}

/// Makes calls and checks that each is counted, and written or reported as lost, while the oldest files are removed.
async fn flood(queue_bytes: usize, may_lose: bool) {
    const CALLS: u64 = 3_000;
    let folder = tempfile::tempdir().unwrap();
    // The log does not depend on the entries of the history.
    let (rpc, history) = recorded(HistoryConfig { entries: 1, ..HistoryConfig::default() });
    let settings = LogConfig { file_bytes: 20_000, total_bytes: 60_000, files: 9, queue_bytes };
    let log = Log::open(folder.path(), &history, settings).unwrap();
    for id in 1..=CALLS {
        handle(&rpc, request("echo", id)).await;
    }
    assert!(log.close(PATIENCE));
    let stats = log.stats();
    assert_eq!((stats.calls, stats.by_status["result"]), (CALLS, CALLS), "{stats:?}");
    assert_eq!(stats.by_method["echo"].calls, CALLS, "{stats:?}");
    let files = log.files().unwrap();
    assert!(files.iter().all(|file| file.bytes <= 20_000), "{files:?}");
    assert!(files.iter().map(|file| file.bytes).sum::<u64>() <= 60_000, "{files:?}");
    let found = written(log.folder());
    let mut next = None;
    for line in &found {
        let number = line["sequence"].as_u64();
        let count = number.map_or_else(|| line["lost"].as_u64().unwrap(), |_| 1);
        if let (Some(next), Some(number)) = (next, number) {
            assert_eq!(number, next, "in order, and none missing");
        }
        next = number.map(|number| number + 1).or_else(|| Some(next? + count));
    }
    assert_eq!(next, Some(CALLS + 1));
    assert!(may_lose || stats.lost == 0, "{stats:?}");
}

#[tokio::test]
async fn limits_the_total_size() {
    flood(64 << 20, false).await;
    flood(5_000, true).await;
    flood(0, true).await;
}

#[tokio::test]
async fn logs_through_a_socket() {
    let folder = tempfile::tempdir().unwrap();
    let (earlier_rpc, earlier) = recorded(HistoryConfig::default());
    let log = Log::open(folder.path(), &earlier, LogConfig::default()).unwrap();
    handle(&earlier_rpc, request("echo", 7)).await;
    assert!(log.close(PATIENCE));
    let earlier = log.files().unwrap()[0].name.clone();
    fs::write(folder.path().join("secret"), "no log").unwrap();

    let (rpc, history) = recorded(HistoryConfig::default());
    let log = Log::open(folder.path(), &history, LogConfig::default()).unwrap();
    let service =
        rpc.http_with(on_loopback()).merge(endpoint::log_routes(&log, Readers::default()));
    let server = serve_with(service, Default::default()).await;
    for method in ["echo", "echo", "fail", "no.such"] {
        handle(&rpc, request(method, 1)).await;
    }
    handle(&rpc, "{").await;
    until("all are counted", || log.stats().calls == 5).await;
    assert_eq!(history.entries(&Default::default()).entries.len(), 5);

    let listed = ask(&server, "/logs").await.json();
    let logs = listed["logs"].as_array().unwrap();
    let names: Vec<_> = logs.iter().map(|log| log["name"].as_str().unwrap()).collect();
    assert_eq!(names[1..], [&*earlier], "newest first: {listed}");
    assert_eq!((&logs[0]["current"], &logs[1]["current"]), (&json!(true), &json!(false)));

    let one = ask(&server, &format!("/logs?name={earlier}")).await;
    assert_eq!(one.header("content-type"), Some("application/x-ndjson"));
    assert_eq!(lines(std::str::from_utf8(&one.body).unwrap())[0]["id"], 7);

    let stats = ask(&server, "/logs/stats").await.json();
    for (path, expected) in [
        ("/calls", 5),
        ("/streams", 0),
        ("/lost", 0),
        ("/unwritten", 0),
        ("/by_status/result", 2),
        ("/by_status/error", 3),
        ("/by_endpoint/test", 5),
        ("/by_code/7", 1),
        ("/by_code/-32601", 1),
        ("/by_code/-32700", 1),
        ("/by_method/echo/calls", 2),
        ("/by_method/echo/errors", 0),
        ("/by_method/fail/errors", 1),
        ("/by_method/unknown/calls", 1),
        ("/by_method/none/errors", 1),
    ] {
        assert_eq!(stats.pointer(path), Some(&json!(expected)), "{path} of {stats:#}");
    }
    let echo = &stats["by_method"]["echo"];
    assert!(echo["mean_ms"].as_f64() <= echo["max_ms"].as_f64(), "{echo}");
    assert!(stats["since"].as_str().unwrap().ends_with('Z'), "{stats:#}");

    // Calls are counted before they are written.
    let current = in_time("all lines", async {
        loop {
            let reply = ask(&server, "/logs/current").await;
            let found = lines(std::str::from_utf8(&reply.body).unwrap());
            if found.len() == 5 {
                break found;
            }
        }
    })
    .await;
    assert_eq!(current[0]["method"], "echo");
    for (path, status) in [
        ("/logs?name=secret", 404),
        ("/logs?name=../secret", 404),
        ("/logs?name=..%2Fsecret", 404),
        ("/logs?name=%2Fetc%2Fpasswd", 404),
        ("/logs?name=", 404),
        ("/logs?name=%f", 400),
        ("/logs?limit=1", 400),
        ("/logs/current?name=a", 400),
        ("/logs/stats?a", 400),
        ("/logs/other", 404),
    ] {
        assert_eq!(ask(&server, path).await.status, status, "{path}");
    }
    fs::remove_dir_all(folder.path()).unwrap();
    // The refusals above may still be written, to a new file.
    for path in ["/logs", "/logs/current"] {
        let reply = ask(&server, path).await;
        let text = String::from_utf8_lossy(&reply.body);
        assert_eq!(reply.status, 200, "{path}: {text}");
        assert!(!text.contains("echo") && !text.contains("-000001."), "{path}: {text}");
    }
    in_time("the end of the server", server.stop()).await;
}

#[tokio::test]
async fn restricts_readers() {
    let folder = tempfile::tempdir().unwrap();
    let (rpc, history) = recorded(HistoryConfig::default());
    let log = Log::open(folder.path(), &history, LogConfig::default()).unwrap();
    let routes = endpoint::log_routes(&log, Readers::Rules(Rules::new()));
    let server = serve_with(rpc.http_with(on_loopback()).merge(routes), Default::default()).await;
    for path in ["/logs", "/logs/current", "/logs/stats"] {
        assert_eq!(ask(&server, path).await.status, 403, "{path}");
    }
    in_time("the end of the server", server.stop()).await;
}

#[test]
fn rejects_an_invalid_folder() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let history = History::new(HistoryConfig::default());
    let error = Log::open(&file, &history, LogConfig::default()).unwrap_err();
    assert_eq!(error.to_string(), format!("cannot write log files in {}", file.display()));
}
