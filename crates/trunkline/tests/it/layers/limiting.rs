//! Timeouts and concurrency limits, of this crate and of tower.

use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tower::layer::util::Stack;
use tower::limit::ConcurrencyLimitLayer as TowerLimitLayer;
use tower::load_shed::LoadShedLayer;
use tower::timeout::TimeoutLayer as TowerTimeoutLayer;
use trunkline::layers::{ConcurrencyLimitLayer, TimeoutLayer};
use trunkline::{CancellationToken, DynamicOperations, Extensions, Limits, Operation, Router, Rpc};

use super::{body, check, json_of, paused, start};

const SECOND: Duration = Duration::from_secs(1);

fn timed_out(after: Duration) -> Value {
    let data = json!({ "timeout_ms": after.as_millis() as u64 });
    json!({ "code": -32004, "message": "Call timed out", "data": data })
}

fn busy() -> Value {
    json!({ "code": -32005, "message": "Server is busy" })
}

/// Methods that return at once, after a second, and never.
fn methods() -> Router {
    Router::new()
        .method("now", || 1)
        .method("second", async || sleep(SECOND).await)
        .method("never", pending::<()>)
}

#[test]
fn calls_time_out() {
    for (after, second) in [(SECOND * 2, Ok(json!(null))), (SECOND / 2, Err(timed_out(SECOND / 2)))]
    {
        let by_limit = methods().limits(Limits { call_timeout: Some(after), ..Limits::default() });
        let by_layer = methods().layer(TimeoutLayer::new(after));
        for router in [by_limit, by_layer] {
            let rpc = router.build().unwrap();
            check(&rpc, "now", Ok(json!(1)));
            check(&rpc, "second", second.clone());
            check(&rpc, "never", Err(timed_out(after)));
        }
    }
    let unlimited = methods().limits(Limits { call_timeout: None, ..Limits::default() });
    let rpc = unlimited.build().unwrap();
    check(&rpc, "second", Ok(json!(null)));
    let runtime = paused();
    let _entered = runtime.enter();
    let never = start(&rpc, "never");
    let waited = runtime.block_on(async { tokio::time::timeout(SECOND * 3_600, never).await });
    assert!(waited.is_err());
}

#[test]
fn operations_can_override_the_timeout() {
    let own = |name: &str, after| Operation::new(name, pending::<()>).timeout(after);
    for limit in [Some(SECOND * 30), None] {
        let changing = DynamicOperations::new();
        changing.replace(Router::new().operation(own("slow", SECOND * 60))).unwrap();
        let router = methods()
            .operation(own("quick", SECOND))
            .operation(own("wrapped", SECOND * 60))
            .route_layer("wrapped", TimeoutLayer::new(SECOND * 40))
            .dynamic("tool", &changing)
            .limits(Limits { call_timeout: limit, ..Limits::default() });
        let rpc = router.build().unwrap();
        check(&rpc, "quick", Err(timed_out(SECOND)));
        check(&rpc, "tool.slow", Err(timed_out(SECOND * 60)));
        check(&rpc, "wrapped", Err(timed_out(SECOND * 40)));
        if let Some(limit) = limit {
            check(&rpc, "never", Err(timed_out(limit)));
        }
    }
}

#[test]
fn timeouts_are_accurate_to_a_millisecond() {
    let rpc = methods().layer(TimeoutLayer::new(SECOND)).build().unwrap();
    let took = paused().block_on(async {
        let started = Instant::now();
        rpc.handle(body("never", 1).into(), Extensions::new()).await;
        started.elapsed()
    });
    assert!(took >= SECOND && took <= SECOND + Duration::from_millis(1), "{took:?}");
}

#[test]
fn a_timeout_drops_the_call_and_cancels_its_token() {
    struct Dropped(Arc<Mutex<Option<Instant>>>);

    impl Drop for Dropped {
        fn drop(&mut self) {
            *self.0.lock().unwrap() = Some(Instant::now());
        }
    }

    let dropped = Arc::new(Mutex::new(None));
    let token = Arc::new(Mutex::new(None));
    let (drops, keeps) = (Arc::clone(&dropped), Arc::clone(&token));
    let rpc = Router::new()
        .method("never", move |token: CancellationToken| {
            *keeps.lock().unwrap() = Some(token);
            let guard = Dropped(Arc::clone(&drops));
            async move {
                pending::<()>().await;
                drop(guard);
            }
        })
        .method("slow", async || sleep(SECOND * 5).await)
        .limits(Limits { call_timeout: Some(SECOND * 10), ..Limits::default() })
        .route_layer("never", TimeoutLayer::new(SECOND))
        .build()
        .unwrap();
    let members = format!("[{},{}]", body("never", 1), body("slow", 2));
    let (started, ended) = paused().block_on(async {
        let started = Instant::now();
        rpc.handle(members.into(), Extensions::new()).await;
        (started, Instant::now())
    });
    let dropped = dropped.lock().unwrap().expect("it was dropped") - started;
    assert!(dropped < SECOND * 2, "at its deadline, {dropped:?}, not with its batch");
    assert!(ended - started >= SECOND * 5);
    assert!(token.lock().unwrap().as_ref().unwrap().is_cancelled());
}

#[test]
fn a_completed_call_does_not_cancel_its_token() {
    let tokens = Arc::new(Mutex::new(Vec::new()));
    let (one, other) = (Arc::clone(&tokens), Arc::clone(&tokens));
    let rpc = Router::new()
        .method("now", move |token: CancellationToken| one.lock().unwrap().push(token))
        .method("second", move |token: CancellationToken| {
            other.lock().unwrap().push(token);
            sleep(SECOND)
        })
        .build()
        .unwrap();
    check(&rpc, "now", Ok(json!(null)));
    check(&rpc, "second", Ok(json!(null)));
    let cancelled: Vec<_> =
        tokens.lock().unwrap().iter().map(CancellationToken::is_cancelled).collect();
    assert_eq!(cancelled, [false, false]);
}

/// Makes ten concurrent calls of `second`. Returns the maximum number of running calls, and the total time.
fn rush(limit: impl FnOnce(Router) -> Router) -> (usize, Duration) {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&most);
    let router = Router::new().method("second", move || {
        let (now, seen) = (Arc::clone(&now), Arc::clone(&seen));
        async move {
            seen.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            sleep(SECOND).await;
            now.fetch_sub(1, Ordering::SeqCst);
        }
    });
    let rpc = limit(router).build().unwrap();
    let took = paused().block_on(async {
        let started = Instant::now();
        let calls: Vec<_> = (0..10)
            .map(|id| {
                let rpc = rpc.clone();
                tokio::spawn(async move {
                    let reply = rpc.handle(body("second", id).into(), Extensions::new()).await;
                    let expected = json!({ "jsonrpc": "2.0", "result": null, "id": id });
                    assert_eq!(json_of(reply), expected);
                })
            })
            .collect();
        for call in calls {
            call.await.unwrap();
        }
        started.elapsed()
    });
    (most.load(Ordering::SeqCst), Duration::from_secs(took.as_secs()))
}

#[test]
fn limits_concurrent_calls() {
    for (calls, most, seconds) in [(1, 1, 10), (3, 3, 4), (10, 10, 1), (99, 10, 1)] {
        let expected = (most, SECOND * seconds);
        let limits = Limits { concurrent_calls: Some(calls), ..Limits::default() };
        assert_eq!(rush(|router| router.limits(limits)), expected, "{calls} by the limit");
        let layer = ConcurrencyLimitLayer::new(calls);
        assert_eq!(
            rush(|router| router.layer(layer)),
            expected,
            "{calls} by the layer of this crate"
        );
        let layer = TowerLimitLayer::new(calls);
        assert_eq!(rush(|router| router.layer(layer)), expected, "{calls} by tower's layer");
        let layer = Stack::new(TowerLimitLayer::new(calls), ConcurrencyLimitLayer::new(calls));
        assert_eq!(rush(|router| router.layer(layer)), expected, "{calls} by both layers");
    }
    let limits = Limits { concurrent_calls: None, ..Limits::default() };
    assert_eq!(rush(|router| router.limits(limits)), (10, SECOND));
}

#[test]
fn the_timeout_includes_waiting_for_a_permit() {
    // The methods share one permit.
    let rpc = methods()
        .layer(ConcurrencyLimitLayer::new(1))
        .route_layer("now", TimeoutLayer::new(SECOND))
        .build()
        .unwrap();
    let runtime = paused();
    let _entered = runtime.enter();
    let running = start(&rpc, "never");
    let waiting = start(&rpc, "now");
    assert_eq!(json_of(runtime.block_on(waiting))["error"], timed_out(SECOND));
    // A dropped call releases its permit.
    let waiting = start(&rpc, "now");
    drop(running);
    assert_eq!(json_of(runtime.block_on(waiting))["result"], 1);
}

#[test]
fn a_call_that_timed_out_releases_its_permit() {
    let limits =
        Limits { concurrent_calls: Some(1), call_timeout: Some(SECOND), ..Limits::default() };
    let rpc = methods().limits(limits).build().unwrap();
    check(&rpc, "never", Err(timed_out(SECOND)));
    check(&rpc, "now", Ok(json!(1)));
}

#[test]
fn maps_the_timeout_of_tower() {
    let rpc = methods().layer(TowerTimeoutLayer::new(SECOND / 2)).build().unwrap();
    check(&rpc, "now", Ok(json!(1)));
    let error = json!({ "code": -32004, "message": "Call timed out" });
    check(&rpc, "second", Err(error.clone()));
    check(&rpc, "never", Err(error));
}

/// Sheds calls over the limit. Both layers must be added as one, since the services that the router makes of layers
/// are always ready.
fn shedding(rpc: Router) -> Rpc {
    rpc.layer(Stack::new(TowerLimitLayer::new(1), LoadShedLayer::new())).build().unwrap()
}

#[test]
fn maps_the_load_shedding_of_tower() {
    let rpc = shedding(methods());
    let runtime = paused();
    let _entered = runtime.enter();
    let second = start(&rpc, "second");
    check(&rpc, "second", Err(busy()));
    check(&rpc, "now", Ok(json!(1)));
    assert_eq!(json_of(runtime.block_on(second))["result"], json!(null));
    check(&rpc, "second", Ok(json!(null)));
}

#[test]
fn supports_stacks_of_layers() {
    let stack = Stack::new(TowerLimitLayer::new(1), TowerTimeoutLayer::new(SECOND / 2));
    let rpc = methods().layer(stack).build().unwrap();
    let timed_out = json!({ "code": -32004, "message": "Call timed out" });
    for _ in 0..2 {
        check(&rpc, "now", Ok(json!(1)));
        check(&rpc, "never", Err(timed_out.clone()));
    }
}
