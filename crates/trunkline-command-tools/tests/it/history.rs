//! Calls of tools in the history.

use serde_json::json;
use trunkline::Extensions;
use trunkline::history::{Filter, History, HistoryConfig};
use trunkline_command_tools::ToolConfig;

use super::support::Folder;

const SECRET: &str = "hunter2-is-secret";

/// The texts in the history of a call with a secret in its arguments.
async fn call(script: &str) -> String {
    let tools = Folder::new();
    tools.tool("t", script, "");
    let service = tools.serve(ToolConfig::default());
    let history = History::new(HistoryConfig::default());
    let rpc = service.rpc.clone().with_history(history.clone());
    let params = json!({ "api_key": SECRET, "city": "Bern" });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tool.t", "params": params });
    rpc.handle(body.to_string().into(), Extensions::from_endpoint("json-rpc")).await;
    let entries = history.entries(&Filter::default()).entries;
    let texts = entries.iter().flat_map(|entry| [&entry.request, &entry.response]);
    let kept: Vec<_> = texts.flatten().map(|text| text.redacted().text.clone()).collect();
    assert_eq!(kept.len(), 2, "{kept:?}");
    kept.concat()
}

#[tokio::test]
async fn redacts_secrets_in_arguments() {
    let kept = call("grep -c hunter2").await;
    assert!(kept.contains("Bern") && kept.contains("\"result\":1"), "the tool gets it: {kept}");
    assert!(!kept.contains(SECRET), "{kept}");

    let kept = call("cat").await;
    assert!(kept.contains("\"result\":{"), "{kept}");
    assert!(!kept.contains(SECRET), "in the result: {kept}");

    let kept = call("echo refused >&2; exit 1").await;
    assert!(kept.contains("exit code 1"), "{kept}");
    assert!(!kept.contains(SECRET), "in the error: {kept}");
}
