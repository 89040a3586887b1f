//! Redaction of secrets.

use serde_json::{Value, json};
use trunkline::Extensions;
use trunkline::history::{Filter, HistoryConfig, Redaction, Update};

use super::{entries_of, handle, recorded};

/// Sends `body`, in which all secrets are `hunter2`, and checks that neither entries nor subscriptions contain them.
async fn check(body: &str, entries: usize) {
    let (rpc, history) = recorded(HistoryConfig::default());
    let mut subscription = history.subscribe();
    handle(&rpc, body).await;
    let found = entries_of(&history);
    assert_eq!(found.len(), entries, "{body}");
    for entry in found {
        assert!(!entry.to_string().contains("hunter2"), "{body}: {entry:#}");
        let Update::Entry(live) = subscription.next().await else { panic!("nothing is lost") };
        assert!(!format!("{live:?}").contains("hunter2"), "{body}: {live:?}");
    }
}

fn echo(params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "method": "echo", "params": params, "id": 1 }).to_string()
}

#[tokio::test]
async fn secrets_in_params_and_results() {
    check(&echo(&json!({ "password": "hunter2" })), 1).await;
    check(&echo(&json!({ "a": [{ "B": { "Api-Key": ["hunter2"] } }] })), 1).await;
    check(&echo(&json!({ "header": "Authorization: Bearer hunter2" })), 1).await;
    check(&echo(&json!({ "url": "postgres://u:hunter2@db/x" })), 1).await;
    let escaped =
        r#"{"jsonrpc":"2.0","method":"echo","params":{"\u0070assword":"hunter2"},"id":1}"#;
    check(escaped, 1).await;
    let by_position = r#"{"jsonrpc":"2.0","method":"login","params":["bob","hunter2"],"id":1}"#;
    check(by_position, 1).await;
    check(&format!("[{by_position},{escaped},7]"), 3).await;
}

#[tokio::test]
async fn secrets_in_invalid_messages() {
    check(r#"{"jsonrpc":"2.0","method":"echo","params":{"password":"hunter2"#, 1).await;
    check(r#"{"jsonrpc":"2.0",,"params":{"password":"hunter2"}}"#, 1).await;
    check(r#"[{"jsonrpc":"2.0","params":{"token":"hunter2"}},{]"#, 1).await;
    check("password=hunter2", 1).await;
    check(&format!("{}{{\"password\":\"hunter2\"}}", "[".repeat(500)), 1).await;
    // Over the limit.
    check(&echo(&json!({ "a": "x".repeat(20_000), "password": "hunter2" })), 1).await;
    check(&echo(&json!({ "password": "hunter2".repeat(5_000) })), 1).await;
}

#[tokio::test]
async fn invalid_bytes() {
    let (rpc, history) = recorded(HistoryConfig::default());
    let body = b"{\"jsonrpc\":\"2.0\",\"params\":{\"token\":\"hunter2\xff\"}}".as_slice();
    rpc.handle(body.into(), Extensions::new()).await;
    let [entry] = &entries_of(&history)[..] else { panic!("one entry") };
    assert_eq!(entry["request"]["text"], r#"{"jsonrpc":"2.0","params":{"token":"[redacted]""#);
}

#[tokio::test]
async fn hooks_know_the_method() {
    let redact = Redaction::none().then(|method, text| {
        if method == "login" {
            text.clear();
        }
    });
    let (rpc, history) = recorded(HistoryConfig { redact, ..HistoryConfig::default() });
    let login = r#"{"jsonrpc":"2.0","method":"login","params":["bob","x"],"id":1}"#;
    handle(&rpc, login).await;
    handle(&rpc, echo(&json!({ "token": "kept" }))).await;
    let [second, first] = &history.entries(&Filter::default()).entries[..] else { panic!("two") };
    let request = first.request.as_ref().unwrap();
    let redacted = request.redacted();
    assert_eq!((&*redacted.text, request.bytes(), redacted.is_cut), ("", login.len(), false));
    assert!(second.response.as_ref().unwrap().redacted().text.contains("kept"));
}
