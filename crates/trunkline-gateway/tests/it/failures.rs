//! Upstreams that hang, die, flood or change do not disturb the others.

use std::time::{Duration, Instant};

use serde_json::json;
use trunkline::client::{Client, Http};
use trunkline::{Pattern, Router};
use trunkline_gateway::{CommandTarget, GatewayConfig, Target, UpstreamConfig, UpstreamState};

use crate::support::{Mode, PATIENCE, Scripted, Service, tools};

#[tokio::test]
async fn a_dead_upstream_is_connected_again() {
    let upstream = Scripted::start(tools(&["a"])).await;
    let other = Scripted::start(tools(&["b"])).await;
    let service = Service::start(vec![("up", upstream.config()), ("other", other.config())]).await;
    let address = upstream.address.to_string();
    drop(upstream);
    let status = service.until("up", |status| status.failures >= 2).await;
    assert!(status.last_error.is_some(), "{status:?}");
    // Its tools stay listed, so that lists do not change with each failure.
    assert_eq!(service.tools(), ["up__a", "other__b"]);
    let error = service.call("up.a", json!({})).await.unwrap_err();
    assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32002), &json!("unavailable")));
    assert!(service.call("other.b", json!({})).await.is_ok());
    assert_eq!(service.status("other").failures, 0);

    let _restarted = Scripted::start_at(&address, tools(&["a", "c"])).await;
    service.until_state("up", UpstreamState::Ready).await;
    service.until("up", |status| status.tools == 2).await;
    assert!(service.call("up.c", json!({})).await.is_ok());
}

/// The call fails with an error object, as one of the application does.
#[tokio::test]
async fn an_upstream_that_loses_its_sessions_is_not_ready() {
    let upstream = Scripted::start(tools(&["a"])).await;
    let mut config = upstream.config();
    config.refresh_interval = Duration::from_secs(60);
    let service = Service::start(vec![("up", config)]).await;
    assert_eq!(service.status("up").state, UpstreamState::Ready);
    upstream.change(|script| script.mode = Mode::NoSessions);
    let error = service.call("up.a", json!({})).await.unwrap_err();
    assert_eq!(error["data"]["error"]["message"], "Session not found", "{error}");
    let status = service.until("up", |status| status.failures >= 1).await;
    assert!(status.last_error.unwrap().contains("Session not found"));

    upstream.change(|script| script.mode = Mode::Normal);
    service.until_state("up", UpstreamState::Ready).await;
    assert!(service.call("up.a", json!({})).await.is_ok());
}

/// Each failure shows what the program has printed last.
#[tokio::test]
async fn the_status_has_the_output_of_a_program() {
    const FUNCTIONS: &str = r#"
        ask() { read -r line || exit 0; id=${line#*'"id":'}; id=${id%%,*}; }
        reply() { echo '{"jsonrpc":"2.0","id":'$id',"result":'"$1"'}'; }
        begin() { ask; reply '{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}'; }
    "#;
    let program = |script: &str| {
        let words = ["sh", "-c", &format!("{FUNCTIONS}\n{script}")].map(Into::into);
        let target = CommandTarget::new(words).unwrap();
        let mut config = UpstreamConfig::new(Target::Command(target));
        config.connect_timeout = Duration::from_millis(900);
        (config.min_backoff, config.max_backoff) =
            (Duration::from_secs(60), Duration::from_secs(60));
        config
    };
    let denied =
        r#"ask; echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32603,"message":"no"}}'"#;
    let rows = [
        ("exit", "echo no key >&2; exit 3", vec!["exit status: 3", "no key"]),
        ("silent", "echo fetching >&2; sleep 600", vec!["within 900 ms", "fetching"]),
        ("banner", "echo Listening; sleep 600", vec!["within 900 ms", "Listening"]),
        ("list", "begin; echo database >&2; sleep 600", vec!["within 900 ms", "database"]),
        ("error", &format!("echo token >&2; {denied}; {denied}; ask"), vec!["no", "output: token"]),
        ("header", "echo Content-Length: 7; sleep 600", vec!["each on one line"]),
    ];
    let upstreams = rows.iter().map(|(name, script, _)| (*name, program(script)));
    let service = Service::start(upstreams.collect()).await;
    for (name, _, parts) in &rows {
        let status = service.until_state(name, UpstreamState::Failed).await;
        let error = status.last_error.unwrap();
        assert!(parts.iter().all(|part| error.contains(part)), "{name}: {error}");
        assert_eq!(
            error.matches("output: ").count(),
            usize::from(*name != "header"),
            "{name}: {error}"
        );
    }
}

#[tokio::test]
async fn failed_calls_do_not_shorten_the_delay() {
    let upstream = Scripted::start(tools(&["a"])).await;
    let mut config = upstream.config();
    config.refresh_interval = Duration::from_secs(60);
    (config.min_backoff, config.max_backoff) = (Duration::from_secs(60), Duration::from_secs(60));
    let service = Service::start(vec![("up", config)]).await;
    upstream.change(|script| script.mode = Mode::Garbage);
    let calls = (0..10).map(|_| service.call("up.a", json!({})));
    for found in futures_util::future::join_all(calls).await {
        assert_eq!(found.unwrap_err()["code"], -32002);
    }
    service.until_state("up", UpstreamState::Failed).await;
    for _ in 0..10 {
        let error = service.call("up.a", json!({})).await.unwrap_err();
        assert_eq!(error["data"]["kind"], "unavailable", "{error}");
    }
    let status = service.status("up");
    assert_eq!((status.failures, status.state), (1, UpstreamState::Failed), "{status:?}");
    // The operation of the operator does.
    service.call("gateway.reconnect", json!({ "upstream": "up" })).await.unwrap();
    service.until("up", |status| status.failures == 2).await;
}

#[tokio::test]
async fn a_renamed_tool_replaces_the_other() {
    let upstream = Scripted::start(tools(&["a"])).await;
    let service = Service::start(vec![("up", upstream.config())]).await;
    upstream.change(|script| script.tools = tools(&["renamed", "b"]));
    service.until("up", |status| status.tools == 2).await;
    assert_eq!(service.tools(), ["up__renamed", "up__b"]);
    assert_eq!(service.call("up.a", json!({})).await.unwrap_err()["code"], -32601);
}

/// It may offer the tool under another name.
#[tokio::test]
async fn an_upstream_without_a_denied_tool_is_not_served() {
    let upstream = Scripted::start(tools(&["read", "remove"])).await;
    let mut config = upstream.config();
    config.tools.deny = ["drop_*", "delete"].map(Pattern::new).into();
    config.tools.allow = ["read", "write", "list_*", "remove", "delete"].map(Pattern::new).into();
    let service = Service::start(vec![("up", config)]).await;
    let reason =
        "the server has no tool `delete`, which `deny` names: correct it, or deny `delete*`";
    for names in [&["read", "delete"][..], &["read", "delete", "remove"]] {
        let status = service.until_state("up", UpstreamState::Failed).await;
        assert!(status.last_error.as_deref().unwrap().starts_with(reason), "{status:?}");
        for tool in ["up.read", "up.remove", "up.delete"] {
            assert!(service.call(tool, json!({})).await.is_err(), "{tool}");
        }
        upstream.change(|script| script.tools = tools(names));
        let status = service.until_state("up", UpstreamState::Ready).await;
        assert_eq!(status.rejected[0].name, "write");
        assert!(service.call("up.read", json!({})).await.is_ok());
        assert!(service.call("up.delete", json!({})).await.is_err());
        upstream.change(|script| script.tools = tools(&["read", "remove"]));
    }
}

#[tokio::test]
async fn hostile_upstreams() {
    #[track_caller]
    fn check(status: &trunkline_gateway::UpstreamStatus, part: &str) {
        let error = status.last_error.as_deref().unwrap_or_default();
        assert!(error.contains(part), "{part}: {error}");
    }
    let [good, flooding, garbage, hanging] = [
        Scripted::start(tools(&["a"])).await,
        Scripted::start(Vec::new()).await,
        Scripted::start(Vec::new()).await,
        Scripted::start(Vec::new()).await,
    ];
    let many: Vec<String> = (0..10_000).map(|number| format!("tool_{number}")).collect();
    let names: Vec<&str> = many.iter().map(String::as_str).collect();
    flooding.change(|script| script.tools = tools(&names));
    garbage.change(|script| script.mode = Mode::Garbage);
    hanging.change(|script| script.mode = Mode::Hang);
    let mut slow = hanging.config();
    slow.connect_timeout = Duration::from_millis(300);
    let patient = |upstream: &Scripted| {
        let mut config = upstream.config();
        config.connect_timeout = Duration::from_secs(20);
        config
    };
    let service = Service::start(vec![
        ("flooding", patient(&flooding)),
        ("garbage", garbage.config()),
        ("hanging", slow),
        ("good", patient(&good)),
    ])
    .await;
    assert_eq!(service.tools(), ["good__a"]);
    assert!(service.call("good.a", json!({})).await.is_ok());
    check(&service.status("flooding"), "1000");
    check(&service.status("hanging"), "within 300 ms");
    assert!(service.status("garbage").last_error.is_some());

    // An upstream that was good before.
    good.change(|script| script.mode = Mode::HangCalls);
    let started = Instant::now();
    let error = service.call("good.a", json!({})).await.unwrap_err();
    assert_eq!(error["code"], -32004, "{error}");
    assert!(started.elapsed() < Duration::from_secs(15));
    good.change(|script| script.mode = Mode::Garbage);
    let error = service.call("good.a", json!({})).await.unwrap_err();
    assert_eq!(error["code"], -32002, "{error}");
    good.change(|script| script.mode = Mode::Normal);
    // A check of the connection that began before may still fail.
    let mended = Instant::now();
    while let Err(error) = service.call("good.a", json!({})).await {
        assert_eq!(error["code"], -32002, "{error}");
        assert!(mended.elapsed() < PATIENCE, "{error}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn management_shows_the_states() {
    let upstream = Scripted::start(tools(&["a"])).await;
    let service = Service::start(vec![("up", upstream.config())]).await;
    let list = service.call("gateway.upstreams", json!({})).await.unwrap();
    let expected = json!({
        "upstreams": [{
            "name": "up",
            "target": format!("http://{}", upstream.address),
            "state": "ready",
            "failures": 0,
            "tools": 1,
            "resources": 0,
            "prompts": 0,
        }],
    });
    assert_eq!(list, expected);
    for params in [json!([]), json!({ "upstream": "up" }), json!({ "upstream": null })] {
        assert_eq!(
            service.call("gateway.upstreams", params.clone()).await,
            Ok(list.clone()),
            "{params}"
        );
    }
    let none = Client::new(Http::connect(&service.url).unwrap());
    let none = none.call::<serde_json::Value>("gateway.upstreams", ()).await.unwrap();
    assert_eq!(none, list);
    // They are not tools.
    assert_eq!(service.tools(), ["up__a"]);
    assert!(service.call("gateway.reconnect", json!({ "upstream": "up" })).await.is_ok());
    service.gateway.stop(Duration::from_secs(2)).await;
    assert_eq!(service.status("up").state, UpstreamState::Stopped);
    assert_eq!(service.call("up.a", json!({})).await.unwrap_err()["data"]["kind"], "unavailable");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_are_fast_while_an_upstream_hangs() {
    // Waiting for the upstream would take 2 s. Ten milliseconds are not a condition on a busy machine.
    let p99 = p99_of_lists().await;
    assert!(p99 < Duration::from_millis(1_500), "{p99:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures time: `cargo xtask soak` runs it"]
async fn lists_take_at_most_10_ms_while_an_upstream_hangs() {
    let p99 = p99_of_lists().await;
    println!("99 % of tools/list within {p99:?}");
    assert!(p99 <= Duration::from_millis(10), "{p99:?}");
}

/// The time of `tools/list` over HTTP with 20 upstreams of 50 tools, one of which hangs, while the others are refreshed.
async fn p99_of_lists() -> Duration {
    const REQUESTS: usize = 300;
    let names: Vec<String> = (0..50).map(|number| format!("tool_{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut upstreams = Vec::new();
    for _ in 0..20 {
        upstreams.push(Scripted::start(tools(&names)).await);
    }
    let labels: Vec<String> = (0..20).map(|number| format!("up{number}")).collect();
    let configs = labels.iter().zip(&upstreams).map(|(label, upstream)| {
        let mut config = upstream.config();
        config.refresh_interval = Duration::from_millis(500);
        (label.as_str(), config)
    });
    let service = Service::start(configs.collect()).await;
    for label in &labels {
        service.until(label, |status| status.tools == names.len()).await;
    }
    upstreams[0].change(|script| script.mode = Mode::Hang);
    let client = Client::new(Http::connect(&service.url).unwrap());
    let hanging = service.call("up0.tool_0", json!({}));
    let measure = async {
        let mut times = Vec::new();
        for _ in 0..REQUESTS {
            let started = Instant::now();
            let list: Box<serde_json::value::RawValue> =
                client.call("tools/list", json!({})).await.unwrap();
            times.push(started.elapsed());
            assert_eq!(list.get().matches("\"name\":").count(), 1_000);
        }
        times
    };
    let (hanging, mut times) = tokio::join!(hanging, measure);
    assert_eq!(hanging.unwrap_err()["code"], -32004);
    times.sort_unstable();
    times[REQUESTS * 99 / 100]
}

/// A list whose operations cannot be registered: the service has a method of this name.
#[tokio::test]
async fn tools_that_cannot_be_registered() {
    let upstream = Scripted::start(tools(&["a"])).await;
    let router = Router::new().method("up.taken", || "mine");
    let upstreams = vec![("up", upstream.config())];
    let service = Service::start_with_router(router, upstreams, GatewayConfig::default()).await;
    assert_eq!((service.tools(), service.status("up").tools), (vec!["up__a".to_owned()], 1));

    // The earlier tools are not offered any more: their definitions are outdated.
    upstream.change(|script| script.tools = tools(&["b", "taken"]));
    let status = service.until("up", |status| !status.rejected.is_empty()).await;
    assert_eq!((status.tools, status.rejected[0].name.as_str()), (0, "*"), "{status:?}");
    assert_eq!(service.tools(), [""; 0]);
    for method in ["up.a", "up.b"] {
        assert_eq!(service.call(method, json!({})).await.unwrap_err()["code"], -32601, "{method}");
    }
    assert_eq!(service.call("up.taken", json!([])).await, Ok(json!("mine")));

    upstream.change(|script| script.tools = tools(&["a", "b"]));
    let status = service.until("up", |status| status.rejected.is_empty()).await;
    assert_eq!((service.tools().len(), status.tools), (2, 2));
    assert!(service.call("up.a", json!({})).await.is_ok());
}

/// Names of other items that are the same after they were shortened.
#[tokio::test]
async fn resources_with_the_same_method_name() {
    const URIS: [&str; 2] = ["x:.....././/././././//", "x://////..//./..././//"];
    for (method, list, uri) in [
        ("resources/list", "resources", "uri"),
        ("resources/templates/list", "resourceTemplates", "uriTemplate"),
        ("prompts/list", "prompts", "name"),
    ] {
        let upstream = Scripted::start(tools(&["a"])).await;
        let items = URIS.map(|text| json!({ "name": "n", uri: text }));
        upstream.change(|script| {
            script.others.insert(method, json!({ list: items }));
            script.others.entry("resources/list").or_insert_with(|| json!({ "resources": [] }));
        });
        let service = Service::start(vec![("up", upstream.config())]).await;
        let status = service.status("up");
        assert_eq!(
            (status.tools, status.resources + status.prompts),
            (1, 1),
            "{method}: {status:?}"
        );
        assert_eq!(status.rejected.len(), 1, "{method}: {status:?}");
        assert_eq!(status.rejected[0].name, URIS[1], "{method}");
        assert!(service.call("up.a", json!({})).await.is_ok(), "{method}");
    }
}
