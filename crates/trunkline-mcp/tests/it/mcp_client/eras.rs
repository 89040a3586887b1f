//! The negotiation of the era, and its cache.

use std::sync::Mutex;

use serde_json::{Value, json};
use trunkline::client::Http;
use trunkline_mcp::client::{Client, Error};

use super::script::{
    Answer, Asked, Script, accepted, config, error, event, http, legacy, modern, result, result_of,
    stream,
};
use crate::support::in_time;

/// Checks the requests that a client sends until it is connected. `expected` is the revision, or none if it fails.
async fn check(
    name: &str,
    answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static,
    methods: &[&str],
    expected: Option<&str>,
) {
    let script = Script::start(answer).await;
    let connected = script.connect(|_| {}).await;
    let version = connected.as_ref().ok().map(|client| client.server().protocol_version.clone());
    assert_eq!(version.as_deref(), expected, "{name}: {connected:?}");
    let message = connected.err().map_or(0, |error| error.to_string().len());
    assert!(message < 10_000, "{name}: {message} bytes");
    assert_eq!(script.methods(), methods, "{name}");
}

/// Refuses the first request for its version, with these that are supported.
fn refuses(
    versions: &'static [&'static str],
    then: fn(&Asked) -> Answer,
) -> impl Fn(&Asked) -> Answer + Send + Sync {
    let is_refused = std::sync::atomic::AtomicBool::new(false);
    move |asked| {
        if is_refused.swap(true, std::sync::atomic::Ordering::SeqCst) {
            return then(asked);
        }
        let data = json!({ "supported": versions, "requested": "2026-07-28" });
        error("400 Bad Request", asked, -32022, &data)
    }
}

#[tokio::test]
async fn servers_of_both_eras_are_detected() {
    const MODERN: Option<&str> = Some("2026-07-28");
    const LEGACY: Option<&str> = Some("2025-11-25");
    const PROBE: &str = "server/discover";
    const OLD: &[&str] = &[PROBE, "initialize", "notifications/initialized"];
    let old = |asked: &Asked| legacy(asked, "");
    check("modern", modern, &[PROBE], MODERN).await;
    check("legacy", old, OLD, LEGACY).await;
    let both = refuses(&["2027-01-01", "2026-07-28"], modern);
    check("refused once", both, &[PROBE, PROBE], MODERN).await;
    check("only older versions", refuses(&["2025-11-25"], old), OLD, LEGACY).await;
    check("only other versions", refuses(&["2027-01-01"], modern), &[PROBE], None).await;
    let always = |asked: &Asked| {
        error("400 Bad Request", asked, -32022, &json!({ "supported": ["2026-07-28"] }))
    };
    check("refused twice", always, &[PROBE, PROBE], None).await;
    for code in [-32020, -32021] {
        let other = move |asked: &Asked| error("400 Bad Request", asked, code, &Value::Null);
        check("modern error", other, &[PROBE], None).await;
    }
    let any = |asked: &Asked| match asked.method() {
        PROBE => result(asked, &json!({})),
        _ => legacy(asked, ""),
    };
    check("a result for any method", any, OLD, LEGACY).await;
    let long = "1".repeat(10_000);
    let many = move |asked: &Asked| {
        let versions = vec![&long; 100];
        result(asked, &json!({ "supportedVersions": versions }))
    };
    check("many versions", many, &[PROBE], None).await;
    let other = |asked: &Asked| match asked.method() {
        "initialize" => result(asked, &json!({ "protocolVersion": "1.0", "capabilities": {} })),
        _ => legacy(asked, ""),
    };
    check("an unknown revision", other, &OLD[..2], None).await;
}

/// The replies of a server of HTTP+SSE. The endpoint is named by the first event.
fn sse(endpoint: &str) -> impl Fn(&Asked) -> Answer + use<> {
    let first = format!("event: endpoint\ndata: {endpoint}\n\n");
    let opened = Mutex::new(None);
    move |asked| match &*asked.line {
        "GET /mcp" => {
            let (sender, answer) = stream();
            sender.send(first.clone()).unwrap();
            *opened.lock().unwrap() = Some(sender);
            answer
        }
        "POST /messages?id=7" => {
            if asked.method() == "initialize" {
                let init = json!({ "protocolVersion": "2024-11-05", "capabilities": {} });
                let opened = opened.lock().unwrap();
                opened.as_ref().unwrap().send(event(&result_of(asked, &init))).unwrap();
            }
            accepted()
        }
        _ => http("405 Method Not Allowed", ""),
    }
}

#[tokio::test]
async fn http_and_sse_is_the_last_resort() {
    let methods =
        ["server/discover", "initialize", "GET", "initialize", "notifications/initialized"];
    check("path", sse("/messages?id=7"), &methods, Some("2024-11-05")).await;
    let foreign = sse("http://127.0.0.2/messages?id=7");
    check("another server", foreign, &methods[..3], None).await;
    let not_found = |_: &Asked| http("404 Not Found\nContent-Type: text/html", "<html>");
    check("no MCP", not_found, &methods[..3], None).await;
    let broken = |_: &Asked| http("500 Internal Server Error", "");
    check("broken", broken, &methods[..2], None).await;
}

#[tokio::test]
async fn the_era_is_cached_for_the_origin() {
    let script = Script::start(|asked| legacy(asked, "")).await;
    let config = config();
    for _ in 0..2 {
        let http = Http::connect(&script.url).unwrap();
        in_time("to connect", Client::connect(http, config.clone())).await.unwrap();
    }
    let expected = ["server/discover", "initialize", "notifications/initialized"];
    assert_eq!(script.methods(), [&expected[..], &expected[1..]].concat());

    // Another configuration has another cache.
    script.client().await;
    assert_eq!(script.methods()[5], "server/discover");
}

#[tokio::test]
async fn a_wrong_cached_era_is_found_out() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    let is_upgraded = Arc::new(AtomicBool::new(false));
    let upgraded = Arc::clone(&is_upgraded);
    let script = Script::start(move |asked| match upgraded.load(Ordering::SeqCst) {
        true => modern(asked),
        false => legacy(asked, ""),
    });
    let script = script.await;
    let config = config();
    for expected in ["2025-11-25", "2026-07-28", "2026-07-28"] {
        let http = Http::connect(&script.url).unwrap();
        let client = Client::connect(http, config.clone()).await.unwrap();
        assert_eq!(client.server().protocol_version, expected);
        is_upgraded.store(true, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn refused_clients_do_not_try_other_eras() {
    for status in ["401 Unauthorized", "403 Forbidden", "308 Permanent Redirect\nLocation: /x"] {
        let script = Script::start(move |_| http(status, "")).await;
        let refused = script.connect(|_| {}).await.unwrap_err();
        assert!(matches!(refused, Error::Request(_)), "{status}: {refused}");
        assert_eq!(script.methods(), ["server/discover"], "{status}");
    }
}
