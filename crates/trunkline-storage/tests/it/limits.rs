//! Limits, timeouts and cancellation.

use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use trunkline_storage::StoreError;

use crate::engine::lock;
use crate::fixture::{
    Fixture, PATIENCE, cancellation, enqueue, enqueue_all, gate, outcome, put, while_writing,
};

const SOON: Duration = Duration::from_millis(20);

#[tokio::test]
async fn waits_for_the_lock_of_another_process() {
    let fixture = Fixture::with(|config| config.lock_wait = SOON);
    fixture.put("before").await.unwrap();
    let other = fixture.place.other_process();
    lock(&other);
    let puts = enqueue_all(["a", "b", "c"].map(|id| fixture.put(id))).await;
    for put in puts {
        assert_eq!(outcome(&put.await), "Busy");
    }
    other.execute("ROLLBACK");
    fixture.put("after").await.unwrap();
    assert_eq!(fixture.ids().await, ["after", "before"]);
}

#[tokio::test]
async fn limits_waiting_writes() {
    let fixture = Fixture::with(|config| config.write_queue = 2);
    while_writing(&fixture, async || {
        let mut waiting = enqueue_all(["a", "b"].map(|id| fixture.put(id))).await;
        assert_eq!(outcome(&fixture.put("c").await), "Busy");
        // An abandoned command is removed.
        drop(waiting.remove(0));
        enqueue_all([fixture.put("d")]).await;
        waiting
    })
    .await;
}

#[tokio::test]
async fn limits_the_bytes_of_waiting_writes() {
    // The waiting bytes, and those of a new command. The limit is 100.
    let rows: [(&[usize], usize, &str); 5] = [
        (&[60, 30], 10, "Ok"),
        (&[60, 30], 11, "Busy"),
        (&[], 100, "Ok"),
        (&[], 101, "Busy"),
        (&[1], usize::MAX, "Busy"),
    ];
    for (waiting, bytes, expected) in rows {
        let fixture = Fixture::with(|config| config.write_queue_bytes = 100);
        let write =
            |bytes| Box::pin(fixture.store.write(pending(), bytes, |_| Ok::<_, StoreError>(())));
        // Repeated after the waiting commands have run or were abandoned.
        let mut before = enqueue_all(waiting.iter().map(|bytes| write(*bytes))).await;
        for write in before.drain(..) {
            write.await.unwrap();
        }
        while_writing(&fixture, async || {
            drop(enqueue_all(waiting.iter().map(|bytes| write(*bytes))).await);
            let _waiting = enqueue_all(waiting.iter().map(|bytes| write(*bytes))).await;
            let mut next = write(bytes);
            let polled = poll_fn(|context| Poll::Ready(next.as_mut().poll(context))).await;
            let found =
                if let Poll::Ready(done) = polled { outcome(&done) } else { "Ok".to_owned() };
            assert_eq!(found, expected, "{waiting:?}, {bytes}");
        })
        .await;
    }
}

#[tokio::test]
async fn limits_waiting_reads() {
    let fixture = Fixture::with(|config| {
        config.readers = 1;
        config.read_queue = 1;
    });
    let (gate, passage) = gate();
    let mut holding = pin!(fixture.read(move |_| {
        passage.pass();
        Ok(())
    }));
    enqueue(holding.as_mut()).await;
    gate.wait();
    let mut waiting = pin!(fixture.read(|_| Ok(())));
    enqueue(waiting.as_mut()).await;
    assert_eq!(outcome(&fixture.read(|_| Ok(())).await), "Busy");
    gate.open();
    holding.await.unwrap();
    waiting.await.unwrap();
}

/// The way in which a caller abandons its command.
#[derive(Debug, Clone, Copy)]
enum Leaving {
    TimeIsUp,
    Cancelled,
    Dropped,
}

#[tokio::test(start_paused = true)]
async fn never_starts_abandoned_commands() {
    for (leaving, expected) in [
        (Leaving::TimeIsUp, "Timeout"),
        (Leaving::Cancelled, "Cancelled"),
        (Leaving::Dropped, "dropped"),
    ] {
        let fixture = Fixture::new();
        let ran = Arc::new(AtomicBool::new(false));
        let runs = Arc::clone(&ran);
        while_writing(&fixture, async || {
            let (cancel, cancelled) = cancellation();
            let mut write = Box::pin(fixture.store.write(cancelled, 0, move |_| {
                runs.store(true, Ordering::Relaxed);
                Ok::<_, StoreError>(())
            }));
            enqueue(write.as_mut()).await;
            let found = match leaving {
                Leaving::TimeIsUp => outcome(&write.await),
                Leaving::Cancelled => {
                    drop(cancel);
                    outcome(&write.await)
                }
                Leaving::Dropped => {
                    drop(write);
                    "dropped".to_owned()
                }
            };
            assert_eq!(found, expected);
        })
        .await;
        assert!(fixture.store.close(PATIENCE), "all accepted commands are done");
        assert!(!ran.load(Ordering::Relaxed), "{leaving:?}");
    }
}

#[tokio::test]
async fn completes_started_writes_after_cancellation() {
    let fixture = Fixture::new();
    let (gate, passage) = gate();
    let (cancel, cancelled) = cancellation();
    let mut write = pin!(fixture.store.write(cancelled, 0, move |connection| {
        passage.pass();
        put(connection, "a", "")
    }));
    enqueue(write.as_mut()).await;
    gate.wait();
    drop(cancel);
    enqueue(write.as_mut()).await;
    gate.open();
    assert_eq!(outcome(&write.await), "Ok");
    assert_eq!(fixture.ids().await, ["a"]);
}

#[tokio::test(start_paused = true)]
async fn slow_writes_are_unconfirmed() {
    let fixture = Fixture::with(|config| config.confirm_wait = Duration::from_secs(7));
    let (gate, passage) = gate();
    let started = tokio::time::Instant::now();
    let mut write = pin!(fixture.write(move |connection| {
        passage.pass();
        put(connection, "a", "")
    }));
    enqueue(write.as_mut()).await;
    gate.wait();
    assert_eq!(outcome(&write.await), "Unconfirmed");
    assert_eq!(started.elapsed().as_secs(), PATIENCE.as_secs() + 7);
    gate.open();
    assert!(fixture.store.close(PATIENCE));
    let found = fixture.place.other_process().texts("SELECT id FROM item");
    assert_eq!(found, ["a"], "the write was executed");
}
