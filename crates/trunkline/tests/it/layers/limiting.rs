//! Deadlines and bounds, ours and tower's.

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

/// Methods that take no time, a while, and for ever.
fn methods() -> Router {
    Router::new()
        .method("now", || 1)
        .method("second", async || sleep(SECOND).await)
        .method("never", pending::<()>)
}

#[test]
fn a_call_ends_at_its_deadline() {
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
fn an_operation_may_have_a_time_of_its_own() {
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
fn the_deadline_is_kept_to_the_millisecond() {
    let rpc = methods().layer(TimeoutLayer::new(SECOND)).build().unwrap();
    let took = paused().block_on(async {
        let started = Instant::now();
        rpc.handle(body("never", 1).into(), Extensions::new()).await;
        started.elapsed()
    });
    assert!(took >= SECOND && took <= SECOND + Duration::from_millis(1), "{took:?}");
}

#[test]
fn a_call_past_its_deadline_is_dropped_and_its_token_cancelled() {
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
fn a_call_that_ends_by_itself_does_not_cancel_its_token() {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let (one, other) = (Arc::clone(&kept), Arc::clone(&kept));
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
        kept.lock().unwrap().iter().map(CancellationToken::is_cancelled).collect();
    assert_eq!(cancelled, [false, false]);
}

/// Runs ten calls of `second` at once: how many ran together at most, and how long all took.
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
fn as_many_calls_run_at_a_time_as_the_limit_says_and_the_others_wait() {
    for (calls, most, seconds) in [(1, 1, 10), (3, 3, 4), (10, 10, 1), (99, 10, 1)] {
        let expected = (most, SECOND * seconds);
        let limits = Limits { concurrent_calls: Some(calls), ..Limits::default() };
        assert_eq!(rush(|router| router.limits(limits)), expected, "{calls} by the limit");
        let layer = ConcurrencyLimitLayer::new(calls);
        assert_eq!(rush(|router| router.layer(layer)), expected, "{calls} by our layer");
        let layer = TowerLimitLayer::new(calls);
        assert_eq!(rush(|router| router.layer(layer)), expected, "{calls} by tower's layer");
        let layer = Stack::new(TowerLimitLayer::new(calls), ConcurrencyLimitLayer::new(calls));
        assert_eq!(rush(|router| router.layer(layer)), expected, "{calls} by ours around tower's");
    }
    let limits = Limits { concurrent_calls: None, ..Limits::default() };
    assert_eq!(rush(|router| router.limits(limits)), (10, SECOND));
}

#[test]
fn waiting_for_a_turn_counts_into_the_deadline() {
    // The methods share one turn.
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
    // The turn of a call that is dropped goes to the next.
    let waiting = start(&rpc, "now");
    drop(running);
    assert_eq!(json_of(runtime.block_on(waiting))["result"], 1);
}

#[test]
fn the_turn_of_a_call_that_timed_out_goes_to_the_next() {
    let limits =
        Limits { concurrent_calls: Some(1), call_timeout: Some(SECOND), ..Limits::default() };
    let rpc = methods().limits(limits).build().unwrap();
    check(&rpc, "never", Err(timed_out(SECOND)));
    check(&rpc, "now", Ok(json!(1)));
}

#[test]
fn towers_timeout_is_the_timeout_of_a_call() {
    let rpc = methods().layer(TowerTimeoutLayer::new(SECOND / 2)).build().unwrap();
    check(&rpc, "now", Ok(json!(1)));
    let error = json!({ "code": -32004, "message": "Call timed out" });
    check(&rpc, "second", Err(error.clone()));
    check(&rpc, "never", Err(error));
}

/// Sheds what is over the limit: the two layers must be one, for the router makes each layer's
/// service one that is always ready.
fn shedding(rpc: Router) -> Rpc {
    rpc.layer(Stack::new(TowerLimitLayer::new(1), LoadShedLayer::new())).build().unwrap()
}

#[test]
fn towers_load_shedding_is_busy() {
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
fn a_stack_of_layers_is_a_layer() {
    let stack = Stack::new(TowerLimitLayer::new(1), TowerTimeoutLayer::new(SECOND / 2));
    let rpc = methods().layer(stack).build().unwrap();
    let timed_out = json!({ "code": -32004, "message": "Call timed out" });
    for _ in 0..2 {
        check(&rpc, "now", Ok(json!(1)));
        check(&rpc, "never", Err(timed_out.clone()));
    }
}
