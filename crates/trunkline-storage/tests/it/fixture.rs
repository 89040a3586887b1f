use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::mpsc;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::oneshot;
use trunkline_storage::{Connection, OpenError, Schema, Store, StoreConfig, StoreError};

use crate::engine::Place;

/// Longer than any passing test takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const SCHEMA: Schema = Schema {
    name: "items",
    file: "items.sqlite",
    application_id: 77,
    migrations: &["CREATE TABLE item (id TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT"],
    postgres: &[r#"CREATE TABLE item (id text COLLATE "C" PRIMARY KEY, text text NOT NULL)"#],
};

pub(crate) fn open(place: &Place, config: StoreConfig) -> Result<Store, OpenError> {
    Store::open(place.location(), SCHEMA, config, |_, _| Ok(()))
}

/// A store with its place.
pub(crate) struct Fixture {
    pub(crate) store: Store,
    pub(crate) place: Place,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self::with(|_| ())
    }

    pub(crate) fn with(change: impl FnOnce(&mut StoreConfig)) -> Self {
        let place = Place::new();
        let mut config = StoreConfig { timeout: PATIENCE, ..StoreConfig::default() };
        change(&mut config);
        let store = open(&place, config).unwrap();
        Self { store, place }
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

/// A cancellation: dropping the sender completes the future.
pub(crate) fn cancellation() -> (oneshot::Sender<()>, impl Future<Output = ()>) {
    let (cancel, cancelled) = oneshot::channel();
    (cancel, async { drop(cancelled.await) })
}

/// A fault of the storage.
pub(crate) fn fault() -> StoreError {
    StoreError::Failed(Arc::new(std::io::Error::other("a fault")))
}

/// Inserts or replaces an item.
pub(crate) fn put(connection: &Connection, id: &str, text: &str) -> Result<(), StoreError> {
    let sql =
        "INSERT INTO item VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET text = excluded.text";
    connection.execute(sql, &[id.into(), text.into()])?;
    Ok(())
}

/// The ids of all items, sorted.
pub(crate) async fn ids(store: &Store) -> Vec<String> {
    let read = store.read(pending(), |connection| {
        connection.query_all("SELECT id FROM item ORDER BY id", &[], |row| row.get(0))
    });
    read.await.unwrap()
}

/// Pauses work, and notifies when it has started.
pub(crate) struct Gate {
    started: mpsc::Receiver<()>,
    release: mpsc::Sender<()>,
}

/// The gate as seen by the work.
pub(crate) struct Passage {
    started: mpsc::Sender<()>,
    released: mpsc::Receiver<()>,
}

pub(crate) fn gate() -> (Gate, Passage) {
    let (start, started) = mpsc::channel();
    let (release, released) = mpsc::channel();
    (Gate { started, release }, Passage { started: start, released })
}

impl Passage {
    pub(crate) fn pass(&self) {
        // A failed test drops the gate.
        let _ = self.started.send(());
        let _ = self.released.recv_timeout(PATIENCE);
    }
}

impl Gate {
    /// Waits until the work has reached the gate.
    pub(crate) fn wait(&self) {
        self.started.recv_timeout(PATIENCE).expect("the work has started");
    }

    pub(crate) fn open(&self) {
        self.release.send(()).expect("the work is at the gate");
    }
}

/// Polls a pending command once, so that it waits in its queue.
pub(crate) async fn enqueue<F: Future + ?Sized>(mut command: Pin<&mut F>) {
    poll_fn(|context| {
        assert!(command.as_mut().poll(context).is_pending(), "the command is pending");
        Poll::Ready(())
    })
    .await;
}

/// Adds commands to the queue.
pub(crate) async fn enqueue_all<F: Future>(
    commands: impl IntoIterator<Item = F>,
) -> Vec<Pin<Box<F>>> {
    let mut waiting: Vec<_> = commands.into_iter().map(Box::pin).collect();
    for command in &mut waiting {
        enqueue(command.as_mut()).await;
    }
    waiting
}

/// Runs `meanwhile` while a command occupies the writer. Commands enqueued meanwhile belong to the group of that
/// command, whose outcome is ignored.
pub(crate) async fn while_writing<T>(fixture: &Fixture, meanwhile: impl AsyncFnOnce() -> T) -> T {
    let (gate, passage) = gate();
    let mut holding = pin!(fixture.write(move |_| {
        passage.pass();
        Ok(())
    }));
    enqueue(holding.as_mut()).await;
    gate.wait();
    let outcome = meanwhile().await;
    gate.open();
    drop(holding.await);
    outcome
}

/// The name of the variant of an error.
pub(crate) fn name(error: &StoreError) -> String {
    let text = format!("{error:?}");
    let end = text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len());
    text[..end].to_owned()
}

/// `Ok`, or the name of the error.
pub(crate) fn outcome<T>(outcome: &Result<T, StoreError>) -> String {
    outcome.as_ref().map_or_else(name, |_| "Ok".to_owned())
}
