//! What reads see, and how they end.

use std::pin::pin;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{Fixture, enqueue, gate, outcome, row};
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
async fn a_read_cannot_write() {
    let fixture = Fixture::new();
    fixture.put("a").await.unwrap();
    let none = CancellationToken::new();
    let deleted = fixture
        .store
        .read(&none, |reading| Ok(reading.connection().execute("DELETE FROM records", ())?));
    assert_eq!(outcome(&deleted.await), "Storage");
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
    assert!(fixture.store.close(super::PATIENCE), "the only reader has let go");
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
