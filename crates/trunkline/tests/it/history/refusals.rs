//! Requests that HTTP refuses.

use serde_json::json;
use trunkline::history::{Entry, Filter, History, HistoryConfig, Update};
use trunkline::server::ServerHandle;
use trunkline::{ErrorObject, Extensions, code, http};

use super::{entries_of, handle, recorded, request};
use crate::support::{Client, in_time, on_loopback, post, post_with, serve_with};

const TOKEN: &str = "Authorization: Bearer b3arer\r\n";

/// A server with a history, which requires a token.
async fn served() -> (ServerHandle, History) {
    let (rpc, history) = recorded(HistoryConfig::default());
    let mut settings = http::HttpConfig { max_body: 1_000, ..on_loopback() };
    settings.bearer.allow("b3arer");
    (serve_with(rpc.http_with(settings), Default::default()).await, history)
}

/// Sends a request and checks that there is one entry with this status, the error code and the reply.
async fn check(request: impl AsRef<[u8]>, status: u16, code: i64) {
    let (server, history) = served().await;
    let mut client = Client::connect(server.local_addr()).await;
    let reply = client.ask(request).await;
    assert_eq!(reply.status, status, "{reply:?}");
    let [entry] = &entries_of(&history)[..] else { panic!("one entry of {status}") };
    assert_eq!((&entry["endpoint"], &entry["status"]), (&json!("json-rpc"), &json!("error")));
    assert_eq!((&entry["code"], entry.get("request")), (&json!(code), None), "{entry:#}");
    let sent: serde_json::Value =
        serde_json::from_str(entry["response"]["text"].as_str().unwrap()).unwrap();
    assert_eq!(sent["error"]["data"]["status"], json!(status), "{entry:#}");
    in_time("the end of the server", server.stop()).await;
}

#[tokio::test]
async fn refusals_through_a_socket() {
    let call = request("echo", 1);
    check(post(&call), 401, code::UNAUTHENTICATED).await;
    let wrong = "Authorization: Bearer wr0ng\r\n";
    check(post_with(wrong, &call), 401, code::UNAUTHENTICATED).await;
    let evil = format!("{TOKEN}Origin: https://evil.example\r\n");
    check(post_with(&evil, &call), 403, code::FORBIDDEN).await;
    check(format!("GET / HTTP/1.1\r\nHost: localhost\r\n{TOKEN}\r\n"), 405, code::REFUSED).await;
    check(post_with(TOKEN, " ".repeat(1_001)), 413, code::REFUSED).await;
    let no_type = format!("POST / HTTP/1.1\r\nHost: localhost\r\n{TOKEN}Content-Length: 0\r\n\r\n");
    check(no_type, 415, code::REFUSED).await;
}

#[tokio::test]
async fn refusals_have_the_authenticated_principal() {
    let (server, history) = served().await;
    let mut client = Client::connect(server.local_addr()).await;
    client.ask(post_with(TOKEN, " ".repeat(1_001))).await;
    let mut client = Client::connect(server.local_addr()).await;
    assert_eq!(client.ask(post_with(TOKEN, request("echo", 1))).await.status, 200);
    let [call, refusal] = &all(&history)[..] else { panic!("two entries") };
    assert!(refusal.principal.is_some() && refusal.principal == call.principal, "{refusal:?}");
    in_time("the end of the server", server.stop()).await;
}

fn all(history: &History) -> Vec<std::sync::Arc<Entry>> {
    history.entries(&Filter { limit: usize::MAX, ..Filter::default() }).entries
}

fn refuse(history: &History, times: usize, reason: &str) {
    let error = ErrorObject::new(code::UNAUTHENTICATED, reason.to_owned());
    for _ in 0..times {
        history.record_refusal(&Extensions::from_endpoint("json-rpc"), &error);
    }
}

#[tokio::test]
async fn refusals_do_not_remove_calls() {
    let rows = [
        // (entries, bytes, bytes of the reason, kept refusals)
        (20, 8 << 20, 10, 5),
        (1_000, 64 << 10, 7_000, 2),
        (4, 8 << 20, 10, 1),
        (3, 8 << 20, 10, 1),
    ];
    for (entries, bytes, reason, kept) in rows {
        let settings = HistoryConfig { entries, bytes, ..HistoryConfig::default() };
        let (rpc, history) = recorded(settings);
        handle(&rpc, request("echo", 1)).await;
        refuse(&history, 500, &"x".repeat(reason));
        handle(&rpc, request("echo", 2)).await;
        let numbers: Vec<u64> = all(&history).iter().rev().map(|entry| entry.sequence).collect();
        let expected: Vec<u64> = [1].into_iter().chain(502 - kept..=502).collect();
        assert_eq!(numbers, expected, "{entries} entries, {bytes} bytes");
        // Many calls remove all other entries, including refusals.
        for id in 0..entries as u64 {
            handle(&rpc, request("echo", id)).await;
        }
        assert!(all(&history).iter().all(|entry| entry.method.is_some()), "{entries} entries");
        refuse(&history, 1, "again");
        assert_eq!(all(&history)[0].code, Some(code::UNAUTHENTICATED), "{entries} entries");
    }
}

#[tokio::test]
async fn subscribers_receive_the_number_of_removed_refusals() {
    let (rpc, history) = recorded(HistoryConfig { entries: 8, ..HistoryConfig::default() });
    let mut subscription = history.subscribe();
    handle(&rpc, request("echo", 1)).await;
    refuse(&history, 10, "no");
    handle(&rpc, request("echo", 2)).await;
    let mut found = Vec::new();
    for _ in 0..5 {
        found.push(match in_time("an update", subscription.next()).await {
            Update::Entry(entry) => format!("{}", entry.sequence),
            Update::Lost(count) => format!("{count} lost"),
        });
    }
    assert_eq!(found, ["1", "8 lost", "10", "11", "12"]);
}
