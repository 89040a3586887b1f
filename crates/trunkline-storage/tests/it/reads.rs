//! Isolation, concurrency and interruption of reads.

use std::future::pending;
use std::pin::pin;
use std::time::{Duration, Instant};

use trunkline_storage::{Connection, StoreError};

use crate::fixture::{
    Fixture, PATIENCE, Passage, cancellation, enqueue, enqueue_all, gate, outcome, put,
    while_writing,
};

#[tokio::test]
async fn a_read_sees_earlier_writes() {
    let fixture = Fixture::new();
    for n in 0..50 {
        let id = format!("{n:02}");
        let key = id.clone();
        fixture.write(move |connection| put(connection, &key, "")).await.unwrap();
        assert_eq!(fixture.ids().await.last(), Some(&id));
    }
}

#[tokio::test]
async fn a_read_is_a_snapshot() {
    let fixture = Fixture::new();
    fixture.put("a").await.unwrap();
    let (gate, passage) = gate();
    let mut read = pin!(fixture.read(move |connection| {
        let text =
            || connection.query_row("SELECT text FROM item", &[], |row| row.get::<String>(0));
        let first = text()?;
        passage.pass();
        Ok((first, text()?))
    }));
    enqueue(read.as_mut()).await;
    gate.wait();
    fixture.write(|connection| put(connection, "a", "changed")).await.unwrap();
    gate.open();
    assert_eq!(read.await.unwrap(), (Some(String::new()), Some(String::new())));
}

#[tokio::test]
async fn a_read_does_not_wait_for_the_writer() {
    let fixture = Fixture::new();
    fixture.put("a").await.unwrap();
    while_writing(&fixture, async || assert_eq!(fixture.ids().await, ["a"])).await;
}

#[tokio::test]
async fn reads_run_concurrently() {
    let fixture = Fixture::with(|config| config.readers = 2);
    let ((gate_1, passage_1), (gate_2, passage_2)) = (gate(), gate());
    let mut first = pin!(fixture.read(move |_| {
        passage_1.pass();
        Ok(())
    }));
    let mut second = pin!(fixture.read(move |_| {
        passage_2.pass();
        Ok(())
    }));
    enqueue(first.as_mut()).await;
    enqueue(second.as_mut()).await;
    gate_1.wait();
    gate_2.wait();
    gate_1.open();
    gate_2.open();
    first.await.unwrap();
    second.await.unwrap();
}

#[tokio::test]
async fn a_read_does_not_wait_for_scans() {
    // The number of readers, of scans, and of concurrently running scans.
    for (readers, scans, running) in [(4, 5, 3), (2, 2, 1), (1, 1, 1)] {
        let fixture = Fixture::with(|config| config.readers = readers);
        let (gates, passages): (Vec<_>, Vec<_>) = (0..scans).map(|_| gate()).unzip();
        let scan = |passage: Passage| {
            fixture.store.scan(pending(), move |_, _| {
                passage.pass();
                Ok::<_, StoreError>(())
            })
        };
        let waiting = enqueue_all(passages.into_iter().map(scan)).await;
        for gate in &gates[..running] {
            gate.wait();
        }
        if readers > 1 {
            assert_eq!(fixture.ids().await, [""; 0], "{readers} readers");
        }
        // Waiting scans run as soon as others have ended.
        for (scan, gate) in waiting.into_iter().zip(gates) {
            gate.open();
            scan.await.unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_scan_waits_up_to_the_timeout() {
    let fixture = Fixture::with(|config| {
        config.readers = 2;
        config.read_queue = 1;
    });
    let (cancel, cancelled) = cancellation();
    let (gate, passage) = gate();
    let mut running = pin!(fixture.store.scan(pending(), move |_, _| {
        passage.pass();
        Ok::<_, StoreError>(())
    }));
    enqueue(running.as_mut()).await;
    gate.wait();
    let mut waiting = pin!(fixture.store.scan(cancelled, |_, _| Ok::<_, StoreError>(())));
    enqueue(waiting.as_mut()).await;
    assert_eq!(
        outcome(&fixture.store.scan(pending(), |_, _| Ok::<_, StoreError>(())).await),
        "Busy"
    );
    drop(cancel);
    assert_eq!(outcome(&waiting.await), "Cancelled");
    assert_eq!(
        outcome(&fixture.store.scan(pending(), |_, _| Ok::<_, StoreError>(())).await),
        "Timeout"
    );
    gate.open();
}

#[tokio::test]
async fn a_scan_that_stops_at_its_limit_succeeds() {
    // The timeout of commands, and the maximum time of scans.
    for (timeout, scan_time) in [
        (PATIENCE, Duration::ZERO),
        (PATIENCE, Duration::from_millis(20)),
        (Duration::from_secs(1), PATIENCE),
    ] {
        let fixture = Fixture::with(|config| {
            config.timeout = timeout;
            config.max_scan_time = scan_time;
        });
        let scan = fixture.store.scan(pending(), |_, until| {
            while Instant::now() < until {
                std::hint::spin_loop();
            }
            Ok::<_, StoreError>(())
        });
        assert_eq!(outcome(&scan.await), "Ok", "{timeout:?}, {scan_time:?}");
    }
}

#[tokio::test]
async fn a_read_cannot_write() {
    let fixture = Fixture::new();
    fixture.put("a").await.unwrap();
    let deleted = fixture.read(|connection| connection.execute("DELETE FROM item", &[]));
    assert_eq!(outcome(&deleted.await), "Unavailable");
    assert_eq!(fixture.ids().await, ["a"]);
}

/// A query that never ends.
fn endless(connection: &Connection) -> Result<(), StoreError> {
    let sql =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
    connection.query_row(sql, &[], |_| Ok(())).map(drop)
}

#[tokio::test]
async fn a_read_is_interrupted_at_its_timeout() {
    let fixture = Fixture::with(|config| {
        config.readers = 1;
        config.timeout = Duration::from_millis(100);
    });
    let read = fixture.read(endless).await;
    assert_eq!(outcome(&read), "Timeout");
    assert!(fixture.store.close(PATIENCE), "the only reader is free");
}

#[tokio::test]
async fn a_read_is_interrupted_when_it_is_abandoned() {
    let fixture = Fixture::with(|config| config.readers = 1);
    fixture.put("a").await.unwrap();
    let (cancel, cancelled) = cancellation();
    let (gate, passage) = gate();
    let mut read = pin!(fixture.store.read(cancelled, move |connection| {
        passage.pass();
        endless(connection)
    }));
    enqueue(read.as_mut()).await;
    gate.wait();
    gate.open();
    drop(cancel);
    assert_eq!(outcome(&read.await), "Cancelled");
    assert_eq!(fixture.ids().await, ["a"], "the only reader is free");
}

#[tokio::test]
async fn a_panicking_read_does_not_affect_others() {
    let fixture = Fixture::with(|config| config.readers = 1);
    fixture.put("a").await.unwrap();
    let read = fixture.read(|_| -> Result<(), StoreError> { panic!("test panic") });
    assert_eq!(outcome(&read.await), "Panicked");
    assert_eq!(fixture.ids().await, ["a"]);
}
