//! `GET /history`: pages, filters and access.

use serde_json::{Map, Value, json};
use trunkline::access::Principal;
use trunkline::history::endpoint::{self, HistoryRoutesConfig, Readers};
use trunkline::history::{Filter, History};
use trunkline::http::{self, Headers};
use trunkline::layers::authorize::{Rules, claim, principal, scope};
use trunkline::server::ServerHandle;
use trunkline::{Router, Rpc};

use super::{recorded, request};
use crate::support::{Client, Reply, in_time, on_loopback, post, post_with, serve_with};

pub(super) fn get(path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n")
}

/// A server with the history endpoints.
pub(super) async fn served(
    rpc: &Rpc,
    history: &History,
    settings: HistoryRoutesConfig,
) -> ServerHandle {
    let service = rpc.http_with(on_loopback()).merge(endpoint::routes(history, settings));
    serve_with(service, Default::default()).await
}

async fn ask(server: &ServerHandle, request: impl AsRef<[u8]>) -> Reply {
    Client::connect(server.local_addr()).await.ask(request).await
}

fn sequences(page: &Value) -> Vec<u64> {
    let entries = page["entries"].as_array().unwrap_or_else(|| panic!("a page: {page}"));
    entries.iter().map(|entry| entry["sequence"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn entries_through_a_socket() {
    let (rpc, history) = recorded(Default::default());
    let server = served(&rpc, &history, HistoryRoutesConfig::default()).await;
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let parent = format!("traceparent: 00-{trace}-00f067aa0ba902b7-01\r\n");
    let login = r#"{"jsonrpc":"2.0","method":"login","params":{"user":"ada","password":"hunter2"},"id":"a"}"#;
    ask(&server, post_with(&parent, login)).await;
    ask(&server, post(request("fail", 2))).await;
    ask(&server, post("{")).await;

    let reply = ask(&server, get("/history", "")).await;
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json")));
    let page = reply.json();
    assert_eq!((sequences(&page), &page["next"]), (vec![3, 2, 1], &Value::Null), "{page:#}");
    let [broken, failed, login] = &page["entries"].as_array().unwrap()[..] else {
        panic!("{page:#}")
    };
    for (entry, part, expected) in [
        (login, "method", json!("login")),
        (login, "id", json!("a")),
        (login, "endpoint", json!("json-rpc")),
        (login, "protocol", json!("jsonrpc")),
        (login, "status", json!("result")),
        (login, "trace_id", json!(trace)),
        (failed, "status", json!("error")),
        (failed, "code", json!(7)),
        (broken, "code", json!(-32700)),
        (broken, "status", json!("error")),
    ] {
        assert_eq!(entry[part], expected, "{part} of {entry:#}");
    }
    assert!(login["ms"].is_f64() && login["duration_us"].is_u64(), "{login:#}");
    let of = |entry: &Value, text: &str| entry[text]["text"].as_str().unwrap().to_owned();
    assert!(of(login, "request").contains(r#""password":"[redacted]""#), "{login:#}");
    assert!(of(login, "response").contains(r#""result":"ada""#), "{login:#}");
    assert!(of(failed, "response").contains(r#""token":"[redacted]""#), "{failed:#}");
    let text = String::from_utf8(reply.body).unwrap();
    assert!(!text.contains("hunter2") && !text.contains("t0p"), "{text}");

    let again = ask(&server, get("/history", "")).await.json();
    assert_eq!(sequences(&again), [3, 2, 1], "that it was read is not recorded");
    let mut client = Client::connect(server.local_addr()).await;
    client.send("HEAD /history HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await;
    assert_eq!(client.head().await.status, 200);
    assert!(client.rest().await.is_empty());
    in_time("the end of the server", server.stop()).await;
}

/// A server with seven entries.
async fn filled() -> (ServerHandle, History) {
    let (rpc, history) = recorded(Default::default());
    let server = served(
        &rpc,
        &history,
        HistoryRoutesConfig { max_page: 5, ..HistoryRoutesConfig::default() },
    )
    .await;
    for body in [
        request("add", 1),
        request("echo", 1),
        request("fail", 2),
        json!({ "jsonrpc": "2.0", "method": "echo", "id": "1" }).to_string(),
        json!({ "jsonrpc": "2.0", "method": "echo", "id": "ä b" }).to_string(),
        request("echo.more", 3),
        "{".to_owned(),
    ] {
        ask(&server, post(body)).await;
    }
    (server, history)
}

#[tokio::test]
async fn filters_in_the_query() {
    let (server, _) = filled().await;
    let rows: &[(&str, &[u64], Option<u64>)] = &[
        ("limit=5", &[7, 6, 5, 4, 3], Some(3)),
        ("limit=5&before=3", &[2, 1], None),
        ("limit=2&method=echo", &[5, 4], Some(4)),
        ("limit=2&method=echo&before=4", &[2], None),
        ("limit=5&method=echo*", &[6, 5, 4, 2], None),
        ("limit=5&method=%65cho.more", &[6], None),
        ("limit=5&id=1", &[2, 1], None),
        ("limit=5&id=%221%22", &[4], None),
        ("limit=5&id=%c3%A4%20b", &[5], None),
        ("limit=5&status=error", &[7, 6, 3, 1], None),
        ("limit=5&status=result", &[5, 4, 2], None),
        ("limit=5&status=cancelled", &[], None),
        ("limit=5&code=-32700", &[7], None),
        ("limit=5&endpoint=json-rpc&code=7", &[3], None),
        ("limit=5&endpoint=mcp", &[], None),
        ("limit=5&principal=ada", &[], None),
        ("limit=5&trace_id=00000000000000000000000000000000", &[], None),
        ("limit=5&since=2000-01-01T00:00:00Z&code=7", &[3], None),
        ("limit=5&since=2000-01-01T00:00:00%2B02:00&code=7", &[3], None),
        ("limit=5&since=2000-01-01T00:00:00+02:00&code=7", &[3], None),
        ("limit=5&since=2999-01-01T00:00:00Z", &[], None),
        ("limit=5&until=2000-01-01T00:00:00.5Z", &[], None),
        ("&limit=5&&code=7&", &[3], None),
    ];
    for (query, expected, next) in rows {
        let reply = ask(&server, get(&format!("/history?{query}"), "")).await;
        assert_eq!(reply.status, 200, "{query}: {reply:?}");
        let page = reply.json();
        assert_eq!((&*sequences(&page), page["next"].as_u64()), (*expected, *next), "{query}");
    }
    in_time("the end of the server", server.stop()).await;
}

#[tokio::test]
async fn rejects_invalid_queries() {
    let (server, _) = filled().await;
    for (query, reason) in [
        ("", "`limit` must be at most 5"),
        ("limit=6", "`limit` must be at most 5"),
        ("limit=0", "`limit` must be at least 1"),
        ("methods=a", "unknown parameter \"methods\""),
        ("limit=1&limit=2", "duplicate parameter `limit`"),
        ("limit=-1", "invalid `limit`; expected an integer"),
        ("limit", "invalid `limit`; expected an integer"),
        ("before=x", "invalid `before`; expected an integer"),
        ("code=1.5", "invalid `code`; expected an integer"),
        ("status=ok", "invalid `status`; expected result, error or cancelled"),
        ("since=yesterday", "invalid `since`; expected a time such as"),
        ("until=2026-02-30T00:00:00Z", "invalid `until`; expected a time such as"),
        ("method=%f", "percent-encoded"),
        ("method=%ff", "percent-encoded"),
        ("method=%+1a", "percent-encoded"),
    ] {
        let reply = ask(&server, get(&format!("/history?{query}"), "")).await;
        assert_eq!(reply.status, 400, "{query}");
        let error = &reply.json()["error"];
        assert_eq!(error["code"], -32602, "{query}: {error}");
        let found = error["data"]["reason"].as_str().unwrap();
        assert!(found.contains(reason), "{query}: {found}");
    }
    let posted = post(request("echo", 1));
    let posted = String::from_utf8(posted).unwrap().replacen("POST /", "POST /history", 1);
    assert_eq!(ask(&server, posted).await.status, 405);
    in_time("the end of the server", server.stop()).await;
}

/// Checks the status of the response for each sender.
async fn check_readers(readers: Readers, expected: [u16; 4]) {
    let senders = [
        ("no principal", None),
        ("listed", Some(Principal::new("ada"))),
        ("signed", Some(Principal::signed("issuer", "ada"))),
        ("an admin", {
            let role = Map::from_iter([("role".to_owned(), json!("admin"))]);
            Some(Principal::signed("issuer", "eve").with_claims(role))
        }),
    ];
    let (rpc, history) = recorded(Default::default());
    let routes = endpoint::routes(
        &history,
        HistoryRoutesConfig { readers: readers.clone(), ..HistoryRoutesConfig::default() },
    );
    let service = rpc.http_with(http::HttpConfig::default()).merge(routes);
    for ((name, sender), status) in senders.into_iter().zip(expected) {
        for path in ["/history", "/history/stream"] {
            let mut request = ::http::Request::get(path)
                .header("host", "localhost")
                .body(http_body_util::Empty::<bytes::Bytes>::new())
                .unwrap();
            if let Some(sender) = sender.clone() {
                request.extensions_mut().insert(sender);
            }
            let reply = service.handle(request).await;
            assert_eq!(reply.status(), status, "{name} at {path} with {readers:?}");
        }
    }
}

#[tokio::test]
async fn restricts_readers() {
    check_readers(Readers::default(), [200, 200, 403, 403]).await;
    check_readers(Readers::Anyone, [200, 200, 200, 200]).await;
    check_readers(Readers::Rules(Rules::new()), [403, 403, 403, 403]).await;
    let others = Rules::new().require("db.*", claim("role", "admin"));
    check_readers(Readers::Rules(others.clone()), [403, 403, 403, 403]).await;
    let admins = others.require("history", claim("role", "admin"));
    check_readers(Readers::Rules(admins.clone()), [403, 403, 403, 200]).await;
    let both = admins.require("*", scope("all"));
    check_readers(Readers::Rules(both), [403, 403, 403, 403]).await;
    let ada = Rules::new().require("hist*", principal("ada"));
    check_readers(Readers::Rules(ada), [403, 200, 403, 403]).await;
}

#[tokio::test]
async fn requires_a_token_like_other_endpoints() {
    let (rpc, history) = recorded(Default::default());
    let mut settings = on_loopback();
    settings.bearer.allow("b3arer");
    let service =
        rpc.http_with(settings).merge(endpoint::routes(&history, HistoryRoutesConfig::default()));
    let server = serve_with(service, Default::default()).await;
    let token = "Authorization: Bearer b3arer\r\n";
    for (headers, status) in [
        ("", 401),
        ("Authorization: Bearer wr0ng\r\n", 401),
        (token, 200),
        (&*format!("{token}Origin: https://evil.example\r\n"), 403),
    ] {
        for path in ["/history", "/history/stream"] {
            let mut client = Client::connect(server.local_addr()).await;
            client.send(get(path, headers)).await;
            assert_eq!(client.head().await.status, status, "{headers} at {path}");
        }
    }
    // Only refusals are recorded.
    let all = Filter::default();
    assert!(history.entries(&all).entries.iter().all(|entry| entry.endpoint == "history"));
    assert_eq!(history.entries(&all).entries.len(), 6);
}

/// A method with the name `history` is unrelated to the endpoint.
#[tokio::test]
async fn a_method_called_history() {
    let router = Router::new().method("history", |headers: Headers| headers.len() > 1);
    let (rpc, history) = super::recorded_as(router, Default::default());
    let server = served(&rpc, &history, HistoryRoutesConfig::default()).await;
    assert_eq!(ask(&server, post(request("history", 1))).await.json()["result"], true);
    assert_eq!(sequences(&ask(&server, get("/history", "")).await.json()), [1]);
    in_time("the end of the server", server.stop()).await;
}
