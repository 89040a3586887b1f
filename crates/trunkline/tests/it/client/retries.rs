//! Retries of calls, with tokio's paused clock.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use trunkline::client::{Client, ClientConfig, Error, Failure, Retry, TransportError};

use super::scripted::{Scripted, broken, failing, numbers, refused, unavailable};

const TIMEOUT: Duration = Duration::from_secs(10);

/// The failure of the first attempts.
#[derive(Clone)]
enum Fault {
    Failure(Failure),
    Error(i64, Value),
    Silence,
}

struct Row {
    name: &'static str,
    fault: Fault,
    /// The number of failures, the number of attempts, and whether the last one succeeds.
    times: usize,
    attempts: usize,
    succeeds: bool,
    /// The duration in milliseconds.
    took: std::ops::RangeInclusive<u128>,
}

fn row(name: &'static str, fault: Fault, (times, attempts, succeeds): (usize, usize, bool)) -> Row {
    Row { name, fault, times, attempts, succeeds, took: 0..=300 }
}

async fn check(row: Row, is_idempotent: bool) {
    let Row { name, fault, times, attempts, succeeds, took } = row;
    let script = Scripted::new(move |before, message| match &fault {
        _ if before >= times => Some(Ok(numbers(message))),
        Fault::Failure(failure) => Some(Err(failure.clone())),
        Fault::Error(code, data) => Some(Ok(failing(message, *code, data))),
        Fault::Silence => None,
    });
    let settings = ClientConfig { timeout: TIMEOUT, ..ClientConfig::default() };
    let client = Client::with_config(script.clone(), settings);
    let call = client.call::<i64>("m5", ());
    let started = Instant::now();
    let ended = if is_idempotent { call.idempotent().await } else { call.await };
    let elapsed = started.elapsed().as_millis();
    let sent = script.sent();
    assert_eq!(sent.len(), attempts, "{name}, idempotent: {is_idempotent}: {ended:?}");
    assert_eq!(ended.is_ok(), succeeds, "{name}: {ended:?}");
    assert!(took.contains(&elapsed), "{name}: {elapsed} ms");
    assert!(sent.iter().all(|attempt| attempt.message == sent[0].message), "{name}: {sent:?}");
}

#[tokio::test(start_paused = true)]
async fn idempotent_calls() {
    let fails = |failure| Fault::Failure(failure);
    let busy = |data: Value| Fault::Error(-32005, data);
    let wait = |milliseconds: u64| json!({ "retry_after_ms": milliseconds });
    let large = TransportError::TooLarge { target: String::new(), limit: 1 };
    for expected in [
        row("no connection, once", fails(refused()), (1, 2, true)),
        row("no connection, twice", fails(refused()), (2, 3, true)),
        row("no connection", fails(refused()), (3, 3, false)),
        row("broken, twice", fails(broken()), (2, 3, true)),
        row("a gateway has no server", fails(unavailable(502)), (2, 3, true)),
        row("a gateway waits for a server", fails(unavailable(503)), (2, 3, true)),
        row("another refusal", fails(unavailable(403)), (1, 1, false)),
        row("too large", fails(large.into()), (1, 1, false)),
        row("busy", busy(Value::Null), (2, 3, true)),
        row("busy, with other data", busy(json!({ "retry_after_ms": -1 })), (2, 3, true)),
        row("rate limited", Fault::Error(-32010, Value::Null), (2, 3, true)),
        row("an application error", Fault::Error(1, wait(1)), (1, 1, false)),
        row("an internal error", Fault::Error(-32603, wait(1)), (1, 1, false)),
        Row { took: 2_000..=2_300, ..row("wait a second", busy(wait(1_000)), (2, 3, true)) },
        Row { took: 0..=0, ..row("wait too long", busy(wait(10_000)), (1, 1, false)) },
        Row { took: 0..=0, ..row("wait forever", busy(wait(u64::MAX)), (1, 1, false)) },
        Row { took: 10_000..=10_001, ..row("silence", Fault::Silence, (1, 1, false)) },
    ] {
        check(expected, true).await;
    }
}

#[tokio::test(start_paused = true)]
async fn does_not_retry_other_calls() {
    let wait = json!({ "retry_after_ms": 1 });
    for (name, fault) in [
        ("no connection", Fault::Failure(refused())),
        ("broken", Fault::Failure(broken())),
        ("a gateway", Fault::Failure(unavailable(503))),
        ("busy", Fault::Error(-32005, wait.clone())),
        ("rate limited", Fault::Error(-32010, wait)),
    ] {
        check(Row { took: 0..=0, ..row(name, fault, (1, 1, false)) }, false).await;
    }
}

#[tokio::test(start_paused = true)]
async fn backoff_is_exponential_and_random() {
    let script = Scripted::new(|_, _| Some(Err(broken())));
    let (backoff, max_backoff) = (Duration::from_millis(100), Duration::from_millis(400));
    let retry = Some(Retry { attempts: 8, backoff, max_backoff });
    let client = Client::with_config(script.clone(), ClientConfig { timeout: TIMEOUT, retry });
    let mut firsts = Vec::new();
    for _ in 0..20 {
        let before = script.sent().len();
        client.call::<i64>("m", ()).idempotent().await.unwrap_err();
        let at: Vec<Instant> = script.sent()[before..].iter().map(|sent| sent.at).collect();
        let waits: Vec<u128> = at.windows(2).map(|at| (at[1] - at[0]).as_millis()).collect();
        let bounds = [100, 200, 400, 400, 400, 400, 400];
        assert_eq!(waits.len(), bounds.len());
        // Timers round up to the millisecond.
        assert!(waits.iter().zip(bounds).all(|(wait, bound)| *wait <= bound + 1), "{waits:?}");
        firsts.push(waits[0]);
    }
    firsts.sort_unstable();
    assert!(firsts[0] < firsts[19], "{firsts:?}");
}

#[tokio::test(start_paused = true)]
async fn retries_can_be_disabled() {
    let script = Scripted::new(|_, _| Some(Err(broken())));
    let settings = ClientConfig { retry: None, ..ClientConfig::default() };
    let client = Client::with_config(script.clone(), settings);
    let ended = client.call::<i64>("m", ()).idempotent().await;
    assert!(matches!(ended, Err(Error::Transport(TransportError::Broken { .. }))), "{ended:?}");
    assert_eq!(script.sent().len(), 1);
}
