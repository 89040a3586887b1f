//! The store on real files. What a test has to wait for, it waits for by a channel.

mod groups;
mod limits;
mod opening;
mod purging;
mod reads;
mod records;

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::mpsc;
use std::task::Poll;
use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::{Row, Store, Writing};
use crate::error::Error;
use crate::settings::Settings;

/// Longer than any test takes that passes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A store of its own, and the directory that it is in.
struct Fixture {
    store: Store,
    directory: TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self::with(|_| ())
    }

    fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut settings = Settings { timeout: PATIENCE, ..Settings::default() };
        change(&mut settings);
        let store = Store::open(directory.path(), &settings).unwrap();
        Self { store, directory }
    }

    /// A connection beside those of the store, as another process has one.
    fn stranger(&self) -> Connection {
        Connection::open(self.directory.path().join("trunkline.sqlite")).unwrap()
    }

    async fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&Writing<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.store.write(&CancellationToken::new(), 0, work).await
    }

    /// A write that inserts a record.
    async fn put(&self, id: &'static str) -> Result<(), Error> {
        self.write(move |writing| writing.put("todo", id, &row(1))).await
    }

    async fn ids(&self) -> Vec<String> {
        ids(&self.store).await
    }
}

/// The ids of all records.
async fn ids(store: &Store) -> Vec<String> {
    let none = CancellationToken::new();
    let read = store.read(&none, |reading| {
        let mut ids = Vec::new();
        reading.scan("todo", None, |id, _| {
            ids.push(id.to_owned());
            Ok(std::ops::ControlFlow::Continue(()))
        })?;
        Ok(ids)
    });
    read.await.unwrap()
}

/// A record's row in its given version.
fn row(version: u64) -> Row {
    let fields = format!(r#"{{"title":"version {version}"}}"#);
    Row { fields, version, state: version, created_at: 1_000, updated_at: 2_000 }
}

/// What lets work pause, and tells that it was begun.
struct Gate {
    begun: mpsc::Receiver<()>,
    release: mpsc::Sender<()>,
}

/// The side of a gate that work passes.
struct Passage {
    begun: mpsc::Sender<()>,
    released: mpsc::Receiver<()>,
}

fn gate() -> (Gate, Passage) {
    let (begun, has_begun) = mpsc::channel();
    let (release, released) = mpsc::channel();
    (Gate { begun: has_begun, release }, Passage { begun, released })
}

impl Passage {
    fn pass(&self) {
        // A test that has failed has dropped the gate.
        let _ = self.begun.send(());
        let _ = self.released.recv_timeout(PATIENCE);
    }
}

impl Gate {
    /// Waits until the work has come to the gate.
    fn reached(&self) {
        self.begun.recv_timeout(PATIENCE).expect("the work is begun");
    }

    fn open(&self) {
        self.release.send(()).expect("the work is at the gate");
    }
}

/// Polls a command that is not done yet, once: it then waits in its queue, if it did not before.
async fn enqueue<F: Future + ?Sized>(mut command: Pin<&mut F>) {
    poll_fn(|context| {
        assert!(command.as_mut().poll(context).is_pending(), "the command is done already");
        Poll::Ready(())
    })
    .await;
}

/// Commands that wait in the queue.
async fn enqueue_all<F: Future>(commands: impl IntoIterator<Item = F>) -> Vec<Pin<Box<F>>> {
    let mut waiting: Vec<_> = commands.into_iter().map(Box::pin).collect();
    for command in &mut waiting {
        enqueue(command.as_mut()).await;
    }
    waiting
}

/// Runs `meanwhile` while the writer is at work and takes nothing else. What is enqueued meanwhile is of the
/// group of the command that holds the writer, so that one's own outcome says nothing.
async fn while_writing<T>(fixture: &Fixture, meanwhile: impl AsyncFnOnce() -> T) -> T {
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
fn name(error: &Error) -> String {
    let text = format!("{error:?}");
    let end = text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len());
    text[..end].to_owned()
}

/// `Ok`, or the name of the error.
fn outcome<T>(outcome: &Result<T, Error>) -> String {
    outcome.as_ref().map_or_else(name, |_| "Ok".to_owned())
}
