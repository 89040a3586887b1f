//! The audit log of several layers, the params of its entries, and the work for them.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;

use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{spawn, spawn_blocking};
use trunkline::access::Principal;
use trunkline::layers::audit::{AuditConfig, AuditLog, DatabaseOperation};
use trunkline::layers::authorize::{Rules, principal};
use trunkline::{Effect, Extensions, Operation, RawParams, Router, Rpc, code};

fn open_log() -> (TempDir, PathBuf, AuditLog) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let log = AuditLog::open(&path, AuditConfig::default()).unwrap();
    (folder, path, log)
}

fn entries(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Each layer numbers its calls, and all of them write to one log at the same time.
#[tokio::test]
async fn ids_of_calls_differ_between_layers() {
    const LAYERS: usize = 200;
    let (_folder, path, log) = open_log();
    for _ in 0..LAYERS {
        let delete = Operation::new("delete", || "deleted").destructive();
        let rpc = Router::new().operation(delete).audit(log.clone()).build().unwrap();
        assert_eq!(rpc.call("delete", &[0; 0]).await, Ok("deleted".to_owned()));
    }
    let entries = entries(&path);
    let begun = entries.iter().filter(|entry| entry["event"] == "begin");
    let ids: HashSet<_> = begun.map(|entry| entry["call"].to_string()).collect();
    assert_eq!(ids.len(), LAYERS, "{ids:?}");
}

/// A service whose operation `db.delete` only `ada` may call.
fn rpc(log: AuditLog) -> Rpc {
    let delete = |_: RawParams| "deleted";
    Router::new()
        .operation(
            Operation::new("db.delete", delete).destructive().default_database("main").effect_of(
                |params| match params.get("b") {
                    Some(Value::Bool(true)) => Effect::ReadOnly,
                    _ => Effect::Additive,
                },
            ),
        )
        .authorize(Rules::new().require("db.*", principal("ada")))
        .audit(log)
        .build()
        .unwrap()
}

/// The error code of a call of `db.delete`.
async fn call(rpc: &Rpc, caller: &str, params: &str) -> Option<i64> {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"db.delete","params":{params}}}"#);
    let mut extensions = Extensions::new();
    extensions.insert(Principal::new(caller));
    let reply = rpc.handle(body.into(), extensions).await.into_json().unwrap();
    serde_json::from_slice::<Value>(&reply).unwrap()["error"]["code"].as_i64()
}

/// Params with this text, and their canonical form, which have the same length.
fn with_text(bytes: usize) -> (String, String) {
    let text = "x".repeat(bytes - r#"{"b":0,"a":""}"#.len());
    (format!(r#"{{"b":0,"a":"{text}"}}"#), format!(r#"{{"a":"{text}","b":0}}"#))
}

const SHORT: usize = 64 << 10;
const LONG: usize = SHORT + 1;

#[tokio::test]
async fn entries_have_the_digest_of_canonical_params_unless_rules_refuse_the_call() {
    let (_folder, path, log) = open_log();
    let rpc = rpc(log);
    for bytes in [100, SHORT, LONG] {
        let (params, canonical) = with_text(bytes);
        let before = entries(&path).len();
        assert_eq!(call(&rpc, "ada", &params).await, None, "{bytes}");
        let found = entries(&path).split_off(before);
        let [begin, end] = &found[..] else { panic!("{bytes}: {found:?}") };
        assert_eq!((&begin["event"], &end["event"]), (&json!("begin"), &json!("end")));
        assert_eq!(end["outcome"], "ok", "{bytes}: {end}");
        let digits = digest(&SHA256, canonical.as_bytes());
        let digits: String = digits.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        for entry in [begin, end] {
            assert_eq!(entry["params_sha256"], json!(digits), "{bytes}: {entry}");
            assert_eq!(entry["effect"], "additive", "{bytes}: {entry}");
        }
        assert_eq!(call(&rpc, "bob", &params).await, Some(code::FORBIDDEN), "{bytes}");
        let found = entries(&path).split_off(before + 2);
        let [refused] = &found[..] else { panic!("{bytes}: {found:?}") };
        for (member, expected) in [
            ("event", json!("end")),
            ("outcome", json!("refused")),
            ("code", json!(code::FORBIDDEN)),
            ("operation", json!("db.delete")),
            ("effect", json!("destructive")),
            ("database", json!("main")),
            ("principal", json!("bob")),
            ("params_sha256", Value::Null),
        ] {
            assert_eq!(refused[member], expected, "{bytes}: {refused}");
        }
    }
    let before = entries(&path).len();
    for bytes in [100, LONG] {
        let reading = with_text(bytes).0.replace(r#""b":0"#, r#""b":true"#);
        assert_eq!(call(&rpc, "ada", &reading).await, None, "{bytes}");
        assert_eq!(entries(&path).len(), before, "{bytes}: calls that read are not logged");
    }
}

#[tokio::test]
async fn entries_have_no_database_that_the_params_do_not_name() {
    let (_folder, path, log) = open_log();
    let rpc = rpc(log);
    for (params, expected) in [
        ("{}", json!("main")),
        ("[]", json!("main")),
        (r#"{"database":"other"}"#, json!("other")),
        (r#"{"database":null}"#, json!("main")),
        (r#"{"database":7}"#, Value::Null),
        (r#"{"database":"other","database":"main"}"#, Value::Null),
        (r#"["other"]"#, Value::Null),
    ] {
        assert_eq!(call(&rpc, "ada", params).await, None, "{params}");
        let entry = entries(&path).pop().unwrap();
        assert_eq!(entry["database"], expected, "{params}: {entry}");
    }
}

/// Params of 1 MB do not occupy a thread that serves other calls. The calls that access rules refuse do not wait for the
/// threads that process them, either.
#[test]
fn long_params_are_processed_on_other_threads() {
    let runtime: Runtime =
        Builder::new_current_thread().enable_all().max_blocking_threads(1).build().unwrap();
    let (_folder, path, log) = open_log();
    runtime.block_on(async {
        let rpc = rpc(log);
        let (release, released) = channel::<()>();
        let occupied = spawn_blocking(move || released.recv().is_err());
        let (short, long) = (with_text(SHORT).0, with_text(1 << 20).0);
        let waiting = spawn({
            let (rpc, long) = (rpc.clone(), long.clone());
            async move { call(&rpc, "ada", &long).await }
        });
        assert_eq!(call(&rpc, "ada", &short).await, None);
        assert_eq!(call(&rpc, "bob", &long).await, Some(code::FORBIDDEN));
        // One call has ended, one is refused, and the third one has not begun.
        assert!(!waiting.is_finished());
        assert_eq!(entries(&path).len(), 3);
        drop(release);
        assert_eq!(waiting.await.unwrap(), None);
        assert!(occupied.await.unwrap(), "released by dropping the sender");
        assert_eq!(entries(&path).len(), 5);
    });
}
