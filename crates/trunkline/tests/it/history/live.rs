//! Subscriptions.

use std::time::Duration;

use trunkline::history::{HistoryConfig, Subscription, Update};

use super::{handle, recorded, request};
use crate::support::in_time;

/// The sequence number of the next entry, or the number of lost ones.
async fn next(subscription: &mut Subscription) -> Result<u64, u64> {
    match in_time("an entry", subscription.next()).await {
        Update::Entry(entry) => Ok(entry.sequence),
        Update::Lost(count) => Err(count),
    }
}

#[tokio::test]
async fn receives_new_entries() {
    let (rpc, history) = recorded(HistoryConfig::default());
    handle(&rpc, request("echo", 1)).await;
    let mut live = history.subscribe();
    let mut other = history.subscribe();
    for sequence in 2..=3 {
        handle(&rpc, request("echo", sequence)).await;
        assert_eq!(next(&mut live).await, Ok(sequence));
    }
    assert_eq!((next(&mut other).await, next(&mut other).await), (Ok(2), Ok(3)));
}

#[tokio::test]
async fn waits_for_an_entry() {
    let (rpc, history) = recorded(HistoryConfig::default());
    let mut live = history.subscribe();
    let soon = tokio::time::timeout(Duration::from_millis(5), live.next()).await;
    assert!(soon.is_err(), "no entry yet: {soon:?}");
    let waiting = tokio::spawn(async move { next(&mut live).await });
    tokio::task::yield_now().await;
    handle(&rpc, request("echo", 1)).await;
    assert_eq!(waiting.await.unwrap(), Ok(1));
}

#[tokio::test]
async fn a_slow_subscriber_loses_the_oldest() {
    let (rpc, history) = recorded(HistoryConfig { entries: 3, ..HistoryConfig::default() });
    let mut slow = history.subscribe();
    for id in 1..=10 {
        handle(&rpc, request("echo", id)).await;
    }
    assert_eq!(next(&mut slow).await, Err(7));
    assert_eq!((next(&mut slow).await, next(&mut slow).await), (Ok(8), Ok(9)));
    handle(&rpc, request("echo", 11)).await;
    handle(&rpc, request("echo", 12)).await;
    handle(&rpc, request("echo", 13)).await;
    assert_eq!((next(&mut slow).await, next(&mut slow).await), (Err(1), Ok(11)));
}

#[tokio::test]
async fn continues_after_a_reconnect() {
    let (rpc, history) = recorded(HistoryConfig { entries: 3, ..HistoryConfig::default() });
    for id in 1..=5 {
        handle(&rpc, request("echo", id)).await;
    }
    assert_eq!(next(&mut history.subscribe_after(4)).await, Ok(5));
    assert_eq!(next(&mut history.subscribe_after(2)).await, Ok(3));
    assert_eq!(next(&mut history.subscribe_after(1)).await, Err(1));
    // The id of another history, before a restart: no entry of this one was read.
    assert_eq!(next(&mut history.subscribe_after(99)).await, Err(2));
    assert_eq!(next(&mut history.subscribe_after(u64::MAX)).await, Err(2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_entry_is_told_once() {
    const CALLS: u64 = 2_000;
    let (rpc, history) = recorded(HistoryConfig { entries: 64, ..HistoryConfig::default() });
    let mut live = history.subscribe();
    let reader = tokio::spawn(async move {
        let (mut read, mut lost) = (0, 0);
        while read + lost < CALLS {
            match next(&mut live).await {
                Ok(sequence) => {
                    read += 1;
                    assert_eq!(sequence, read + lost, "in order, without duplicates");
                }
                Err(count) => lost += count,
            }
        }
        read + lost
    });
    let callers = (0..4).map(|_| {
        let rpc = rpc.clone();
        tokio::spawn(async move {
            for id in 0..CALLS / 4 {
                handle(&rpc, request("echo", id)).await;
                if id % 16 == 0 {
                    tokio::task::yield_now().await;
                }
            }
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await.unwrap();
    }
    assert_eq!(in_time("all entries", reader).await.unwrap(), CALLS);
}
