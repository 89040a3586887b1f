//! Names, lists, calls and results.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use trunkline::Pattern;
use trunkline::client::http::HttpClientConfig;
use trunkline::client::{Client, Http};
use trunkline_gateway::Target;

use crate::support::{Mode, Scripted, Service, tool, tools};

const META: &str = "io.modelcontextprotocol/serverInfo";

/// A result with members of all kinds.
fn result() -> Value {
    json!({
        "content": [
            { "type": "text", "text": "é", "annotations": { "audience": ["user"] } },
            { "type": "image", "data": "AAAA", "mimeType": "image/png", "_meta": { "x": 1 } },
        ],
        "structuredContent": { "b": 1.50, "a": [null, true] },
        "isError": false,
        "_meta": { "example/trace": "t", "other": { "deep": [1] } },
        "vendor": "x",
    })
}

#[tokio::test]
async fn results_are_passed_on_unchanged() {
    let upstream = Scripted::start(tools(&["read"])).await;
    let service = Service::start(vec![("up", upstream.config())]).await;
    upstream.change(|script| script.result = result());
    let found = service.call("up.read", json!({ "path": "a" })).await;
    assert_eq!(found.as_ref(), Ok(&result()), "JSON-RPC");

    let call = |meta: Value| {
        let params = json!({ "name": "up__read", "arguments": { "path": "a" }, "_meta": meta });
        service.call("tools/call", params)
    };
    assert_eq!(call(json!({})).await, Ok(result()), "MCP, legacy");
    let modern = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let mut expected = result();
    expected["resultType"] = "complete".into();
    let mut found = call(modern.clone()).await.unwrap();
    let meta = found["_meta"].as_object_mut().unwrap().remove(META).unwrap();
    assert_eq!(meta["name"], "gateway");
    assert_eq!(found, expected, "MCP, modern");

    // Members of the envelope are those of the gateway. Before 2026-07-28, structured content is an object.
    upstream.change(|script| {
        script.result = json!({
            "resultType": "complete",
            "structuredContent": [1],
            "_meta": { META: { "name": "upstream" } },
        });
    });
    let found = call(modern).await.unwrap();
    assert_eq!(found["_meta"][META]["name"], "gateway", "{found}");
    assert_eq!(found["structuredContent"], json!([1]), "{found}");
    assert_eq!(found["content"], json!([]), "{found}");
    let found = call(json!({})).await.unwrap();
    assert_eq!(found["structuredContent"], Value::Null, "{found}");
}

#[tokio::test]
async fn lists_have_the_definitions_of_the_upstream() {
    let definition = json!({
        "name": "read",
        "title": "Read",
        "description": "Reads.",
        "inputSchema": { "type": "object", "properties": { "path": { "type": "string" } } },
        "outputSchema": { "type": "object", "properties": { "text": { "type": "string" } } },
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    });
    let upstream = Scripted::start(vec![definition.clone()]).await;
    let service = Service::start(vec![("up", upstream.config())]).await;
    let list = service.call("tools/list", json!({})).await.unwrap();
    let mut expected = definition;
    expected["name"] = "up__read".into();
    assert_eq!(list["tools"], json!([expected]));
    // Arguments are validated.
    let error = service.call("up.read", json!({ "path": 1 })).await.unwrap_err();
    assert_eq!(error["code"], -32602, "{error}");
}

#[tokio::test]
async fn names_that_clients_refuse_are_shortened() {
    let long = "x".repeat(100);
    let upstream = Scripted::start(tools(&["repo.search", "repo/search", &long, "ok", "ok"])).await;
    let service = Service::start(vec![("a", upstream.config())]).await;
    // The digests are those of `printf %s NAME | sha256sum`.
    let full = format!("a__{}_09ecb6eb", "x".repeat(52));
    let expected = [
        "a__repo_search_65621cfa".to_owned(),
        "a__repo_search_913c34ad".to_owned(),
        // Lists shorten the full name, too.
        format!("a__{}_9a8d4186", "x".repeat(28)),
        "a__ok".to_owned(),
    ];
    assert_eq!(service.tools(), expected);
    for name in [&full, &expected[2]] {
        assert!(service.call("tools/call", json!({ "name": name })).await.is_ok(), "{name}");
    }
    let status = service.status("a");
    assert_eq!(status.rejected.len(), 1, "{status:?}");
    assert_eq!(status.rejected[0].reason, "the name `a__ok` is used by another tool");
    assert!(service.call("a.repo_search_65621cfa", json!({})).await.is_ok());
}

#[tokio::test]
async fn patterns_select_tools() {
    let upstream = Scripted::start(tools(&["read_a", "read_secret", "write_a"])).await;
    let mut config = upstream.config();
    config.tools.allow = vec![Pattern::new("read_*")];
    config.tools.deny = vec![Pattern::new("*secret*")];
    let service = Service::start(vec![("up", config)]).await;
    assert_eq!(service.tools(), ["up__read_a"]);
    let error = service.call("up.write_a", json!({})).await.unwrap_err();
    assert_eq!(error["code"], -32601, "{error}");
}

#[tokio::test]
async fn tools_that_cannot_be_offered_are_rejected() {
    let scalar = json!({ "name": "scalar", "inputSchema": { "type": "string" } });
    let remote = json!({
        "name": "remote",
        "inputSchema": { "type": "object", "properties": { "a": { "$ref": "http://127.0.0.1:1/" } } },
    });
    let large = tool("large", &"x".repeat(256 << 10));
    let upstream = Scripted::start(vec![scalar, remote, large, tool("good", "Good.")]).await;
    let service = Service::start(vec![("up", upstream.config())]).await;
    assert_eq!(service.tools(), ["up__good"]);
    let rejected = service.status("up").rejected;
    let names: Vec<_> = rejected.iter().map(|rejected| rejected.name.as_str()).collect();
    assert_eq!(names, ["scalar", "remote", "large"]);
}

#[tokio::test]
async fn credentials_are_those_of_the_upstream() {
    let start = || Scripted::start(tools(&["a"]));
    let upstreams = [start().await, start().await, start().await];
    let [mut with_token, without, mut with_oauth] = upstreams.each_ref().map(Scripted::config);
    let Target::Http(target) = &mut with_oauth.target else { unreachable!() };
    target.authorization = Some(Arc::new("user-token".to_owned()));
    let Target::Http(target) = &mut with_token.target else { unreachable!() };
    target.bearer = Some("upstream-token".parse().unwrap());
    *target = target.clone().header("X-Api-Key", "key").unwrap();
    let service =
        Service::start(vec![("one", with_token), ("other", without), ("oauth", with_oauth)]).await;
    // A caller with a token.
    let config = HttpClientConfig {
        bearer: Some("caller-token".parse().unwrap()),
        ..HttpClientConfig::default()
    };
    let client = Client::new(Http::with_config(service.url.parse().unwrap(), config).unwrap());
    for method in ["one.a", "other.a", "oauth.a"] {
        client.call::<Value>(method, &json!({})).await.unwrap();
    }
    let header = |index: usize, name: &str| upstreams[index].header(name);
    assert_eq!(header(0, "authorization").as_deref(), Some("Bearer upstream-token"));
    assert_eq!(header(0, "x-api-key").as_deref(), Some("key"));
    assert_eq!(header(1, "authorization"), None);
    assert_eq!(header(2, "authorization").as_deref(), Some("Bearer user-token"));
}

#[tokio::test]
async fn errors_of_the_upstream() {
    let upstream = Scripted::start(tools(&["a"])).await;
    let service = Service::start(vec![("up", upstream.config())]).await;
    let error = json!({ "code": -32007, "message": "no", "data": { "x": 1 } });
    upstream.change(|script| script.mode = Mode::Error(error.clone()));
    // Codes of the upstream do not have the meaning of those of this service.
    let found = service.call("up.a", json!({})).await.unwrap_err();
    assert_eq!(found["code"], -32002, "{found}");
    assert_eq!(found["data"]["error"], error, "{found}");
    assert_eq!(found["data"]["kind"], "refused", "{found}");
    let params = json!({ "name": "up__a", "arguments": {} });
    let result = service.call("tools/call", params).await.unwrap();
    assert_eq!(result["isError"], true, "{result}");
}

#[tokio::test]
async fn redirects_follow_the_list() {
    let target = Scripted::start(tools(&["a"])).await;
    let upstream = Scripted::start(Vec::new()).await;
    upstream.change(|script| script.mode = Mode::Redirect(target.url()));
    let refused = upstream.config();
    let mut followed = upstream.config();
    let Target::Http(http) = &mut followed.target else { unreachable!() };
    http.redirects = vec![target.url().parse().unwrap()];
    let service = Service::start(vec![("refused", refused), ("followed", followed)]).await;
    assert_eq!(service.tools(), ["followed__a"]);
    let error = service.status("refused").last_error.unwrap();
    assert!(error.contains("was not followed") && error.contains(&target.url()), "{error}");
}

#[tokio::test]
async fn calls_beyond_the_queue_are_refused() {
    let upstream = Scripted::start(tools(&["a"])).await;
    let mut config = upstream.config();
    (config.in_flight, config.queue) = (2, 3);
    config.call_timeout = Duration::from_millis(500);
    let service = Service::start(vec![("up", config)]).await;
    upstream.change(|script| script.mode = Mode::HangCalls);
    let calls = (0..9).map(|_| service.call("up.a", json!({})));
    let mut codes: Vec<i64> = Vec::new();
    for found in futures_util::future::join_all(calls).await {
        codes.push(found.unwrap_err()["code"].as_i64().unwrap());
    }
    codes.sort_unstable();
    // Two run into the timeout; the waiting ones do so, too, or are refused when they have waited as long.
    assert!(codes.iter().filter(|code| **code == -32005).count() >= 4, "{codes:?}");
    assert!(codes.iter().filter(|code| **code == -32004).count() >= 2, "{codes:?}");
}
