//! The audit log of several layers.

use std::collections::HashSet;
use std::fs;

use serde_json::Value;
use trunkline::layers::AuditLayer;
use trunkline::layers::audit::{AuditConfig, AuditLog};
use trunkline::{Operation, Router};

/// Each layer numbers its calls, and all of them write to one log at the same time.
#[tokio::test]
async fn ids_of_calls_differ_between_layers() {
    const LAYERS: usize = 200;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let log = AuditLog::open(&path, AuditConfig::default()).unwrap();
    let layers: Vec<_> = (0..LAYERS).map(|_| AuditLayer::new(log.clone())).collect();
    for layer in layers {
        let delete = Operation::new("delete", || "deleted").destructive();
        let rpc = Router::new().operation(delete).layer(layer).build().unwrap();
        assert_eq!(rpc.call("delete", &[0; 0]).await, Ok("deleted".to_owned()));
    }
    let text = fs::read_to_string(path).unwrap();
    let entries = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let begun = entries.filter(|entry| entry["event"] == "begin");
    let ids: HashSet<_> = begun.map(|entry| entry["call"].to_string()).collect();
    assert_eq!(ids.len(), LAYERS, "{ids:?}");
}
