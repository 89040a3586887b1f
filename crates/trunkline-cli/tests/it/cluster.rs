//! Three servers behind nginx, whose store and database are in PostgreSQL, under load. `cargo xtask cluster` runs these
//! tests.

mod outage;
mod restart;
mod throughput;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinSet;
use trunkline::client::{Client, ClientConfig, Http};
use trunkline_test_postgres::{create_database, free_address, psql, url_of};

use crate::nodes;
use crate::nodes::proxy::Nginx;
use crate::support::Server;

/// Maximum wait for a condition.
const PATIENCE: Duration = Duration::from_secs(120);

/// Maximum time of a call.
const DEADLINE: Duration = Duration::from_secs(30);

const SCHEMA: &str = "\
    CREATE TABLE entry (id bigint PRIMARY KEY, text text NOT NULL);
    CREATE TABLE reading (id bigint PRIMARY KEY, sensor bigint NOT NULL, value double precision NOT NULL);
    CREATE INDEX reading_of_sensor ON reading (sensor);
    INSERT INTO reading SELECT n, n / 5, n * 0.5 FROM generate_series(0, 99999) AS n;
    ANALYZE reading;";

/// The nodes, and nginx in front of them.
struct Cluster {
    nodes: Vec<Server>,
    nginx: Nginx,
    store: String,
    /// The database that is served.
    database: String,
    folder: TempDir,
}

impl Cluster {
    fn start(count: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = url_of("app", &create_database(""));
        let database = create_database(SCHEMA);
        let addresses: Vec<SocketAddr> = (0..count).map(|_| free_address()).collect();
        let start = |address: &SocketAddr| start(&folder, &store, &database, *address);
        let nodes = addresses.iter().map(start).collect();
        let nginx = Nginx::start(folder.path(), &addresses);
        Self { nodes, nginx, store, database, folder }
    }

    fn start_node(&self, address: SocketAddr) -> Server {
        start(&self.folder, &self.store, &self.database, address)
    }

    /// A client of JSON-RPC, through nginx.
    fn client(&self) -> Client {
        client(self.nginx.address)
    }

    /// The ids of the rows in a table of the database, or of the records.
    fn stored(&self, what: What) -> BTreeSet<String> {
        let (database, sql) = match what {
            What::Row => (&*self.database, "SELECT id FROM entry"),
            What::Record => {
                (self.store.rsplit_once('/').unwrap().1, "SELECT id FROM trunkline.records")
            }
        };
        psql("app", database, sql).into_iter().collect()
    }

    /// Stops the nodes, which must not have ended before, and returns their logs.
    fn stop(self) -> Vec<String> {
        let Self { nodes, nginx, .. } = self;
        drop(nginx);
        let stop = |node: Server| {
            let ended = node.stop();
            assert_eq!(ended.code, Some(0), "{}", ended.stderr);
            ended.stderr
        };
        nodes.into_iter().map(stop).collect()
    }
}

fn start(folder: &TempDir, store: &str, database: &str, address: SocketAddr) -> Server {
    let mut command = nodes::command(folder.path(), store, address);
    command.args(["--db", &url_of("app", database), "--writable"]);
    Server::start(command)
}

/// A client that repeats no call.
fn client(address: SocketAddr) -> Client {
    let http = Http::connect(&format!("http://{address}/")).unwrap();
    Client::with_config(http, ClientConfig { timeout: DEADLINE, retry: None })
}

/// The content of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// A row of a table.
    Row,
    /// A record in the store.
    Record,
}

impl What {
    /// The method and the params that write something new.
    fn write(self, id: u64) -> (&'static str, Value) {
        match self {
            Self::Row => {
                let data = json!({"id": id, "text": "x"});
                ("db.insert_record", json!({"table_name": "entry", "data": data}))
            }
            Self::Record => ("todo.create", json!({"id": id.to_string(), "title": "x"})),
        }
    }
}

/// A read of five rows.
fn read(number: u64) -> (&'static str, Value) {
    let filters = json!({"sensor": number % 20_000});
    ("db.query_records", json!({"table_name": "reading", "filters": filters}))
}

/// Tasks that repeat their work until the load ends.
#[derive(Default)]
struct Load {
    tasks: JoinSet<()>,
    state: Arc<LoadState>,
}

#[derive(Default)]
struct LoadState {
    is_over: AtomicBool,
    done: AtomicUsize,
    last_number: AtomicU64,
}

impl LoadState {
    /// A number that was not returned before.
    fn number(&self) -> u64 {
        self.last_number.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn add(&self) {
        self.done.fetch_add(1, Ordering::SeqCst);
    }
}

impl Load {
    /// Starts a task. `work` is one round, after which it calls [`LoadState::add`] if it succeeded.
    fn spawn<F: Future<Output = ()> + Send>(
        &mut self,
        work: impl Fn(Arc<LoadState>) -> F + Send + Sync + 'static,
    ) {
        let state = Arc::clone(&self.state);
        self.tasks.spawn(async move {
            while !state.is_over.load(Ordering::SeqCst) {
                work(Arc::clone(&state)).await;
            }
        });
    }

    fn done(&self) -> usize {
        self.state.done.load(Ordering::SeqCst)
    }

    /// Waits for this number of further successful rounds. Fails if a task has failed.
    async fn progress(&mut self, count: usize) {
        let (deadline, goal) = (Instant::now() + PATIENCE, self.done() + count);
        while self.done() < goal {
            assert!(Instant::now() < deadline, "{} of {goal} rounds", self.done());
            tokio::time::sleep(Duration::from_millis(10)).await;
            while let Some(ended) = self.tasks.try_join_next() {
                ended.unwrap();
            }
        }
    }

    /// Ends the tasks after their current rounds.
    async fn end(mut self) {
        self.state.is_over.store(true, Ordering::SeqCst);
        while let Some(ended) = self.tasks.join_next().await {
            ended.unwrap();
        }
    }
}

/// Checks that all of these ids are stored.
#[track_caller]
fn check_stored(what: What, stored: &BTreeSet<String>, acknowledged: &[u64]) {
    let is_lost = |id: &&u64| !stored.contains(&id.to_string());
    let lost: Vec<_> = acknowledged.iter().filter(is_lost).collect();
    assert!(lost.is_empty(), "{what:?}: {} acknowledged writes are lost: {lost:?}", lost.len());
}
