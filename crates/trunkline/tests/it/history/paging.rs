//! Filters and pages.

use std::time::{Duration, SystemTime};

use serde_json::json;
use trunkline::history::{Filter, History, HistoryConfig, Status};
use trunkline::{Id, Rpc};

use super::{from, recorded, request};

/// Eight entries with two endpoints, three methods and three statuses.
async fn service() -> (Rpc, History) {
    let (rpc, history) = recorded(HistoryConfig::default());
    let rows = [
        ("stdio", Some("ada"), request("add", 1)),
        ("stdio", Some("bob"), request("echo", 1)),
        ("mcp", None, request("fail", 2)),
        ("mcp", Some("ada"), json!({ "jsonrpc": "2.0", "method": "echo", "id": "1" }).to_string()),
        ("mcp", None, "{".to_owned()),
        ("stdio", None, json!({ "jsonrpc": "2.0", "method": "echo" }).to_string()),
        ("stdio", None, request("echo.more", 3)),
    ];
    for (endpoint, principal, body) in rows {
        rpc.handle(body.into(), from(endpoint, principal)).await;
    }
    drop(rpc.read(request("echo", 4).into(), from("stdio", None)));
    (rpc, history)
}

#[track_caller]
fn check(history: &History, filter: Filter, expected: &[u64], next: Option<u64>) {
    let page = history.entries(&filter);
    let found: Vec<u64> = page.entries.iter().map(|entry| entry.sequence).collect();
    assert_eq!((&*found, page.next), (expected, next), "{filter:?}");
}

#[tokio::test]
async fn filters() {
    let (_rpc, history) = service().await;
    let all = Filter::default;
    let found = |filter, expected: &[u64]| check(&history, filter, expected, None);
    let text = |text: &str| Some(text.to_owned());
    found(all(), &[8, 7, 6, 5, 4, 3, 2, 1]);
    found(Filter { method: text("echo"), ..all() }, &[8, 6, 4, 2]);
    found(Filter { method: text("echo*"), ..all() }, &[8, 7, 6, 4, 2]);
    found(Filter { method: text("nothing"), ..all() }, &[]);
    found(Filter { id: Some(Id::from(1)), ..all() }, &[2, 1]);
    found(Filter { id: Some(Id::from("1")), ..all() }, &[4]);
    found(Filter { status: Some(Status::Result), ..all() }, &[6, 4, 2]);
    found(Filter { status: Some(Status::Cancelled), ..all() }, &[8]);
    found(Filter { status: Some(Status::Error), endpoint: text("mcp"), ..all() }, &[5, 3]);
    found(Filter { code: Some(7), ..all() }, &[3]);
    found(Filter { principal: text("ada"), ..all() }, &[4, 1]);
    found(Filter { trace_id: text("0"), ..all() }, &[]);
    let (now, second) = (SystemTime::now(), Duration::from_secs(60));
    found(Filter { since: Some(now + second), ..all() }, &[]);
    found(Filter { until: Some(now - second), ..all() }, &[]);
    let third = history.entries(&Filter { code: Some(7), ..all() }).entries[0].time;
    let since = history.entries(&Filter { since: Some(third), until: Some(now), ..all() });
    assert!(since.entries.iter().any(|entry| entry.sequence == 3), "its own time is within");
}

#[tokio::test]
async fn pages() {
    let (_rpc, history) = service().await;
    let page = |before, limit| Filter { before, limit, ..Filter::default() };
    check(&history, page(None, 3), &[8, 7, 6], Some(6));
    check(&history, page(Some(6), 3), &[5, 4, 3], Some(3));
    check(&history, page(Some(3), 3), &[2, 1], None);
    check(&history, page(Some(3), 2), &[2, 1], None);
    check(&history, page(Some(1), 2), &[], None);
    check(&history, page(None, 0), &[], Some(9));
    check(&history, page(Some(3), 0), &[], Some(3));
    check(&history, page(Some(1), 0), &[], None);
    let echoes = Filter { method: Some("echo".to_owned()), ..page(None, 3) };
    check(&history, echoes.clone(), &[8, 6, 4], Some(4));
    check(&history, Filter { before: Some(4), ..echoes }, &[2], None);
}
