//! What reads see, and how they end.

use std::pin::pin;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{Fixture, PATIENCE, Passage, enqueue, enqueue_all, gate, outcome, row};
use crate::error::Error;
use crate::store::Reading;

#[tokio::test]
async fn a_read_sees_what_was_answered_before() {
    let fixture = Fixture::new();
    for n in 0..50 {
        let id = format!("{n:02}");
        let key = id.clone();
        fixture.write(move |writing| writing.put("todo", &key, &row(1))).await.unwrap();
        assert_eq!(fixture.ids().await.last(), Some(&id));
    }
}

#[tokio::test]
async fn a_read_sees_one_state() {
    let fixture = Fixture::new();
    fixture.put("a").await.unwrap();
    let (gate, passage) = gate();
    let none = CancellationToken::new();
    let mut read = pin!(fixture.store.read(&none, move |reading| {
        let first = reading.record("todo", "a")?;
        passage.pass();
        Ok((first, reading.record("todo", "a")?))
    }));
    enqueue(read.as_mut()).await;
    gate.reached();
    fixture.write(|writing| writing.put("todo", "a", &row(2))).await.unwrap();
    gate.open();
    assert_eq!(read.await.unwrap(), (Some(row(1)), Some(row(1))));
}

#[tokio::test]
async fn reads_run_side_by_side() {
    let fixture = Fixture::with(|settings| settings.readers = 2);
    let none = CancellationToken::new();
    let ((gate_1, passage_1), (gate_2, passage_2)) = (gate(), gate());
    let mut first = pin!(fixture.store.read(&none, move |_| {
        passage_1.pass();
        Ok(())
    }));
    let mut second = pin!(fixture.store.read(&none, move |_| {
        passage_2.pass();
        Ok(())
    }));
    enqueue(first.as_mut()).await;
    enqueue(second.as_mut()).await;
    gate_1.reached();
    gate_2.reached();
    gate_1.open();
    gate_2.open();
    first.await.unwrap();
    second.await.unwrap();
}

#[tokio::test]
async fn a_read_does_not_wait_behind_scans() {
    // The readers, the scans that come, and how many of them run at the same time.
    for (readers, scans, running) in [(4, 5, 3), (2, 2, 1), (1, 1, 1)] {
        let fixture = Fixture::with(|settings| settings.readers = readers);
        let none = CancellationToken::new();
        let (gates, passages): (Vec<_>, Vec<_>) = (0..scans).map(|_| gate()).unzip();
        let scan = |passage: Passage| {
            fixture.store.scan(&none, move |_| {
                passage.pass();
                Ok(())
            })
        };
        let waiting = enqueue_all(passages.into_iter().map(scan)).await;
        for gate in &gates[..running] {
            gate.reached();
        }
        if readers > 1 {
            assert_eq!(fixture.ids().await, [""; 0], "{readers} readers");
        }
        // Those that wait run as soon as others have ended.
        for (scan, gate) in waiting.into_iter().zip(gates) {
            gate.open();
            scan.await.unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_scan_waits_as_long_as_a_command_may() {
    let fixture = Fixture::with(|settings| {
        settings.readers = 2;
        settings.read_queue = 1;
    });
    let (cancel, none) = (CancellationToken::new(), CancellationToken::new());
    let (gate, passage) = gate();
    let mut running = pin!(fixture.store.scan(&none, move |_| {
        passage.pass();
        Ok(())
    }));
    enqueue(running.as_mut()).await;
    gate.reached();
    let mut waiting = pin!(fixture.store.scan(&cancel, |_| Ok(())));
    enqueue(waiting.as_mut()).await;
    assert_eq!(outcome(&fixture.store.scan(&none, |_| Ok(())).await), "Busy");
    cancel.cancel();
    assert_eq!(outcome(&waiting.await), "Cancelled");
    assert_eq!(outcome(&fixture.store.scan(&none, |_| Ok(())).await), "Timeout");
    gate.open();
}

#[tokio::test]
async fn a_scan_that_stops_when_its_time_is_over_is_in_time() {
    // The time of a command, and that of a scan.
    for (timeout, scan_time) in [
        (PATIENCE, Duration::ZERO),
        (PATIENCE, Duration::from_millis(20)),
        (Duration::from_secs(1), PATIENCE),
    ] {
        let fixture = Fixture::with(|settings| {
            settings.timeout = timeout;
            settings.max_scan_time = scan_time;
        });
        let none = CancellationToken::new();
        let scan = fixture.store.scan(&none, |reading| {
            while reading.has_time() {
                std::hint::spin_loop();
            }
            Ok(())
        });
        assert_eq!(outcome(&scan.await), "Ok", "{timeout:?}, {scan_time:?}");
    }
}

#[tokio::test]
async fn a_read_cannot_write() {
    let fixture = Fixture::new();
    fixture.put("a").await.unwrap();
    let none = CancellationToken::new();
    let deleted = fixture
        .store
        .read(&none, |reading| Ok(reading.connection().execute("DELETE FROM records", ())?));
    assert_eq!(outcome(&deleted.await), "Unavailable");
    assert_eq!(fixture.ids().await, ["a"]);
}

/// A query that does not end.
fn endless(reading: &Reading<'_>) -> Result<(), Error> {
    let sql =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
    Ok(reading.connection().query_row(sql, (), |_| Ok(()))?)
}

#[tokio::test]
async fn a_read_is_interrupted_in_time() {
    let fixture = Fixture::with(|settings| {
        settings.readers = 1;
        settings.timeout = Duration::from_millis(100);
    });
    let read = fixture.store.read(&CancellationToken::new(), endless).await;
    assert_eq!(outcome(&read), "Timeout");
    assert!(fixture.store.close(PATIENCE), "the only reader has let go");
}

#[tokio::test]
async fn a_read_is_interrupted_when_its_caller_goes() {
    let fixture = Fixture::with(|settings| settings.readers = 1);
    fixture.put("a").await.unwrap();
    let cancel = CancellationToken::new();
    let (gate, passage) = gate();
    let mut read = pin!(fixture.store.read(&cancel, move |reading| {
        passage.pass();
        endless(reading)
    }));
    enqueue(read.as_mut()).await;
    gate.reached();
    gate.open();
    cancel.cancel();
    assert_eq!(outcome(&read.await), "Cancelled");
    assert_eq!(fixture.ids().await, ["a"], "the only reader reads again");
}

#[tokio::test]
async fn a_read_that_panics_harms_no_other() {
    let fixture = Fixture::with(|settings| settings.readers = 1);
    fixture.put("a").await.unwrap();
    let none = CancellationToken::new();
    let read = fixture.store.read(&none, |_| -> Result<(), Error> { panic!("as a test wants it") });
    assert_eq!(outcome(&read.await), "Storage");
    assert_eq!(fixture.ids().await, ["a"]);
}
