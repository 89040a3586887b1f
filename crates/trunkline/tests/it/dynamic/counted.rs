//! Running calls and counters when operations are replaced.

use std::sync::Arc;
use std::task::{Context, Waker};

use serde_json::json;
use trunkline::layers::metrics::MethodMetrics;
use trunkline::protocol::Incoming;
use trunkline::{DynamicOperations, Extensions, Router, Rpc};

use super::{call, named, names, service};
use crate::support::{DONE, Gate, WAIT, in_time};

/// The numbers of started, succeeded and running calls of a method, if it has counters.
fn counts(rpc: &Rpc, method: &str) -> Option<[u64; 3]> {
    let metrics = rpc.metrics();
    let found = metrics.iter().find(|metrics| metrics.method == method);
    found.map(|MethodMetrics { started, succeeded, running, .. }| [*started, *succeeded, *running])
}

#[test]
fn keeps_counters_of_remaining_names() {
    let (rpc, tools) = service();
    tools.replace(named(["a", "b"])).unwrap();
    for name in ["tool.a", "tool.b", "tool.a", "ping"] {
        call(&rpc, name).unwrap();
    }
    tools.replace(named(["c", "a"])).unwrap();
    call(&rpc, "tool.a").unwrap();
    call(&rpc, "tool.b").unwrap_err();
    for (method, expected) in [
        ("tool.a", Some([3, 3, 0])),
        ("tool.b", None),
        ("tool.c", Some([0, 0, 0])),
        ("ping", Some([1, 1, 0])),
        ("unknown", Some([1, 0, 0])),
    ] {
        assert_eq!(counts(&rpc, method), expected, "{method}");
    }
}

#[tokio::test]
async fn running_calls_complete_with_the_previous_operation() {
    let (gate, tools) = (Gate::new(), DynamicOperations::new());
    let rpc = Router::new().dynamic("tool", &tools).build().unwrap();
    let waiting = || Router::new().merge(gate.router());
    tools.replace(waiting()).unwrap();
    let body = WAIT.replace("wait", "tool.wait");
    let mut running = Box::pin(rpc.handle(body.clone().into(), Extensions::new()));
    assert!(running.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let Incoming::Call(read) = rpc.read(body.clone().into(), Extensions::new()) else {
        panic!("not a call")
    };

    tools.replace(named(["other"])).unwrap();
    gate.open(2);
    let replies = [in_time("a reply", running).await, in_time("a reply", rpc.answer(read)).await];
    for reply in replies {
        assert_eq!(reply.into_json().unwrap(), DONE.as_bytes());
    }
    assert_eq!(gate.entered(), 2);
    let reply = rpc.handle(body.into(), Extensions::new()).await;
    assert_eq!(reply.code(), Some(-32601));
}

#[tokio::test]
async fn counts_a_call_that_outlives_its_operation_by_name() {
    let (gate, tools) = (Gate::new(), DynamicOperations::new());
    let rpc = Router::new().dynamic("tool", &tools).build().unwrap();
    tools.replace(gate.router()).unwrap();
    let body = WAIT.replace("wait", "tool.wait");
    let mut running = Box::pin(rpc.handle(body.into(), Extensions::new()));
    assert!(running.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    tools.replace(named(["wait"])).unwrap();
    assert_eq!(counts(&rpc, "tool.wait"), Some([1, 0, 1]));
    gate.open(1);
    in_time("a reply", running).await;
    assert_eq!(counts(&rpc, "tool.wait"), Some([1, 1, 0]));
}

#[test]
fn drops_replaced_operations() {
    let (rpc, tools) = service();
    let owned = Arc::new(());
    let with = |owned: &Arc<()>| {
        let owned = Arc::clone(owned);
        Router::new().method("a", move || Arc::strong_count(&owned) > 1)
    };
    tools.replace(with(&owned)).unwrap();
    assert_eq!(call(&rpc, "tool.a"), Ok(json!(true)));
    tools.replace(Router::new()).unwrap();
    assert_eq!(Arc::strong_count(&owned), 1);

    tools.replace(with(&owned)).unwrap();
    assert_eq!(names(&rpc), ["ping", "tool.a", "rpc.discover"]);
    drop(rpc);
    assert_eq!(Arc::strong_count(&owned), 1, "operations are dropped with the service");
    tools.replace(with(&owned)).unwrap();
    assert_eq!(Arc::strong_count(&owned), 1, "the service was dropped");
}
