use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{NoTls, SimpleQueryMessage};
use trunkline_sql::postgres::{Postgres, PostgresConfig};
use trunkline_sql::{Database, Error, RawQuery, Rowset};

use crate::server;

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
        let name = runtime.block_on(create_database());
        runtime.block_on(run_as("app", &name, script));
        let database = runtime.block_on(Postgres::connect(&url("app", &name), config)).unwrap();
        Self { name, database: database.into(), runtime }
    }

    pub(crate) fn writable() -> Self {
        Self::new(PostgresConfig { writable: true, ..PostgresConfig::default() })
    }

    /// Runs SQL as a superuser, and returns the values of its first column.
    pub(crate) fn look(&self, sql: &str) -> Vec<String> {
        self.runtime.block_on(run_as("postgres", &self.name, sql))
    }

    pub(crate) fn raw(&self, query: RawQuery) -> Result<Rowset, Error> {
        let call = self.database.execute_raw_query(query);
        self.runtime.block_on(call).map(|outcome| outcome.into_rows().unwrap())
    }

    pub(crate) fn sql(&self, sql: &str) -> Result<Rowset, Error> {
        self.raw(RawQuery::new(sql))
    }
}

pub(crate) fn url(user: &str, database: &str) -> String {
    let base = server::url();
    let address = base.rsplit_once('@').map_or(base, |(_, address)| address);
    format!("postgres://{user}@{address}/{database}")
}

/// Creates a database, which is removed with the server, and the roles of the tests.
async fn create_database() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    static ROLES: OnceLock<()> = OnceLock::new();
    if ROLES.get().is_none() {
        let roles = "\
            DO $$ BEGIN PERFORM pg_advisory_xact_lock(7); \
            IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'app') THEN \
            CREATE ROLE app LOGIN; CREATE ROLE reader LOGIN; CREATE ROLE filer LOGIN; \
            GRANT pg_read_server_files TO filer; GRANT reader TO app; END IF; END $$";
        run_as("postgres", "postgres", roles).await;
        ROLES.get_or_init(|| ());
    }
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("test_{}_{number}", std::process::id());
    run_as("postgres", "postgres", &format!("CREATE DATABASE {name} OWNER app TEMPLATE template0"))
        .await;
    name
}

/// Runs statements, and returns the values of the first column of their rows.
pub(crate) async fn run_as(user: &str, database: &str, sql: &str) -> Vec<String> {
    let url = format!("{}?sslmode=disable", url(user, database));
    let config: tokio_postgres::Config = url.parse().unwrap();
    let [tokio_postgres::config::Host::Tcp(host)] = config.get_hosts() else {
        panic!("the URL has no host")
    };
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let stream = tokio::net::TcpStream::connect((host.as_str(), port)).await.unwrap();
    let (client, connection) = config.connect_raw(stream, NoTls).await.unwrap();
    let driver = tokio::spawn(connection);
    let messages = client.simple_query(sql).await.unwrap();
    drop(client);
    driver.await.unwrap().unwrap();
    let first = |message: &SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("NULL").to_owned()),
        _ => None,
    };
    messages.iter().filter_map(first).collect()
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
