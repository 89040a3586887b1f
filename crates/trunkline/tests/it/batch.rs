//! Batches (JSON-RPC 2.0, section 6): execution, concurrency, limits and replies.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio::time::sleep;
use trunkline::{ErrorObject, Extensions, Limits, Operation, Params, Router, Rpc, blocking};

/// Runs a batch with tokio's paused clock.
fn run(rpc: &Rpc, batch: &str) -> Option<Vec<u8>> {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(rpc.handle(batch.to_owned().into(), Extensions::new())).into_json()
}

fn batch(members: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let members: Vec<_> = members.into_iter().map(|member| member.as_ref().to_owned()).collect();
    format!("[{}]", members.join(","))
}

fn call(method: &str, params: &Value, id: usize) -> String {
    json!({ "jsonrpc": "2.0", "method": method, "params": params, "id": id }).to_string()
}

fn notification(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}

/// Runs a batch and compares the id and the result or error code of each reply.
#[track_caller]
fn check(rpc: &Rpc, members: &[String], expected: &[(Value, Result<Value, i64>)]) {
    let reply = run(rpc, &batch(members)).unwrap_or_else(|| b"[]".to_vec());
    let replies: Vec<Value> = serde_json::from_slice(&reply).unwrap();
    let found: Vec<_> = replies.iter().map(describe).collect();
    assert_eq!(found, expected, "{members:#?}");
}

fn describe(reply: &Value) -> (Value, Result<Value, i64>) {
    assert_eq!(reply["jsonrpc"], "2.0");
    let outcome = match reply.get("error") {
        Some(error) => Err(error["code"].as_i64().unwrap()),
        None => Ok(reply["result"].clone()),
    };
    (reply["id"].clone(), outcome)
}

/// The params of `later`.
#[derive(serde::Deserialize)]
struct Later {
    ms: u64,
    n: u64,
}

/// Counts concurrent calls.
#[derive(Debug, Clone, Default)]
struct Gauge(Arc<(AtomicUsize, AtomicUsize)>);

impl Gauge {
    async fn run(self, milliseconds: u64) -> u64 {
        let running = self.0.0.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.1.fetch_max(running, Ordering::SeqCst);
        sleep(Duration::from_millis(milliseconds)).await;
        self.0.0.fetch_sub(1, Ordering::SeqCst);
        milliseconds
    }

    fn max(&self) -> usize {
        self.0.1.load(Ordering::SeqCst)
    }
}

/// Handlers of every kind. Notifications write to `log` when they have finished.
fn service(limits: Limits, log: &Arc<Mutex<Vec<u64>>>) -> Rpc {
    let log = Arc::clone(log);
    Router::new()
        .method("now", |Params((n,)): Params<(u64,)>| n)
        .method("later", async |Params(Later { ms, n }): Params<Later>| {
            sleep(Duration::from_millis(ms)).await;
            n
        })
        .method("yields", async |Params((times, n)): Params<(u64, u64)>| {
            for _ in 0..times {
                tokio::task::yield_now().await;
            }
            n
        })
        .method("threaded", blocking(|| "threaded"))
        .method("fails", || Err::<(), _>(ErrorObject::new(7, "no")))
        .method("panics", || -> () { panic!("at once") })
        .method("panics later", async |Params((ms,)): Params<(u64,)>| -> () {
            sleep(Duration::from_millis(ms)).await;
            panic!("later");
        })
        .method("log", move |Params((ms, n)): Params<(u64, u64)>| {
            let log = Arc::clone(&log);
            async move {
                sleep(Duration::from_millis(ms)).await;
                log.lock().unwrap().push(n);
            }
        })
        .limits(limits)
        .build()
        .unwrap()
}

#[derive(Debug, Clone)]
enum Member {
    Now,
    Later(u64),
    Yields(u64),
    Threaded,
    Fails,
    Panics,
    PanicsLater(u64),
    Log(u64),
    LogUnknown,
    LogRefused,
    Unknown,
    Refused,
    NotAnObject,
    Invalid,
    InvalidWithId,
}

impl Member {
    fn text(&self, n: usize) -> String {
        match self {
            Self::Now => call("now", &json!([n]), n),
            Self::Later(ms) => call("later", &json!({ "n": n, "ms": ms }), n),
            Self::Yields(times) => call("yields", &json!([times, n]), n),
            Self::Threaded => call("threaded", &json!([]), n),
            Self::Fails => call("fails", &json!([]), n),
            Self::Panics => call("panics", &json!([]), n),
            Self::PanicsLater(ms) => call("panics later", &json!([ms]), n),
            Self::Log(ms) => notification("log", &json!([ms, n])),
            Self::LogUnknown => notification("unknown", &json!([])),
            Self::LogRefused => notification("log", &json!([])),
            Self::Unknown => call("unknown", &json!([]), n),
            Self::Refused => call("now", &json!(["x"]), n),
            Self::NotAnObject => n.to_string(),
            Self::Invalid => json!({ "jsonrpc": "2.0", "method": 1 }).to_string(),
            Self::InvalidWithId => json!({ "method": "now", "id": n }).to_string(),
        }
    }

    fn reply(&self, n: usize) -> Option<(Value, Result<Value, i64>)> {
        let outcome = match self {
            Self::Now | Self::Later(_) | Self::Yields(_) => Ok(json!(n)),
            Self::Threaded => Ok(json!("threaded")),
            Self::Fails => Err(7),
            Self::Panics | Self::PanicsLater(_) => Err(-32603),
            Self::Log(_) | Self::LogUnknown | Self::LogRefused => return None,
            Self::Unknown => Err(-32601),
            Self::Refused => Err(-32602),
            Self::NotAnObject | Self::Invalid => return Some((Value::Null, Err(-32600))),
            Self::InvalidWithId => Err(-32600),
        };
        Some((json!(n), outcome))
    }
}

fn members() -> impl Strategy<Value = Vec<Member>> {
    let member = prop_oneof![
        Just(Member::Now),
        (0..100_u64).prop_map(Member::Later),
        (0..5_u64).prop_map(Member::Yields),
        Just(Member::Threaded),
        Just(Member::Fails),
        Just(Member::Panics),
        (0..100_u64).prop_map(Member::PanicsLater),
        (0..100_u64).prop_map(Member::Log),
        Just(Member::LogUnknown),
        Just(Member::LogRefused),
        Just(Member::Unknown),
        Just(Member::Refused),
        Just(Member::NotAnObject),
        Just(Member::Invalid),
        Just(Member::InvalidWithId),
    ];
    vec(member, 1..20)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn replies_come_in_the_order_of_the_requests_with_their_ids(
        members in members(),
        batch_parallelism in 1..6_usize,
        concurrent_calls in prop_oneof![Just(None), (1..4_usize).prop_map(Some)],
    ) {
        let limits = Limits { batch_parallelism, concurrent_calls, ..Limits::default() };
        let log = Arc::default();
        let rpc = service(Limits { call_timeout: None, ..limits }, &log);
        let texts: Vec<_> = members.iter().enumerate().map(|(n, member)| member.text(n)).collect();
        let expected: Vec<_> =
            members.iter().enumerate().filter_map(|(n, member)| member.reply(n)).collect();
        check(&rpc, &texts, &expected);

        // Notifications have no reply, but have finished.
        let mut logged = log.lock().unwrap().clone();
        logged.sort_unstable();
        let logs = members.iter().enumerate().filter(|(_, member)| matches!(member, Member::Log(_)));
        prop_assert_eq!(logged, logs.map(|(n, _)| n as u64).collect::<Vec<_>>());
    }
}

#[test]
fn limits_concurrent_members() {
    for (batch_parallelism, members, most) in [(1, 5, 1), (2, 9, 2), (7, 50, 7), (16, 3, 3)] {
        let gauge = Gauge::default();
        let counted = gauge.clone();
        let rpc = Router::new()
            .method("work", move |Params((ms,)): Params<(u64,)>| counted.clone().run(ms))
            .limits(Limits { batch_parallelism, ..Limits::default() })
            .build()
            .unwrap();
        let work = (0..members).map(|n| call("work", &json!([n % 4 + 1]), n)).collect::<Vec<_>>();
        let replies = (0..members).map(|n| (json!(n), Ok(json!(n % 4 + 1)))).collect::<Vec<_>>();
        check(&rpc, &work, &replies);
        assert_eq!(gauge.max(), most, "{members} members, {batch_parallelism} at a time");
    }
}

#[test]
fn timeouts_and_panics_fail_single_members() {
    let limits = Limits { call_timeout: Some(Duration::from_millis(50)), ..Limits::default() };
    let rpc = service(limits, &Arc::default());
    let members = [
        call("later", &json!([10, 1]), 1),
        call("later", &json!([1_000_000, 2]), 2),
        call("panics", &json!([]), 3),
        call("panics later", &json!([20]), 4),
        call("now", &json!([5]), 5),
        call("later", &json!([40, 6]), 6),
    ];
    let expected = [
        (json!(1), Ok(json!(1))),
        (json!(2), Err(-32004)),
        (json!(3), Err(-32603)),
        (json!(4), Err(-32603)),
        (json!(5), Ok(json!(5))),
        (json!(6), Ok(json!(6))),
    ];
    check(&rpc, &members, &expected);
}

#[test]
fn runs_no_members_after_the_reply_limit_is_exceeded() {
    let ran = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ran);
    let rpc = Router::new()
        .method("text", move |Params((length,)): Params<(usize,)>| {
            count.fetch_add(1, Ordering::SeqCst);
            "x".repeat(length)
        })
        .limits(Limits { reply_bytes: 1_000, ..Limits::default() })
        .build()
        .unwrap();
    let text = |length: usize, id| call("text", &json!([length]), id);
    let fits = |length: usize, id: i32| (json!(id), Ok(json!("x".repeat(length))));
    let too_large = |id: i32| (json!(id), Err(-32006));

    let members = [
        text(400, 1),
        text(400, 2),
        text(400, 3),
        text(1, 4),
        r#"{"id":5}"#.to_owned(),
        notification("text", &json!([1])),
        "6".to_owned(),
        call("unknown", &json!([]), 7),
    ];
    let expected = [
        fits(400, 1),
        fits(400, 2),
        too_large(3),
        too_large(4),
        (json!(5), Err(-32600)),
        (json!(null), Err(-32600)),
        too_large(7),
    ];
    check(&rpc, &members, &expected);
    assert_eq!(ran.swap(0, Ordering::SeqCst), 3, "the third ran, since its size was unknown");

    let many: Vec<_> = (0..500).map(|id| text(400, id)).collect();
    let reply = run(&rpc, &batch(&many)).unwrap();
    let error = br#"{"jsonrpc":"2.0","error":{"code":-32006,"message":"Reply too large","data":{"#;
    assert!(reply.windows(error.len()).filter(|window| window == error).count() == 498);
    assert!(reply.len() < 1_000 + 500 * 260, "{} bytes", reply.len());
    assert_eq!(ran.load(Ordering::SeqCst), 3);
}

#[test]
fn sends_replies_of_running_members_that_fit_the_limit() {
    let limits = Limits { reply_bytes: 1_000, batch_parallelism: 2, ..Limits::default() };
    let rpc = Router::new()
        .method("text", async |Params((length, ms)): Params<(usize, u64)>| {
            sleep(Duration::from_millis(ms)).await;
            "x".repeat(length)
        })
        .limits(limits)
        .build()
        .unwrap();
    let members = [
        call("text", &json!([2_000, 1]), 1),
        call("text", &json!([3, 2]), 2),
        call("text", &json!([3, 3]), 3),
    ];
    let expected = [(json!(1), Err(-32006)), (json!(2), Ok(json!("xxx"))), (json!(3), Err(-32006))];
    check(&rpc, &members, &expected);
}

#[test]
fn a_batch_of_notifications_has_no_reply() {
    let log = Arc::default();
    let rpc = service(Limits::default(), &log);
    let notifications = [
        notification("log", &json!([5, 1])),
        notification("unknown", &json!([])),
        notification("log", &json!(["x"])),
        notification("panics", &json!([])),
        notification("log", &json!([0, 2])),
    ];
    assert_eq!(run(&rpc, &batch(notifications)), None);
    assert_eq!(*log.lock().unwrap(), [2, 1], "each has finished");
}

#[test]
fn a_batch_over_the_limit_runs_nothing() {
    let log = Arc::default();
    let rpc = service(Limits { batch_requests: 2, ..Limits::default() }, &log);
    let log_one = |n| notification("log", &json!([0, n]));
    let reply = run(&rpc, &batch([log_one(1), log_one(2), log_one(3)])).unwrap();
    let reason = "a batch must contain at most 2 requests; no request was run";
    let error =
        json!({ "code": -32600, "message": "Invalid Request", "data": { "reason": reason } });
    let expected = json!({ "jsonrpc": "2.0", "error": error, "id": null });
    assert_eq!(serde_json::from_slice::<Value>(&reply).unwrap(), expected);
    assert_eq!(*log.lock().unwrap(), [0; 0]);
    assert_eq!(run(&rpc, &batch([log_one(1), log_one(2)])), None);
    assert_eq!(*log.lock().unwrap(), [1, 2]);
}

/// Work that occupies a thread for longer than the turn of a batch.
fn busy() {
    thread::sleep(Duration::from_millis(2));
}

#[test]
fn a_long_batch_yields_to_other_tasks() {
    let rpc = Router::new().method("busy", busy).build().unwrap();
    let calls: Vec<_> = (0..80).map(|id| call("busy", &json!([]), id)).collect();
    // Invalid members do not count as calls.
    let refused = calls.chunks(7).flat_map(|calls| [calls, &["1".to_owned()]].concat());
    for members in [calls.clone(), refused.collect()] {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        let turns = runtime.block_on(async {
            let turns = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&turns);
            let other = tokio::spawn(async move {
                loop {
                    counted.fetch_add(1, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                }
            });
            rpc.handle(batch(members).into(), Extensions::new()).await;
            other.abort();
            turns.load(Ordering::SeqCst)
        });
        // One turn after every 8 entries except the last.
        assert!(turns >= 9, "{turns} turns during 80 calls");
    }
}

#[test]
fn polls_waiting_members_while_others_are_busy() {
    let ended = Arc::new(Mutex::new(Vec::new()));
    let (one, other) = (Arc::clone(&ended), Arc::clone(&ended));
    let rpc = Router::new()
        .method("busy", move || {
            busy();
            one.lock().unwrap().push("busy");
        })
        .method("waits", move || {
            let ended = Arc::clone(&other);
            async move {
                for _ in 0..3 {
                    tokio::task::yield_now().await;
                }
                ended.lock().unwrap().push("waited");
            }
        })
        .build()
        .unwrap();
    let first = call("waits", &json!([]), 0);
    let rest = (1..60).map(|id| call("busy", &json!([]), id));
    run(&rpc, &batch([first].into_iter().chain(rest)));
    let ended = ended.lock().unwrap();
    let place = ended.iter().position(|end| *end == "waited").unwrap();
    assert!(place < 40, "it ended after {place} of 59 others");
}

#[test]
fn does_not_run_members_that_cannot_begin_in_time() {
    let run_count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&run_count);
    let rpc = Router::new()
        .method("slow", blocking(|| thread::sleep(Duration::from_millis(600))))
        .method("count", move || counted.fetch_add(1, Ordering::SeqCst))
        .operation(Operation::new("patient", || ()).timeout(Duration::from_secs(60)))
        .limits(Limits {
            call_timeout: Some(Duration::from_secs(1)),
            batch_parallelism: 1,
            ..Limits::default()
        })
        .build()
        .unwrap();
    let slow = |id| call("slow", &json!([]), id);
    let others = [call("count", &json!([]), 4), call("patient", &json!([]), 5)];
    let members = batch([slow(1), slow(2), slow(3)].into_iter().chain(others));
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    let reply = runtime.block_on(rpc.handle(members.into(), Extensions::new())).into_json();
    let replies: Vec<Value> = serde_json::from_slice(&reply.unwrap()).unwrap();
    let found: Vec<_> = replies.iter().map(describe).collect();
    let done = |id: i32| (json!(id), Ok(Value::Null));
    let late = |id: i32| (json!(id), Err(-32004));
    assert_eq!(found, [done(1), done(2), late(3), late(4), done(5)]);
    assert_eq!(run_count.load(Ordering::SeqCst), 0);
}
