use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::mpsc;
use std::task::Poll;
use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempDir;
use tokio::sync::oneshot;
use trunkline_storage::{OpenError, Schema, Store, StoreConfig, StoreError};

/// Longer than any test takes that passes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const FILE: &str = "items.sqlite";

pub(crate) const SCHEMA: Schema = Schema {
    file: FILE,
    application_id: 77,
    migrations: &["CREATE TABLE item (id TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT"],
};

pub(crate) fn open(directory: &std::path::Path, config: StoreConfig) -> Result<Store, OpenError> {
    Store::open(directory, SCHEMA, config, |_, _| Ok(()))
}

/// A store, and the directory that it is in.
pub(crate) struct Fixture {
    pub(crate) store: Store,
    pub(crate) directory: TempDir,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self::with(|_| ())
    }

    pub(crate) fn with(change: impl FnOnce(&mut StoreConfig)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut config = StoreConfig { timeout: PATIENCE, ..StoreConfig::default() };
        change(&mut config);
        let store = open(directory.path(), config).unwrap();
        Self { store, directory }
    }

    /// A connection as another process has one.
    pub(crate) fn stranger(&self) -> Connection {
        Connection::open(self.directory.path().join(FILE)).unwrap()
    }

    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.store.write(pending(), 0, work).await
    }

    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.store.read(pending(), work).await
    }

    /// A write that inserts an item.
    pub(crate) async fn put(&self, id: &'static str) -> Result<(), StoreError> {
        self.write(move |connection| put(connection, id, "")).await
    }

    pub(crate) async fn ids(&self) -> Vec<String> {
        ids(&self.store).await
    }
}

/// A cancellation: dropping the first half ends the second one.
pub(crate) fn cancellation() -> (oneshot::Sender<()>, impl Future<Output = ()>) {
    let (cancel, cancelled) = oneshot::channel();
    (cancel, async { drop(cancelled.await) })
}

/// A fault of the storage.
pub(crate) fn fault() -> StoreError {
    rusqlite::Error::InvalidQuery.into()
}

/// Inserts or replaces an item.
pub(crate) fn put(connection: &Connection, id: &str, text: &str) -> Result<(), StoreError> {
    let sql = "INSERT OR REPLACE INTO item VALUES (?1, ?2)";
    connection.prepare_cached(sql)?.execute((id, text))?;
    Ok(())
}

/// The ids of all items, in their order.
pub(crate) async fn ids(store: &Store) -> Vec<String> {
    let read = store.read(pending(), |connection| {
        let mut statement = connection.prepare_cached("SELECT id FROM item ORDER BY id")?;
        let ids = statement.query_map((), |row| row.get(0))?;
        Ok::<_, StoreError>(ids.collect::<Result<_, _>>()?)
    });
    read.await.unwrap()
}

/// Pauses work, and notifies of its beginning.
pub(crate) struct Gate {
    begun: mpsc::Receiver<()>,
    release: mpsc::Sender<()>,
}

/// The side of a gate that work passes.
pub(crate) struct Passage {
    begun: mpsc::Sender<()>,
    released: mpsc::Receiver<()>,
}

pub(crate) fn gate() -> (Gate, Passage) {
    let (begun, has_begun) = mpsc::channel();
    let (release, released) = mpsc::channel();
    (Gate { begun: has_begun, release }, Passage { begun, released })
}

impl Passage {
    pub(crate) fn pass(&self) {
        // A test that has failed has dropped the gate.
        let _ = self.begun.send(());
        let _ = self.released.recv_timeout(PATIENCE);
    }
}

impl Gate {
    /// Waits until the work has come to the gate.
    pub(crate) fn reached(&self) {
        self.begun.recv_timeout(PATIENCE).expect("the work is begun");
    }

    pub(crate) fn open(&self) {
        self.release.send(()).expect("the work is at the gate");
    }
}

/// Polls a command that is not done yet, once: it then waits in its queue, if it did not before.
pub(crate) async fn enqueue<F: Future + ?Sized>(mut command: Pin<&mut F>) {
    poll_fn(|context| {
        assert!(command.as_mut().poll(context).is_pending(), "the command is done already");
        Poll::Ready(())
    })
    .await;
}

/// Commands that wait in the queue.
pub(crate) async fn enqueue_all<F: Future>(
    commands: impl IntoIterator<Item = F>,
) -> Vec<Pin<Box<F>>> {
    let mut waiting: Vec<_> = commands.into_iter().map(Box::pin).collect();
    for command in &mut waiting {
        enqueue(command.as_mut()).await;
    }
    waiting
}

/// Runs `meanwhile` while the writer is at work and takes nothing else. What is enqueued meanwhile is of the
/// group of the command that holds the writer, whose own outcome is ignored.
pub(crate) async fn while_writing<T>(fixture: &Fixture, meanwhile: impl AsyncFnOnce() -> T) -> T {
    let (gate, passage) = gate();
    let mut holding = pin!(fixture.write(move |_| {
        passage.pass();
        Ok(())
    }));
    enqueue(holding.as_mut()).await;
    gate.reached();
    let outcome = meanwhile().await;
    gate.open();
    drop(holding.await);
    outcome
}

/// The name of an error's variant.
pub(crate) fn name(error: &StoreError) -> String {
    let text = format!("{error:?}");
    let end = text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len());
    text[..end].to_owned()
}

/// `Ok`, or the name of the error.
pub(crate) fn outcome<T>(outcome: &Result<T, StoreError>) -> String {
    outcome.as_ref().map_or_else(name, |_| "Ok".to_owned())
}
