//! Entries of cancelled calls.

use serde_json::json;
use trunkline::history::{Filter, History, HistoryConfig, Status};

use super::{entries_of, from, handle, recorded_as};
use crate::support::{Client, Gate, WAIT, in_time, on_loopback, post, serve_with, until};

fn newest(history: &History) -> Option<(Status, Option<String>)> {
    let page = history.entries(&Filter::default());
    page.entries.first().map(|entry| (entry.status, entry.method.as_deref().map(str::to_owned)))
}

#[tokio::test]
async fn a_dropped_call() {
    let gate = Gate::new();
    let (rpc, history) = recorded_as(gate.router(), HistoryConfig::default());
    let call = tokio::spawn(async move { rpc.handle(WAIT.into(), from("test", None)).await });
    until("the call runs", || gate.entered() == 1).await;
    assert_eq!(newest(&history), None, "a call is recorded when it ends");
    call.abort();
    until("its end is recorded", || newest(&history).is_some()).await;
    let [entry] = &entries_of(&history)[..] else { panic!("one entry") };
    assert_eq!((&entry["status"], &entry["method"]), (&json!("cancelled"), &json!("wait")));
    assert_eq!(entry["request"]["text"], WAIT);
    assert!(entry.get("response").is_none(), "{entry:#}");
}

#[tokio::test]
async fn a_dropped_batch() {
    let gate = Gate::new();
    let (rpc, history) = recorded_as(gate.router(), HistoryConfig::default());
    let body = format!(r#"[{{"jsonrpc":"2.0","method":"ping","id":0}},{WAIT},{WAIT},{WAIT}]"#);
    let batch = tokio::spawn(async move { handle(&rpc, body).await });
    until("the calls run", || gate.entered() == 3).await;
    gate.open(1);
    until("one has ended", || entries_of(&history).len() == 2).await;
    batch.abort();
    until("all have ended", || entries_of(&history).len() == 4).await;
    let mut ends: Vec<_> =
        entries_of(&history).iter().map(|entry| entry["status"].to_string()).collect();
    ends.sort_unstable();
    assert_eq!(ends, ["\"cancelled\"", "\"cancelled\"", "\"result\"", "\"result\""]);
}

#[tokio::test]
async fn a_disconnected_client() {
    let gate = Gate::new();
    let (rpc, history) = recorded_as(gate.router(), HistoryConfig::default());
    let server = serve_with(rpc.http_with(on_loopback()), Default::default()).await;
    let mut client = Client::connect(server.local_addr()).await;
    client.send(post(WAIT)).await;
    until("the call runs", || gate.entered() == 1).await;
    drop(client);
    until("its end is recorded", || newest(&history).is_some()).await;
    assert_eq!(newest(&history), Some((Status::Cancelled, Some("wait".to_owned()))));
    in_time("the end of the server", server.stop()).await;
}

#[tokio::test]
async fn a_call_that_is_dropped_before_it_runs() {
    let (rpc, history) = recorded_as(Gate::new().router(), HistoryConfig::default());
    drop(rpc.read(WAIT.into(), from("test", None)));
    assert_eq!(newest(&history), Some((Status::Cancelled, Some("wait".to_owned()))));
}
