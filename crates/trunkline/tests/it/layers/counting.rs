//! The metrics of calls.

use std::borrow::Cow;
use std::future::pending;
use std::time::Duration;

use serde_json::Value;
use tokio::time::sleep;
use trunkline::client::{self, Client, Message, Transport, TransportError, TransportFuture};
use trunkline::layers::metrics::{Histogram, MethodMetrics};
use trunkline::layers::{Defaults, MetricsLayer, Next, from_fn};
use trunkline::{
    Call, DynamicOperations, ErrorObject, Extensions, Limits, Outcome, Router, Rpc, code,
};

use super::{body, paused, start};

/// started, succeeded, refused, failed, cancelled, running
type Counts = [u64; 6];

#[track_caller]
fn check(rpc: &Rpc, method: &str, expected: Counts) {
    let metrics = rpc.metrics();
    let MethodMetrics { started, succeeded, refused, failed, cancelled, running, .. } =
        metrics.iter().find(|metrics| metrics.method == method).expect("the method is counted");
    let found = [started, succeeded, refused, failed, cancelled, running].map(|count| *count);
    assert_eq!(found, expected, "{method}");
}

fn service() -> Rpc {
    let fails = |code| move || Err::<(), _>(ErrorObject::new(code, ""));
    Router::new()
        .method("ok", || 1)
        .method("later", async || sleep(Duration::from_millis(1)).await)
        .method("never", pending::<()>)
        .method("panics", || -> () { panic!("counted") })
        .method("own", fails(7))
        .method("internal", fails(code::INTERNAL_ERROR))
        .method("database", fails(code::DATABASE))
        .method("busy", fails(code::BUSY))
        .method("forbidden", fails(code::FORBIDDEN))
        .method("layered", || 1)
        .route_layer(
            "layered",
            from_fn(async |_: Call, _: Next| Outcome::error(ErrorObject::new(1, ""))),
        )
        .limits(Limits { call_timeout: Some(Duration::from_secs(1)), ..Limits::default() })
        .build()
        .unwrap()
}

#[test]
fn counts_calls_by_outcome() {
    let rpc = service();
    let rows: [(&str, Counts); 10] = [
        ("ok", [1, 1, 0, 0, 0, 0]),
        ("later", [1, 1, 0, 0, 0, 0]),
        ("never", [1, 0, 0, 1, 0, 0]),
        ("panics", [1, 0, 0, 1, 0, 0]),
        ("own", [1, 0, 1, 0, 0, 0]),
        ("internal", [1, 0, 0, 1, 0, 0]),
        ("database", [1, 0, 1, 0, 0, 0]),
        ("busy", [1, 0, 0, 1, 0, 0]),
        ("forbidden", [1, 0, 1, 0, 0, 0]),
        ("layered", [1, 0, 1, 0, 0, 0]),
    ];
    for (method, counts) in rows {
        check(&rpc, method, [0; 6]);
        paused().block_on(rpc.handle(body(method, 1).into(), Extensions::new()));
        check(&rpc, method, counts);
    }
    let names: Vec<_> = rpc.metrics().into_iter().map(|metrics| metrics.method).collect();
    let listed: Vec<_> = rows.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, [listed, vec!["rpc.discover", "unknown"]].concat());
}

#[test]
fn counts_all_calls_and_nothing_else() {
    let rpc = service();
    let ask = |body: &str| paused().block_on(rpc.handle(body.to_owned().into(), Extensions::new()));
    ask(r#"{"jsonrpc":"2.0","method":"ok"}"#);
    ask(r#"{"jsonrpc":"2.0","method":"ok","params":[1],"id":1}"#);
    ask(r#"{"jsonrpc":"1.0","method":"ok","id":1}"#);
    ask(r#"{"jsonrpc":"2.0","method":"ok","id":[]}"#);
    ask(r#"{"jsonrpc":"2.0","method":"ok""#);
    check(&rpc, "ok", [2, 1, 1, 0, 0, 0]);
    ask(&format!("[{0},{0},1,{0}]", body("ok", 1)));
    check(&rpc, "ok", [5, 4, 1, 0, 0, 0]);
    assert_eq!(paused().block_on(rpc.call::<i64>("ok", &[0; 0])), Ok(1));
    check(&rpc.clone(), "ok", [6, 5, 1, 0, 0, 0]);
    for method in ["nothing", "unknown", "OK", ""] {
        ask(&body(method, 1));
    }
    check(&rpc, "unknown", [4, 0, 4, 0, 0, 0]);
}

#[test]
fn counts_running_calls() {
    let rpc = service();
    let runtime = paused();
    let _entered = runtime.enter();
    let (later, never) = (start(&rpc, "later"), start(&rpc, "never"));
    check(&rpc, "later", [1, 0, 0, 0, 0, 1]);
    check(&rpc, "never", [1, 0, 0, 0, 0, 1]);
    drop(never);
    check(&rpc, "never", [1, 0, 0, 0, 1, 0]);
    runtime.block_on(later);
    check(&rpc, "later", [1, 1, 0, 0, 0, 0]);
}

/// Checks the bucket of a call with this duration.
#[track_caller]
fn check_duration(took: Duration, bucket: usize) {
    let rpc = Router::new().method("sleep", move || sleep(took)).build().unwrap();
    paused().block_on(rpc.handle(body("sleep", 1).into(), Extensions::new()));
    let durations = rpc.metrics().swap_remove(0).durations;
    assert_eq!(durations.buckets.iter().position(|count| *count == 1), Some(bucket), "{took:?}");
    assert_eq!((durations.count(), durations.sum), (1, took));
}

#[test]
fn measures_durations() {
    let (milli, second) = (Duration::from_millis(1), Duration::from_secs(1));
    check_duration(Duration::ZERO, 0);
    check_duration(milli, 3);
    check_duration(2 * milli, 4);
    check_duration(5 * milli, 5);
    check_duration(second, 12);
    check_duration(second + milli, 13);
    check_duration(10 * second, 15);
    check_duration(10 * second + milli, 16);
    for bounds in Histogram::BOUNDS.windows(2) {
        assert!(bounds[0] < bounds[1], "{bounds:?}");
    }
}

#[test]
fn measures_timed_out_and_cancelled_calls() {
    let rpc = service();
    let durations = |method: &str| {
        let metrics = rpc.metrics();
        let found = metrics.into_iter().find(|metrics| metrics.method == method);
        let durations = found.unwrap().durations;
        (durations.count(), durations.sum)
    };
    let runtime = paused();
    runtime.block_on(async {
        rpc.handle(body("never", 1).into(), Extensions::new()).await;
        assert_eq!(durations("never"), (1, Duration::from_secs(1)), "it timed out");
        let never = start(&rpc, "never");
        sleep(Duration::from_millis(300)).await;
        drop(never);
        assert_eq!(durations("never"), (2, Duration::from_millis(1_300)), "it was cancelled");
    });
}

/// A transport that always fails.
struct Nowhere;

impl Transport for Nowhere {
    fn send(&self, _: Message) -> TransportFuture<'_> {
        let target = self.target().into_owned();
        Box::pin(async { Err(TransportError::Broken { target, source: None }.into()) })
    }

    fn target(&self) -> Cow<'_, str> {
        Cow::Borrowed("nowhere")
    }
}

#[test]
fn a_client_counts_the_given_methods() {
    let layer = MetricsLayer::of(["ok", "own"]);
    let counts = || {
        let counted = layer.metrics().into_iter();
        let counts = counted.map(|m| (m.method, [m.succeeded, m.refused, m.failed]));
        counts.collect::<Vec<_>>()
    };
    let expected =
        |rows: [(&str, [u64; 3]); 3]| rows.map(|(name, counts)| (name.to_owned(), counts)).to_vec();
    let client = Client::new(service()).layer(layer.clone());
    let settings = client::ClientConfig { retry: None, ..Default::default() };
    let lost = Client::with_config(Nowhere, settings).layer(layer.clone());
    paused().block_on(async {
        for method in ["ok", "own", "database", "nothing"] {
            let _ = client.call::<Value>(method, ()).await;
        }
        assert_eq!(
            counts(),
            expected([("ok", [1, 0, 0]), ("own", [0, 1, 0]), ("unknown", [0, 2, 0])])
        );
        let mut batch = client.batch();
        let slots = [(); 3].map(|()| batch.add(client.call::<i64>("ok", ())));
        let mut replies = batch.send().await.unwrap();
        assert_eq!(slots.map(|slot| replies.take(slot).unwrap()), [1; 3]);
        lost.call::<Value>("ok", ()).await.unwrap_err();
    });
    assert_eq!(counts(), expected([("ok", [4, 0, 1]), ("own", [0, 1, 0]), ("unknown", [0, 2, 0])]));
}

#[test]
fn counts_nothing_if_disabled() {
    let rpc = Router::new()
        .method("ok", || 1)
        .default_layers(Defaults { metrics: false, ..Defaults::default() })
        .build()
        .unwrap();
    assert_eq!(paused().block_on(rpc.call::<i64>("ok", &[0; 0])), Ok(1));
    check(&rpc, "ok", [0; 6]);
    check(&rpc, "unknown", [0; 6]);
}

/// The operations of merged routers keep their default layers.
#[test]
fn merged_routers_keep_their_default_layers() {
    let defaults = |metrics| Defaults { metrics, ..Defaults::default() };
    let router =
        |name: &str| Router::new().method(name, || 1).method(format!("{name}_later"), async || 1);
    let set = |name: &str, metrics| router(name).default_layers(defaults(metrics));
    let dynamic = |metrics| {
        let operations = DynamicOperations::new();
        operations.replace(router("b")).unwrap();
        Router::new().dynamic("d", &operations).default_layers(defaults(metrics))
    };
    // The router, its methods, and whether they are counted.
    let rows = [
        ("not set", router("a").merge(router("b")), [("a", true), ("b", true)]),
        ("of the merged router", router("a").merge(set("b", false)), [("a", true), ("b", false)]),
        ("of the service", set("a", false).merge(router("b")), [("a", false), ("b", false)]),
        ("both", set("a", false).merge(set("b", true)), [("a", false), ("b", true)]),
        (
            "set later",
            router("a").merge(set("b", true)).default_layers(defaults(false)),
            [("a", false), ("b", true)],
        ),
        ("nested", router("a").nest("n", set("b", false)), [("a", true), ("n.b", false)]),
        (
            "merged twice",
            Router::new().merge(set("a", true).merge(set("b", false))),
            [("a", true), ("b", false)],
        ),
        (
            "merged twice, not set",
            set("a", false).merge(Router::new().merge(router("b"))),
            [("a", false), ("b", false)],
        ),
        ("dynamic", router("a").merge(dynamic(false)), [("a", true), ("d.b", false)]),
    ];
    for (name, router, methods) in rows {
        let rpc = router.build().unwrap();
        for (method, is_counted) in methods {
            for method in [method.to_owned(), format!("{method}_later")] {
                assert_eq!(paused().block_on(rpc.call::<i64>(&method, &[0; 0])), Ok(1));
                let metrics = rpc.metrics();
                let found = metrics.iter().find(|one| one.method == method).unwrap();
                assert_eq!(found.started, u64::from(is_counted), "{name}: {method}");
            }
        }
    }
}
