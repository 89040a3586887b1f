//! Faults of sessions, and several nodes.

use std::future::pending;
use std::time::{Duration, Instant};

use trunkline_storage::{Store, StoreConfig, StoreError, Value};
use trunkline_test_postgres::{PgBouncer, PoolMode, psql_at};

use crate::engine::{Place, lock};
use crate::fixture::{
    Fixture, PATIENCE, SCHEMA, cancellation, enqueue, enqueue_all, gate, ids, open, outcome, put,
    while_writing,
};

/// Ends the sessions of the store.
const TERMINATE: &str = "SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity \
                         WHERE pid <> pg_backend_pid() AND datname = current_database()";

#[tokio::test]
async fn idle_sessions_may_end() {
    let fixture = Fixture::with(|config| config.readers = 1);
    let other = fixture.place.other_process();
    for id in ["a", "b", "c"] {
        fixture.put(id).await.unwrap();
        assert_eq!(fixture.ids().await.last().map(String::as_str), Some(id));
        assert!(!other.texts(TERMINATE).is_empty());
    }
}

/// A write runs again, since the server has rolled it back.
#[tokio::test]
async fn a_write_survives_the_end_of_its_session() {
    let fixture = Fixture::new();
    let other = fixture.place.other_process();
    let (gate, passage) = gate();
    let mut runs = 0;
    let mut write = Box::pin(fixture.write(move |connection| {
        put(connection, "a", "")?;
        runs += 1;
        if runs == 1 {
            passage.pass();
        }
        put(connection, "b", "")?;
        Ok(runs)
    }));
    enqueue(write.as_mut()).await;
    gate.wait();
    other.execute(TERMINATE);
    gate.open();
    assert_eq!(write.await.unwrap(), 2);
    assert_eq!(fixture.ids().await, ["a", "b"]);
}

/// The work reads, and writes what follows from it. Each change is based on the previous one.
async fn check_writers(place: Place) {
    const WRITES: usize = 50;
    let config = StoreConfig { timeout: PATIENCE, lock_wait: PATIENCE, ..StoreConfig::default() };
    let stores: Vec<Store> = (0..3)
        .map(|_| Store::open(place.location(), SCHEMA, config.clone(), |_, _| Ok(())).unwrap())
        .collect();
    let count = |store: Store| async move {
        for _ in 0..WRITES {
            let write = store.write(pending(), 0, |connection| {
                let sql = "SELECT text FROM item WHERE id = 'count'";
                let count = connection.query_row(sql, &[], |row| row.get::<String>(0))?;
                let count = count.map_or(0, |count| count.parse::<usize>().unwrap());
                put(connection, "count", &(count + 1).to_string())
            });
            write.await.unwrap();
        }
    };
    let tasks: Vec<_> = stores.iter().cloned().map(|store| tokio::spawn(count(store))).collect();
    for task in tasks {
        task.await.unwrap();
    }
    let found = place.other_process().texts("SELECT text FROM item WHERE id = 'count'");
    assert_eq!(found, [(3 * WRITES).to_string()]);
}

#[tokio::test]
async fn writers_of_several_nodes_are_serial() {
    check_writers(Place::new()).await;
    for (mode, sessions) in [(PoolMode::Transaction, 2), (PoolMode::Session, 20)] {
        let pooler = PgBouncer::start(mode, sessions);
        check_writers(Place::behind(&pooler)).await;
    }
}

/// Stores do not depend on the state that other clients of a pooler leave in the session.
#[tokio::test]
async fn other_clients_of_a_pooler() {
    const LEFT: &str = "\
        CREATE TEMP TABLE item AS SELECT 'other' AS id, '' AS text; CREATE TEMP TABLE store AS SELECT '' AS name; \
        SET ROLE reader; SET search_path TO pg_catalog; SET default_transaction_read_only = on; \
        SET statement_timeout = 1; SET lock_timeout = 1; SET synchronous_commit = off";
    let pooler = PgBouncer::start(PoolMode::Transaction, 1);
    let place = Place::behind(&pooler);
    psql_at(place.url(), LEFT);
    let config = StoreConfig { timeout: PATIENCE, ..StoreConfig::default() };
    let store = open(&place, config).unwrap();
    let fixture = Fixture { store, place };
    for (id, ids_after) in [("ä", &["ä"][..]), ("b", &["b", "ä"])] {
        fixture.put(id).await.unwrap();
        psql_at(fixture.place.url(), LEFT);
        assert_eq!(fixture.ids().await, ids_after);
    }
    let durable = fixture.read(|connection| {
        let sql = "SELECT current_setting('synchronous_commit') || current_user";
        connection.query_row(sql, &[], |row| row.get::<String>(0))
    });
    assert_eq!(durable.await.unwrap().as_deref(), Some("onapp"));
    // Callers that leave do not end the statements of others.
    let mut reads = Vec::new();
    for _ in 0..10 {
        let (cancel, cancelled) = cancellation();
        let store = fixture.store.clone();
        let sleep = "SELECT pg_sleep(0.2)::text";
        let read =
            async move { store.read(cancelled, |connection| connection.execute(sleep, &[])).await };
        reads.push((cancel, tokio::spawn(read)));
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    reads.drain(..).for_each(|(cancel, _)| drop(cancel));
    fixture.put("c").await.unwrap();
    assert_eq!(fixture.ids().await, ["b", "c", "ä"]);
}

/// After an error, PostgreSQL runs no further statement of a transaction.
#[tokio::test]
async fn an_ignored_error_fails_the_work() {
    let fixture = Fixture::new();
    let write = fixture.write(|connection| {
        put(connection, "a", "")?;
        drop(connection.execute("INSERT INTO item VALUES ('a', '')", &[]));
        Ok(())
    });
    assert_eq!(outcome(&write.await), "Failed");
    fixture.put("b").await.unwrap();
    assert_eq!(fixture.ids().await, ["b"]);
}

/// Other work of the group is committed, also if its last statement has failed.
#[tokio::test]
async fn a_failed_statement_fails_its_work_only() {
    let fixture = Fixture::new();
    let mut works = Vec::new();
    while_writing(&fixture, async || {
        works = enqueue_all(["a", "b", "a"].map(|id| {
            fixture.write(move |connection| {
                let sql = "INSERT INTO item VALUES (?1, '')";
                let written = connection.execute(sql, &[id.into()]);
                // The state of the transaction arrives after the error.
                std::thread::sleep(Duration::from_millis(50));
                written.map(drop)
            })
        }))
        .await;
    })
    .await;
    let mut outcomes = Vec::new();
    for work in works {
        outcomes.push(outcome(&work.await));
    }
    assert_eq!(outcomes, ["Ok", "Ok", "Failed"]);
    assert_eq!(fixture.ids().await, ["a", "b"]);
}

#[tokio::test]
async fn long_results_are_read_in_parts() {
    let fixture = Fixture::new();
    let fill = "INSERT INTO item SELECT lpad(n::text, 4, '0'), '' FROM generate_series(1, ?1) AS n";
    for count in [0, 1, 99, 100, 101, 200, 1_000] {
        let counts = fixture.write(move |connection| {
            connection.execute("DELETE FROM item", &[])?;
            connection.execute(fill, &[Value::Integer(count)])
        });
        let count = usize::try_from(count).unwrap();
        assert_eq!(counts.await.unwrap(), count as u64);
        let ids = fixture.ids().await;
        assert_eq!(ids.len(), count);
        assert!(ids.is_sorted());
    }
}

#[tokio::test]
async fn calls_fail_while_the_server_cannot_be_reached() {
    let fixture = Fixture::new();
    fixture.put("a").await.unwrap();
    let read =
        async || outcome(&fixture.read(|connection| connection.execute("SELECT 1", &[])).await);
    assert_eq!(read().await, "Ok");
    fixture.place.set_reachable(false);
    for _ in 0..3 {
        assert_eq!(outcome(&fixture.put("b").await), "Unreachable");
        assert_eq!(read().await, "Unreachable");
    }
    let problem = "the database server cannot be reached; try again";
    assert_eq!(fixture.store.problem().as_deref(), Some(problem));
    fixture.place.set_reachable(true);
    // Without a call.
    let deadline = Instant::now() + PATIENCE;
    while fixture.store.problem().is_some() {
        assert!(Instant::now() < deadline, "the store does not recover");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    fixture.put("c").await.unwrap();
    assert_eq!(fixture.ids().await, ["a", "c"]);
}

/// The caller does not wait longer, and the work is not done later.
#[tokio::test]
async fn a_write_that_does_not_start_in_time_fails_as_a_timeout() {
    let fixture = Fixture::with(|config| {
        config.timeout = Duration::from_millis(200);
        config.lock_wait = PATIENCE;
    });
    let other = fixture.place.other_process();
    lock(&other);
    assert_eq!(outcome(&fixture.put("a").await), "Timeout");
    other.execute("ROLLBACK");
    let deadline = Instant::now() + PATIENCE;
    while outcome(&fixture.put("b").await) != "Ok" {
        assert!(Instant::now() < deadline, "the store does not recover");
    }
    assert_eq!(fixture.ids().await, ["b"]);
}

#[tokio::test]
async fn a_node_of_an_older_version_no_longer_writes() {
    let fixture = Fixture::new();
    fixture.put("a").await.unwrap();
    fixture.place.other_process().execute("UPDATE store SET version = 2");
    let write: Result<(), StoreError> = fixture.put("b").await;
    assert_eq!(outcome(&write), "Unavailable");
    assert_eq!(ids(&fixture.store).await, ["a"]);
}
