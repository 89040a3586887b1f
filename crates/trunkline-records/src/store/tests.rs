//! Stored data is read back unchanged.

mod purging;

use std::future::pending;
use std::ops::ControlFlow;
use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempDir;
use trunkline_storage::{Store, StoreError};

use super::{IdState, Request, Row, StateId, Tables, open};
use crate::config::RecordsConfig;
use crate::error::Error;

/// Timeout of a test.
const PATIENCE: Duration = Duration::from_secs(60);

/// A store and its directory.
struct Fixture {
    store: Store,
    directory: TempDir,
}

impl Fixture {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = open(directory.path().into(), &RecordsConfig::default()).unwrap();
        Self { store, directory }
    }

    /// A connection outside of the store.
    fn connection(&self) -> Connection {
        Connection::open(self.directory.path().join("trunkline.sqlite")).unwrap()
    }

    async fn write<T: Send + 'static, E: Into<Error>>(
        &self,
        work: impl Fn(&Tables<'_>) -> std::result::Result<T, E> + Send + 'static,
    ) -> std::result::Result<T, Error> {
        let work = move |connection: &_| work(&Tables::new(connection)).map_err(Into::into);
        self.store.write(pending(), 0, work).await
    }
}

/// A row of this version.
fn row(version: u64) -> Row {
    let fields = format!(r#"{{"title":"version {version}"}}"#);
    Row { fields, version, state: version, created_at: 1_000, updated_at: 2_000 }
}

type Result<T> = std::result::Result<T, StoreError>;

type Steps = fn(&Tables<'_>) -> Result<()>;

#[tokio::test]
async fn records_are_put_and_removed() {
    let never = IdState::Absent { version: 0, state: 0 };
    let deleted = |version| IdState::Absent { version, state: 7 };
    let rows: [(&str, Steps, IdState); 10] = [
        ("nothing", |_| Ok(()), never.clone()),
        ("put", |w| w.put("todo", "a", &row(1)), IdState::Record(row(1))),
        (
            "replaced",
            |w| w.put("todo", "a", &row(1)).and_then(|()| w.put("todo", "a", &row(2))),
            IdState::Record(row(2)),
        ),
        ("removed, though never put", |w| w.remove("todo", "a", 7), never.clone()),
        (
            "removed",
            |w| w.put("todo", "a", &row(3)).and_then(|()| w.remove("todo", "a", 7)),
            deleted(3),
        ),
        (
            "removed twice",
            |w| {
                w.put("todo", "a", &row(3))?;
                w.remove("todo", "a", 7)?;
                w.remove("todo", "a", 7)
            },
            deleted(3),
        ),
        (
            "put again",
            |w| {
                w.put("todo", "a", &row(3))?;
                w.remove("todo", "a", 7)?;
                w.put("todo", "a", &row(4))
            },
            IdState::Record(row(4)),
        ),
        (
            "removed again",
            |w| {
                w.put("todo", "a", &row(3))?;
                w.remove("todo", "a", 7)?;
                w.put("todo", "a", &row(4))?;
                w.remove("todo", "a", 7)
            },
            deleted(4),
        ),
        ("another type", |w| w.put("note", "a", &row(1)), never.clone()),
        ("another case", |w| w.put("todo", "A", &row(1)), never.clone()),
    ];
    for (name, steps, expected) in rows {
        let fixture = Fixture::new();
        fixture.write(steps).await.unwrap();
        let is_deleted = expected.record().is_none() && expected.version() > 0;
        let found =
            fixture.write(|w| Ok::<_, Error>((w.record("todo", "a")?, w.state("todo", "a")?)));
        let (record, standing) = found.await.unwrap();
        assert_eq!(standing, expected, "{name}");
        assert_eq!(record.as_ref(), expected.record(), "{name}");
        let deleted = "SELECT count(*) FROM deleted WHERE resource = 'todo'";
        let deleted = fixture.connection().query_row(deleted, (), |row| row.get(0));
        assert_eq!(deleted, Ok(i64::from(is_deleted)), "{name}");
    }
}

#[tokio::test]
async fn all_text_is_stored_unchanged() {
    let fixture = Fixture::new();
    for id in ["a\0b", "\u{feff}é\u{10ffff}", "' OR 1=1; --", "%_*?", &"x".repeat(256)] {
        let id = id.to_owned();
        let stored =
            Row { fields: format!(r#"{{"title":{id:?}}}"#), version: u64::MAX >> 1, ..row(1) };
        let (key, expected) = (id.clone(), stored.clone());
        let found = fixture.write(move |writing| {
            writing.put("todo", &key, &stored)?;
            writing.record("todo", &key)
        });
        assert_eq!(found.await.unwrap(), Some(expected), "{id:?}");
    }
}

#[tokio::test]
async fn versions_above_i64_are_errors() {
    let fixture = Fixture::new();
    let put = fixture.write(|writing| writing.put("todo", "a", &row(1 << 63))).await;
    assert!(matches!(put, Err(Error::Store(StoreError::Failed(_)))), "{put:?}");
    assert_eq!(fixture.write(|writing| writing.count("todo")).await.unwrap(), 0);
}

#[tokio::test]
async fn stored_negative_versions_are_errors() {
    let fixture = Fixture::new();
    fixture.write(|writing| writing.put("todo", "a", &row(1))).await.unwrap();
    fixture.connection().execute("UPDATE records SET version = -1", ()).unwrap();
    let read = fixture.write(|writing| writing.record("todo", "a")).await;
    assert!(matches!(read, Err(Error::Store(StoreError::Failed(_)))), "{read:?}");
}

#[tokio::test]
async fn scans_are_in_the_order_of_ids() {
    let fixture = Fixture::new();
    let put = fixture.write(|writing| {
        for id in ["b", "é", "10", "a", "B", "9", "aa"] {
            writing.put("todo", id, &row(1))?;
        }
        writing.put("note", "n", &row(1))
    });
    put.await.unwrap();
    let rows: [(Option<&str>, usize, &[&str]); 6] = [
        (None, 9, &["10", "9", "B", "a", "aa", "b", "é"]),
        (None, 2, &["10", "9"]),
        (Some("a"), 9, &["aa", "b", "é"]),
        (Some("a"), 1, &["aa"]),
        (Some("ab"), 9, &["b", "é"]),
        (Some("é"), 9, &[]),
    ];
    for (after, limit, expected) in rows {
        let seen = fixture.write(move |writing| {
            let mut seen = Vec::new();
            writing.scan("todo", after, |id, found| {
                assert_eq!(found, row(1));
                seen.push(id.to_owned());
                let is_full = seen.len() == limit;
                Ok(if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })?;
            Ok::<_, Error>(seen)
        });
        assert_eq!(seen.await.unwrap(), expected, "after {after:?}, {limit}");
    }
}

#[tokio::test]
async fn an_error_ends_a_scan() {
    let fixture = Fixture::new();
    fixture.write(|writing| writing.put("todo", "a", &row(1))).await.unwrap();
    let scan = fixture
        .write(|writing| writing.scan("todo", None, |_, _| Err(StoreError::Closed.into())))
        .await;
    assert!(matches!(scan, Err(Error::Store(StoreError::Closed))), "{scan:?}");
}

fn request() -> Request {
    Request {
        resource: "todo".to_owned(),
        command: "update".to_owned(),
        id: "a".to_owned(),
        content: r#"{"done":true}"#.to_owned(),
        before: IdState::Record(row(3)),
        after: StateId::Record(4),
        reply: r#"{"id":"a"}"#.to_owned(),
        reverted: false,
        at: i64::MAX,
    }
}

#[tokio::test]
async fn requests_are_stored() {
    let rows = [
        ("an update", request()),
        ("a creation", Request { before: IdState::Absent { version: 2, state: 1 }, ..request() }),
        ("a deletion", Request { after: StateId::Absent(3), ..request() }),
        ("an old one", Request { at: -5, reverted: true, ..request() }),
    ];
    for (name, logged) in rows {
        let fixture = Fixture::new();
        let expected = logged.clone();
        let found = fixture.write(move |writing| {
            writing.log("alice", "r1", &logged)?;
            let of_others = (writing.request("bob", "r1")?, writing.request("alice", "R1")?);
            assert_eq!(of_others, (None, None));
            writing.request("alice", "r1")
        });
        assert_eq!(found.await.unwrap(), Some(expected), "{name}");
    }
}

#[tokio::test]
async fn requests_are_marked_one_by_one() {
    let fixture = Fixture::new();
    let reverted = fixture.write(|writing| {
        writing.log("alice", "r1", &request())?;
        writing.log("alice", "r2", &request())?;
        writing.log("bob", "r1", &request())?;
        writing.mark_reverted("alice", "r1")?;
        let keys = [("alice", "r1"), ("alice", "r2"), ("bob", "r1")];
        let found = keys.map(|(caller, id)| writing.request(caller, id));
        found
            .into_iter()
            .map(|found| Ok(found?.is_some_and(|found| found.reverted)))
            .collect::<Result<Vec<_>>>()
    });
    assert_eq!(reverted.await.unwrap(), vec![true, false, false]);
}

#[tokio::test]
async fn a_request_is_logged_once() {
    let fixture = Fixture::new();
    fixture.write(|writing| writing.log("alice", "r1", &request())).await.unwrap();
    let again = fixture.write(|writing| {
        writing.log("alice", "r1", &Request { reply: "another".to_owned(), ..request() })
    });
    assert!(again.await.is_err());
    let found = fixture.write(|writing| writing.request("alice", "r1")).await.unwrap();
    assert_eq!(found, Some(request()));
}
