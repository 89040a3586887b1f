//! Replacement of operations while threads call them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, ScopedJoinHandle};

use serde_json::{Value, json};
use tokio::runtime::Builder;
use trunkline::{DynamicOperations, Extensions, Router, Rpc, code};

use super::named;

const CHANGES: u64 = 300;

/// The methods `stays` and `round`, and either `even` or `odd`.
fn operations(round: u64) -> Router {
    let name = if round.is_multiple_of(2) { "even" } else { "odd" };
    named(["stays", name]).method("round", move || round)
}

/// Calls all methods in one batch. Returns the result or the error code of each.
async fn batch(rpc: &Rpc, methods: [&str; 5]) -> [Result<Value, i64>; 5] {
    let request = |(id, method)| json!({ "jsonrpc": "2.0", "method": method, "id": id });
    let body: Value = methods.into_iter().enumerate().map(request).collect();
    let reply = rpc.handle(body.to_string().into(), Extensions::new()).await;
    let replies: Vec<Value> = serde_json::from_slice(&reply.into_json().unwrap()).unwrap();
    assert_eq!(replies.len(), methods.len());
    std::array::from_fn(|index| match &replies[index] {
        reply if reply["error"].is_object() => Err(reply["error"]["code"].as_i64().unwrap()),
        reply => Ok(reply["result"].clone()),
    })
}

#[test]
fn replacement_fails_no_other_calls() {
    let tools = DynamicOperations::new();
    tools.replace(operations(0)).unwrap();
    let rpc = named(["ping"]).dynamic("tool", &tools).build().unwrap();
    let (over, batches) = (AtomicBool::new(false), AtomicU64::new(0));
    let call_all = || {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        let mut last = 0;
        while !over.load(Ordering::SeqCst) {
            let methods = ["ping", "tool.stays", "tool.round", "tool.even", "tool.odd"];
            let [ping, stays, round, even, odd] = runtime.block_on(batch(&rpc, methods));
            assert_eq!([ping, stays], [Ok(json!("ping")), Ok(json!("stays"))]);
            let round = round.unwrap().as_u64().unwrap();
            assert!(round >= last, "{round} after {last}: a replaced operation ran");
            last = round;
            for (name, one) in [("even", even), ("odd", odd)] {
                assert!([Ok(json!(name)), Err(code::METHOD_NOT_FOUND)].contains(&one), "{one:?}");
            }
            batches.fetch_add(1, Ordering::SeqCst);
        }
    };
    thread::scope(|scope| {
        let callers = [scope.spawn(call_all), scope.spawn(call_all)];
        for round in 1..=CHANGES {
            // Wait for a batch between two changes. Callers end early if they panic.
            let before = batches.load(Ordering::SeqCst);
            while batches.load(Ordering::SeqCst) == before
                && !callers.iter().any(ScopedJoinHandle::is_finished)
            {
                thread::yield_now();
            }
            tools.replace(operations(round)).unwrap();
        }
        over.store(true, Ordering::SeqCst);
    });
    let batches = batches.into_inner();
    assert!(batches >= CHANGES, "{batches}");
    let counted = rpc.metrics();
    let stays = counted.iter().find(|metrics| metrics.method == "tool.stays").unwrap();
    assert_eq!((stays.started, stays.succeeded), (batches, batches), "counters are kept");
}
