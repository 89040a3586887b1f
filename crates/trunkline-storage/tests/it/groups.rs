//! Group commit, and the effect of failures on the group.

use std::future::pending;
use std::pin::pin;
use std::sync::mpsc::{RecvTimeoutError, channel};

use trunkline_storage::{Connection, StoreError};

use crate::fixture::{
    Fixture, PATIENCE, enqueue, enqueue_all, fault, gate, outcome, put, while_writing,
};

/// The result of a command.
type Fate = fn() -> Result<(), StoreError>;

#[tokio::test]
async fn an_error_rolls_back_its_command_only() {
    let fixture = Fixture::new();
    let mut commands = Vec::new();
    while_writing(&fixture, async || {
        let write = |(id, fate): (&'static str, Fate)| {
            fixture.write(move |connection| {
                put(connection, id, "")?;
                fate()
            })
        };
        let fates: [(&'static str, Fate); 5] = [
            ("a", || Ok(())),
            ("b", || Err(StoreError::Closed)),
            ("c", || panic!("test panic")),
            ("d", || Err(fault())),
            ("e", || Ok(())),
        ];
        commands = enqueue_all(fates.map(write)).await;
    })
    .await;
    let mut outcomes = Vec::new();
    for command in commands {
        outcomes.push(command.await);
    }
    let names: Vec<_> = outcomes.iter().map(outcome).collect();
    assert_eq!(names, ["Ok", "Closed", "Panicked", "Failed", "Ok"]);
    assert_eq!(fixture.ids().await, ["a", "e"]);
}

#[tokio::test]
async fn errors_are_answered_after_the_commit() {
    let fixture = Fixture::new();
    let ((first_gate, first_passage), (last_gate, last_passage)) = (gate(), gate());
    let mut first = pin!(fixture.write(move |connection| {
        first_passage.pass();
        put(connection, "a", "")
    }));
    let mut second = pin!(fixture.write(|connection| {
        let sql = "SELECT count(*) FROM item";
        match connection.query_row(sql, &[], |row| row.get::<u64>(0))? {
            Some(0) => Ok(()),
            _ => Err(StoreError::Cancelled),
        }
    }));
    let mut last = pin!(fixture.write(move |_| {
        last_passage.pass();
        Ok(())
    }));
    enqueue(first.as_mut()).await;
    first_gate.wait();
    enqueue(second.as_mut()).await;
    enqueue(last.as_mut()).await;
    first_gate.open();
    last_gate.wait();
    // Two commands have run, and nothing is committed.
    enqueue(first.as_mut()).await;
    enqueue(second.as_mut()).await;
    assert_eq!(fixture.ids().await, [""; 0]);
    last_gate.open();
    assert_eq!(outcome(&first.await), "Ok");
    assert_eq!(outcome(&second.await), "Cancelled");
    last.await.unwrap();
}

#[tokio::test]
async fn finds_a_table_that_was_renamed_and_restored() {
    let fixture = Fixture::new();
    fixture.put("before").await.unwrap();
    let other = fixture.place.other_process();
    other.execute("ALTER TABLE item RENAME TO away");
    assert_eq!(outcome(&fixture.put("meanwhile").await), "Failed");
    other.execute("ALTER TABLE away RENAME TO item");
    fixture.put("after").await.unwrap();
    assert_eq!(fixture.ids().await, ["after", "before"]);
}

/// Commits are reported, also if their callers are gone; failures are not.
#[tokio::test]
async fn commits_are_reported() {
    for (fails, expected) in [(false, Ok(7)), (true, Err(RecvTimeoutError::Disconnected))] {
        let fixture = Fixture::new();
        let (gate, passage) = gate();
        let (sender, reported) = channel();
        let work = move |connection: &Connection| {
            passage.pass();
            put(connection, "a", "")?;
            if fails { Err(fault()) } else { Ok(7) }
        };
        let report = move |value: &i32| sender.send(*value).unwrap();
        let mut write = Box::pin(fixture.store.write_then(pending(), 0, work, report));
        enqueue(write.as_mut()).await;
        gate.wait();
        drop(write);
        gate.open();
        assert_eq!(reported.recv_timeout(PATIENCE), expected);
        assert_eq!(fixture.ids().await.len(), usize::from(!fails));
    }
}
