use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use trunkline_sql::postgres::{ConnectError, Postgres, PostgresConfig};
use trunkline_sql::{Database, Error, QueryLimits, RawQuery, Rowset};

use crate::server::{self, url_of};

/// Longer than any passing test takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

const HOLD: &str = "SELECT pg_sleep(120)";

/// Limits for statements that end by themselves, also on a slow machine.
pub(crate) fn patient() -> QueryLimits {
    QueryLimits { timeout: PATIENCE, ..QueryLimits::default() }
}

/// A separate database on the server, in the role `app`, which owns it.
pub(crate) struct Fixture {
    pub(crate) name: String,
    pub(crate) database: Database,
    pub(crate) runtime: Runtime,
}

impl Fixture {
    /// The database of `contract.postgres.sql`.
    pub(crate) fn new(config: PostgresConfig) -> Self {
        Self::with(include_str!("../data/contract.postgres.sql"), config)
    }

    /// A database with the content of a script, which is run by its owner.
    pub(crate) fn with(script: &str, config: PostgresConfig) -> Self {
        let runtime = runtime();
        let name = server::create_database(script);
        let database = runtime.block_on(connect(&url_of("app", &name), config)).unwrap();
        Self { name, database: database.into(), runtime }
    }

    pub(crate) fn writable() -> Self {
        Self::new(PostgresConfig { writable: true, ..PostgresConfig::default() })
    }

    /// Runs SQL as a superuser, and returns the lines of its result.
    pub(crate) fn look(&self, sql: &str) -> Vec<String> {
        server::psql("postgres", &self.name, sql)
    }

    /// Runs a statement that occupies a connection until the task is aborted, and waits until it has begun. The timeout
    /// of queries must be [`PATIENCE`].
    pub(crate) fn occupy(&self) -> JoinHandle<()> {
        let database = self.database.clone();
        let task = self.runtime.spawn(async move {
            let held = database.execute_raw_query(RawQuery::new(HOLD)).await;
            panic!("the statement has ended: {held:?}");
        });
        self.until_running(HOLD, 1);
        task
    }

    /// Waits until this number of statements with the text runs.
    #[track_caller]
    pub(crate) fn until_running(&self, text: &str, count: usize) {
        let running = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '{text}%' AND state = 'active' \
             AND datname = current_database()"
        );
        let until = Instant::now() + PATIENCE;
        while self.look(&running) != [count.to_string()] {
            assert!(Instant::now() < until, "{text} does not run {count} times");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn raw(&self, query: RawQuery) -> Result<Rowset, Error> {
        let call = self.database.execute_raw_query(query);
        self.runtime.block_on(call).map(|outcome| outcome.into_rows().unwrap())
    }

    pub(crate) fn sql(&self, sql: &str) -> Result<Rowset, Error> {
        self.raw(RawQuery::new(sql))
    }
}

pub(crate) async fn connect(url: &str, config: PostgresConfig) -> Result<Postgres, ConnectError> {
    Postgres::connect(&url.parse()?, config).await
}

pub(crate) async fn call(
    database: &Database,
    operation: &str,
    arguments: Value,
) -> Result<Value, Error> {
    match operation {
        "list_tables" => database.list_tables(request(arguments)).await.map(reply),
        "describe_table" => database.describe_table(request(arguments)).await.map(reply),
        "query_records" => database.query_records(request(arguments)).await.map(reply),
        "execute_raw_query" => database.execute_raw_query(request(arguments)).await.map(reply),
        "insert_record" => database.insert_record(request(arguments)).await.map(reply),
        "update_record" => database.update_record(request(arguments)).await.map(reply),
        "delete_record" => database.delete_record(request(arguments)).await.map(reply),
        "create_table" => database.create_table(request(arguments)).await.map(reply),
        "search_schema" => database.search_schema(request(arguments)).await.map(reply),
        "explain_query" => database.explain_query(request(arguments)).await.map(reply),
        "profile_table" => database.profile_table(request(arguments)).await.map(reply),
        "database_health" => database.database_health(request(arguments)).await.map(reply),
        other => panic!("no operation {other}"),
    }
}

pub(crate) fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// A request from JSON.
pub(crate) fn request<T: DeserializeOwned>(json: Value) -> T {
    serde_json::from_value(json).unwrap()
}

/// A reply as JSON.
pub(crate) fn reply(reply: impl Serialize) -> Value {
    serde_json::to_value(reply).unwrap()
}

pub(crate) fn kind<T>(outcome: &Result<T, Error>) -> &'static str {
    match outcome {
        Ok(_) => "ok",
        Err(error) => error.details().kind,
    }
}
