//! Rate limits.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::advance;
use trunkline::access::Principal;
use trunkline::http::Peer;
use trunkline::layers::RateLimitLayer;
use trunkline::layers::rate_limit::Rate;
use trunkline::{Extensions, Router, Rpc};

use super::{body, json_of, paused};

/// Bursts of two calls, and ten calls per second.
const RATE: Rate = Rate { calls: 10, per: Duration::from_secs(1), burst: 2, callers: 1_000 };

/// The extensions of a caller: a principal (`ann`), an address (`10.0.0.1`), both (`ann@10.0.0.1`), or neither (``).
fn caller(name: &str) -> Extensions {
    let mut extensions = Extensions::new();
    let address = |text: &str| text.parse::<IpAddr>().ok();
    let (name, peer) = match (address(name), name.split_once('@')) {
        (Some(peer), _) => ("", Some(peer)),
        (None, Some((name, peer))) => (name, address(peer)),
        (None, None) => (name, None),
    };
    if !name.is_empty() {
        extensions.insert(Principal::new(name));
    }
    if let Some(peer) = peer {
        extensions.insert(Peer(Some(SocketAddr::new(peer, 50_000))));
    }
    extensions
}

fn service(rate: Rate) -> Rpc {
    let layer = RateLimitLayer::new(rate);
    let limited = Router::new().method("one", || 1).method("two", || 2).layer(layer);
    limited.method("free", || 3).build().unwrap()
}

async fn call(rpc: &Rpc, name: &str, method: &str) -> Value {
    json_of(rpc.handle(body(method, 1).into(), caller(name)).await)
}

/// Makes calls in sequence: the milliseconds before each, the caller, and the expected `retry_after_ms` if it is
/// refused.
#[track_caller]
fn check(rate: Rate, calls: &[(u64, &str, Option<u64>)]) {
    let rpc = service(rate);
    paused().block_on(async {
        for (index, (pause, name, refused)) in calls.iter().enumerate() {
            advance(Duration::from_millis(*pause)).await;
            let expected = match refused {
                None => json!({ "jsonrpc": "2.0", "result": 1, "id": 1 }),
                Some(millis) => refusal(*millis),
            };
            assert_eq!(call(&rpc, name, "one").await, expected, "call {index}, by {name:?}");
        }
    });
}

fn refusal(millis: u64) -> Value {
    let data = json!({ "retry_after_ms": millis });
    let error = json!({ "code": -32010, "message": "Too many calls", "data": data });
    json!({ "jsonrpc": "2.0", "error": error, "id": 1 })
}

#[test]
fn buckets_empty_with_calls_and_fill_over_time() {
    check(RATE, &[(0, "", None), (0, "", None), (0, "", Some(100)), (0, "", Some(100))]);
    check(RATE, &[(0, "", None), (0, "", None), (99, "", Some(1)), (1, "", None)]);
    check(RATE, &[(0, "", None), (0, "", None), (150, "", None), (0, "", Some(50))]);
    // A bucket holds at most the burst, whatever the idle time.
    check(RATE, &[(0, "", None), (9_000, "", None), (0, "", None), (0, "", Some(100))]);
    let single = Rate { burst: 1, ..RATE };
    check(single, &[(0, "", None), (0, "", Some(100)), (100, "", None), (0, "", Some(100))]);
    let slow = Rate { calls: 2, per: Duration::from_secs(3_600), burst: 1, ..RATE };
    check(slow, &[(0, "", None), (1, "", Some(1_799_999)), (1_799_999, "", None)]);
    // A third of a second is rounded up to milliseconds.
    let third = Rate { calls: 3, burst: 1, ..RATE };
    check(third, &[(0, "", None), (0, "", Some(334)), (333, "", Some(1)), (1, "", None)]);
}

#[test]
fn supports_extreme_rates() {
    let least = Rate { calls: 0, burst: 0, ..RATE };
    check(least, &[(0, "", None), (0, "", Some(1_000)), (1_000, "", None)]);
    let free = Rate { per: Duration::ZERO, burst: 1, ..RATE };
    check(free, &[(0, "", None), (0, "", None), (0, "", None)]);
    let once = Rate { calls: 1, per: Duration::MAX, burst: 1, ..RATE };
    let decade = 10 * 365 * 24 * 3_600 * 1_000;
    check(once, &[(0, "", None), (0, "", Some(decade)), (1, "", Some(decade - 1))]);
    let many = Rate { calls: 1, per: Duration::MAX, burst: u32::MAX, ..RATE };
    check(many, &[(0, "", None), (0, "", None), (0, "", None)]);
}

#[test]
fn each_caller_has_a_bucket() {
    let single = Rate { burst: 1, ..RATE };
    for (one, other) in [
        ("ann", "bob"),
        ("ann", "10.0.0.1"),
        ("ann", ""),
        ("ann@10.0.0.1", "bob@10.0.0.1"),
        ("10.0.0.1", "10.0.0.2"),
        ("10.0.0.1", "2001:db8::1"),
        ("2001:db8:0:1::1", "2001:db8:0:2::1"),
        ("127.0.0.1", "::1"),
    ] {
        check(single, &[(0, one, None), (0, other, None), (0, one, Some(100))]);
    }
    for (one, same) in [
        ("ann@10.0.0.1", "ann@10.0.0.2"),
        ("ann@10.0.0.1", "ann"),
        ("2001:db8:0:1::1", "2001:db8:0:1:ffff::7"),
        ("10.0.0.1", "::ffff:10.0.0.1"),
    ] {
        check(single, &[(0, one, None), (0, same, Some(100))]);
    }
}

#[test]
fn operations_of_one_layer_share_buckets() {
    let rpc = service(Rate { burst: 1, ..RATE });
    paused().block_on(async {
        assert_eq!(call(&rpc, "", "one").await["result"], json!(1));
        assert_eq!(call(&rpc, "", "two").await, refusal(100));
        for _ in 0..3 {
            assert_eq!(call(&rpc, "", "free").await["result"], json!(3));
            assert_eq!(call(&rpc, "", "nothing").await, refusal(100), "an unknown method");
        }
    });
}

#[test]
fn counts_members_of_batches_and_notifications() {
    let rpc = service(RATE);
    let members: Vec<_> = (0..4).map(|id| body("one", id)).collect();
    let batch = format!("[{}]", members.join(","));
    let replies = paused().block_on(async {
        rpc.handle(r#"{"jsonrpc":"2.0","method":"one"}"#.into(), Extensions::new()).await;
        json_of(rpc.handle(batch.into(), Extensions::new()).await)
    });
    let codes: Vec<_> =
        replies.as_array().unwrap().iter().map(|reply| reply["error"]["code"].as_i64()).collect();
    assert_eq!(codes, [None, Some(-32010), Some(-32010), Some(-32010)], "the notification counts");
}

#[test]
fn callers_over_the_capacity_share_one_bucket() {
    let single = Rate { burst: 1, callers: 2, ..RATE };
    check(
        single,
        &[
            (0, "ann", None),
            (0, "bob", None),
            (0, "cid", None),
            (0, "dan", Some(100)),
            (0, "ann", Some(100)),
            // All buckets are full, but the last cleaning was less than a second ago.
            (100, "dan", None),
            (0, "cid", Some(100)),
            (0, "ann", None),
            (900, "dan", None),
            (0, "cid", None),
            (0, "dan", Some(100)),
        ],
    );
    let none = Rate { burst: 1, callers: 0, ..RATE };
    check(none, &[(0, "ann", None), (0, "bob", Some(100)), (100, "bob", None)]);
}
