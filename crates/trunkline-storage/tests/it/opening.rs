//! Opening, migration and closing.

use std::future::pending;
use std::pin::pin;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use trunkline_storage::{Connection, OpenError, Schema, Store, StoreConfig, StoreError};

use crate::engine::{Place, version};
use crate::fixture::{
    Fixture, PATIENCE, SCHEMA, enqueue, enqueue_all, fault, gate, ids, outcome, put,
};

fn open(place: &Place) -> Result<Store, OpenError> {
    crate::fixture::open(place, StoreConfig::default())
}

#[tokio::test]
async fn what_was_answered_is_there_again() {
    for close in [true, false] {
        let Fixture { store, place } = {
            let fixture = Fixture::new();
            fixture.put("a").await.unwrap();
            fixture
        };
        if close {
            assert!(store.close(PATIENCE));
        }
        drop(store);
        assert_eq!(ids(&open(&place).unwrap()).await, ["a"], "closed: {close}");
    }
}

const ADD_COLOR: &str = "ALTER TABLE item ADD COLUMN color TEXT; UPDATE item SET color = 'red'";

/// The schema in its first versions.
const VERSIONS: [Schema; 3] = [
    Schema { migrations: &[], postgres: &[], ..SCHEMA },
    SCHEMA,
    Schema {
        migrations: &[SCHEMA.migrations[0], ADD_COLOR],
        postgres: &[SCHEMA.postgres[0], ADD_COLOR],
        ..SCHEMA
    },
];

#[test]
fn an_older_version_is_migrated() {
    for (from, to, expected) in [
        (0, 1, "none"),
        (0, 2, "none"),
        (1, 1, "a"),
        (1, 2, "a red"),
        (2, 2, "a red"),
        (2, 1, "its schema version is 2, the newest supported one is 1"),
    ] {
        let place = Place::new();
        let open = |version: usize| {
            let config = StoreConfig::default();
            Store::open(place.location(), VERSIONS[version], config, |_, _| Ok(()))
        };
        assert!(open(from.min(1)).unwrap().close(PATIENCE));
        let other = place.other_process();
        if from > 0 {
            other.execute("INSERT INTO item (id, text) VALUES ('a', '')");
        }
        assert!(open(from).unwrap().close(PATIENCE));
        let found = match open(to) {
            Ok(store) => {
                assert!(store.close(PATIENCE));
                let columns = if to > 1 { "id || ' ' || color" } else { "id" };
                let sql = format!("SELECT coalesce(max({columns}), 'none') FROM item");
                other.texts(&sql).remove(0)
            }
            Err(error) => error.to_string(),
        };
        assert!(found.ends_with(expected), "{from} to {to}: {found}");
    }
}

#[test]
fn a_migration_that_fails_changes_nothing() {
    let place = Place::new();
    assert!(open(&place).unwrap().close(PATIENCE));
    const SCRIPT: &str = "CREATE TABLE more (a TEXT); CREATE TABLE item (a TEXT)";
    const BROKEN: Schema = Schema {
        migrations: &[SCHEMA.migrations[0], SCRIPT],
        postgres: &[SCHEMA.postgres[0], SCRIPT],
        ..SCHEMA
    };
    let opened = Store::open(place.location(), BROKEN, StoreConfig::default(), |_, _| Ok(()));
    assert!(matches!(opened, Err(OpenError::Open { source: StoreError::Failed(_), .. })));
    let other = place.other_process();
    assert_eq!(version(&other), "1");
    other.execute("CREATE TABLE more (a TEXT)");
}

#[tokio::test]
async fn many_may_open_a_new_database_at_once() {
    // The order of locks differs between rounds.
    for round in 0..8 {
        let place = Place::new();
        let barrier = Barrier::new(8);
        let stores = thread::scope(|scope| {
            let open = || {
                barrier.wait();
                open(&place).unwrap()
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        for (n, store) in stores.iter().enumerate() {
            let put =
                store.write(pending(), 0, move |connection| put(connection, &n.to_string(), ""));
            put.await.unwrap();
        }
        assert_eq!(ids(&stores[0]).await.len(), 8, "round {round}");
    }
}

#[tokio::test]
async fn closing_finishes_what_was_taken() {
    let fixture = Fixture::new();
    let (gate, passage) = gate();
    let mut holding = pin!(fixture.write(move |_| {
        passage.pass();
        Ok(())
    }));
    enqueue(holding.as_mut()).await;
    gate.wait();
    let waiting = enqueue_all(["a", "b"].map(|id| fixture.put(id))).await;
    assert!(!fixture.store.close(Duration::ZERO), "a command is running");
    assert_eq!(outcome(&fixture.put("c").await), "Closed");
    let read = fixture.read(|_| Ok(())).await;
    assert_eq!(outcome(&read), "Closed");
    gate.open();
    assert!(fixture.store.close(PATIENCE));
    assert!(fixture.store.close(PATIENCE), "once more");
    holding.await.unwrap();
    for put in waiting {
        put.await.unwrap();
    }
    assert_eq!(ids(&open(&fixture.place).unwrap()).await, ["a", "b"]);
}

#[tokio::test]
async fn maintenance_is_part_of_each_transaction() {
    let place = Place::new();
    let mut calls = 0;
    let maintain = move |connection: &Connection, _: Duration| {
        calls += 1;
        put(connection, &format!("{calls}"), "")?;
        // The second call fails and is rolled back.
        if calls == 2 { Err(fault()) } else { Ok(()) }
    };
    let config = StoreConfig::default();
    let store = Store::open(place.location(), SCHEMA, config, maintain).unwrap();
    for id in ["a", "b"] {
        store.write(pending(), 0, move |connection| put(connection, id, "")).await.unwrap();
    }
    assert_eq!(ids(&store).await, ["1", "3", "a", "b"]);
}

#[tokio::test]
async fn problems_are_those_of_the_storage() {
    type Work = fn(&Connection) -> Result<(), StoreError>;
    let rows: [(Work, Option<&str>); 4] = [
        (|_| Err(fault()), Some("the storage failed")),
        (|_| Err(StoreError::Closed), Some("the storage failed")),
        (|_| Ok(()), None),
        (|_| Err(StoreError::Closed), None),
    ];
    let fixture = Fixture::new();
    for (work, expected) in rows {
        drop(fixture.write(work).await);
        assert_eq!(fixture.store.problem().as_deref(), expected);
    }
    drop(fixture.read(|_| Err::<(), _>(fault())).await);
    assert!(fixture.store.problem().is_some());
}
