//! Group commit and faults of SQLite.

use std::error::Error as _;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use trunkline_storage::{Connection, StoreError};

use crate::fixture::{Fixture, PATIENCE, enqueue, enqueue_all, fault, outcome, put, while_writing};

/// The result of a command.
type Fate = fn() -> Result<(), StoreError>;

/// A command of any type.
type Command<'f> = Pin<Box<dyn Future<Output = Result<(), StoreError>> + 'f>>;

fn sqlite(connection: &Connection) -> &rusqlite::Connection {
    connection.as_sqlite().unwrap()
}

#[tokio::test]
async fn commits_waiting_commands_together() {
    // The maximum size of a group, the number of waiting commands, and the expected commits.
    for (group, waiting, expected) in [(256, 100, 1), (10, 99, 10), (1, 5, 6), (0, 5, 6)] {
        let fixture = Fixture::with(|config| config.group = group);
        let commits = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&commits);
        let hook = move || {
            count.fetch_add(1, Ordering::Relaxed);
            false
        };
        fixture
            .write(move |connection| Ok(sqlite(connection).commit_hook(Some(hook.clone()))?))
            .await
            .unwrap();
        commits.store(0, Ordering::Relaxed);
        let insert = |n| fixture.write(move |connection| put(connection, &format!("{n:03}"), ""));
        let mut commands = Vec::new();
        // The command that occupies the writer writes nothing, so it needs no separate commit.
        while_writing(&fixture, async || commands = enqueue_all((0..waiting).map(insert)).await)
            .await;
        for command in commands {
            command.await.unwrap();
        }
        assert_eq!(fixture.ids().await.len(), waiting);
        let commits = commits.load(Ordering::Relaxed);
        assert_eq!(commits, expected, "groups of {group}, {waiting} waiting");
    }
}

#[tokio::test]
async fn a_failed_commit_fails_the_group() {
    let fixture = Fixture::new();
    fixture.put("before").await.unwrap();
    // SQLite rolls back a commit that the hook rejects.
    fixture
        .write(|connection| Ok(sqlite(connection).commit_hook(Some(|| true))?))
        .await
        .unwrap_err();
    fixture.put("between").await.expect("the connection is new");
    let mut commands: Vec<Command<'_>> = vec![
        Box::pin(fixture.put("a")),
        Box::pin(fixture.write(|_| Err(StoreError::Closed))),
        Box::pin(fixture.write(|connection| Ok(sqlite(connection).commit_hook(Some(|| true))?))),
    ];
    while_writing(&fixture, async || {
        for command in &mut commands {
            enqueue(command.as_mut()).await;
        }
    })
    .await;
    for command in commands {
        // Includes the failed command, since the changes that it has seen are gone.
        assert_eq!(outcome(&command.await), "Failed");
    }
    fixture.put("after").await.expect("the connection is new");
    assert_eq!(fixture.ids().await, ["after", "before", "between"]);
}

#[tokio::test]
async fn recovers_from_a_full_disk() {
    let fixture = Fixture::new();
    fixture.put("before").await.unwrap();
    let large = "x".repeat(1 << 20);
    let mut commands: Vec<Command<'_>> = vec![
        Box::pin(fixture.put("a")),
        Box::pin(fixture.write(move |connection| {
            sqlite(connection).pragma_update(None, "max_page_count", 1)?;
            put(connection, "b", &large)
        })),
        Box::pin(fixture.put("c")),
    ];
    while_writing(&fixture, async || {
        for command in &mut commands {
            enqueue(command.as_mut()).await;
        }
    })
    .await;
    let mut outcomes = Vec::new();
    for command in commands {
        outcomes.push(command.await);
    }
    // The last command had not started when the transaction ended, so it is part of the next one.
    let names: Vec<_> = outcomes.iter().map(outcome).collect();
    assert_eq!(names, ["Unavailable", "Unavailable", "Ok"]);
    let causes: Vec<_> = outcomes
        .iter()
        .filter_map(|outcome| Some(outcome.as_ref().err()?.source()?.to_string()))
        .collect();
    assert_eq!(causes, ["database or disk is full", "database or disk is full"]);
    assert_eq!(fixture.ids().await, ["before", "c"]);
}

#[tokio::test]
async fn keeps_the_index_of_the_log() {
    let fixture = Fixture::new();
    let index = fixture.place.path().join("items.sqlite-shm");
    let failed = fixture.write(|_| -> Result<(), _> { Err(fault()) });
    assert_eq!(outcome(&failed.await), "Failed");
    assert!(index.exists(), "the index exists without the writer's connection");
    assert!(fixture.store.close(PATIENCE));
    assert!(!index.exists());
}

#[tokio::test]
async fn empties_a_log_with_constant_readers() {
    const BYTES: u64 = 1 << 20;
    let fixture = Fixture::with(|config| config.max_log_bytes = BYTES);
    fixture.put("a").await.unwrap();
    let log = fixture.place.path().join("items.sqlite-wal");
    let (mut first, mut second) = (fixture.place.connection(), fixture.place.connection());
    let is_over = Arc::new(AtomicBool::new(false));
    let is_written = Arc::clone(&is_over);
    // At any time, one of the connections reads.
    let readers = thread::spawn(move || {
        let begin = "BEGIN; SELECT count(*) FROM item";
        first.execute_batch(begin).unwrap();
        while !is_written.load(Ordering::Relaxed) {
            second.execute_batch(begin).unwrap();
            thread::yield_now();
            first.execute_batch("COMMIT").unwrap();
            mem::swap(&mut first, &mut second);
        }
    });
    let mut longest = 0;
    for n in 0..80 {
        let large = format!("{n:064}").repeat(4 << 10);
        fixture.write(move |connection| put(connection, "a", &large)).await.unwrap();
        longest = longest.max(log.metadata().unwrap().len());
    }
    is_over.store(true, Ordering::Relaxed);
    readers.join().unwrap();
    assert!(longest < 3 * BYTES, "{longest}");
}

#[tokio::test]
async fn does_not_reuse_a_faulty_connection() {
    let rows: [(Fate, bool); 3] =
        [(|| Ok(()), true), (|| Err(StoreError::Closed), true), (|| Err(fault()), false)];
    for (fate, expected) in rows {
        let fixture = Fixture::with(|config| config.readers = 1);
        let mark =
            |connection: &Connection| sqlite(connection).pragma_update(None, "cache_size", 77);
        let is_marked = |connection: &Connection| {
            sqlite(connection)
                .pragma_query_value(None, "cache_size", |row| Ok(row.get::<_, i64>(0)? == 77))
        };
        fixture.write(move |connection| Ok(mark(connection)?)).await.unwrap();
        fixture.read(move |connection| Ok(mark(connection)?)).await.unwrap();
        drop(fixture.write(move |_| fate()).await);
        drop(fixture.read(move |_| fate()).await);
        let writer = fixture.write(move |connection| Ok(is_marked(connection)?)).await;
        let reader = fixture.read(move |connection| Ok(is_marked(connection)?)).await;
        assert_eq!((writer.unwrap(), reader.unwrap()), (expected, expected), "{:?}", fate());
    }
}
