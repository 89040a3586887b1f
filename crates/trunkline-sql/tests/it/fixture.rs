use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use trunkline_sql::sqlite::{OpenError, Sqlite, SqliteConfig};
use trunkline_sql::{Database, Error, RawOutcome, RawQuery, Rowset};

/// SQLite's heap limit applies to the process. Tests that reach it hold this lock for writing, all others for reading.
pub(crate) static MEMORY: RwLock<()> = RwLock::new(());

/// For tests that open a database without a [`Fixture`].
pub(crate) fn share_memory() -> RwLockReadGuard<'static, ()> {
    MEMORY.read().unwrap_or_else(PoisonError::into_inner)
}

/// A database in a separate directory.
pub(crate) struct Fixture {
    pub(crate) folder: TempDir,
    pub(crate) path: PathBuf,
    pub(crate) database: Database,
    pub(crate) runtime: Runtime,
    _memory: Option<RwLockReadGuard<'static, ()>>,
}

impl Fixture {
    /// The database of `tests/data/emp.sql`.
    pub(crate) fn new() -> Self {
        Self::with(SqliteConfig::default())
    }

    /// The same database, served for writing.
    pub(crate) fn writable() -> Self {
        Self::with(SqliteConfig { writable: true, ..SqliteConfig::default() })
    }

    pub(crate) fn with(config: SqliteConfig) -> Self {
        let memory = share_memory();
        let mut fixture = Self::under_lock(config);
        fixture._memory = Some(memory);
        fixture
    }

    /// The database of another script.
    pub(crate) fn of(script: &str, config: SqliteConfig) -> Self {
        let memory = share_memory();
        let mut fixture = Self::of_script(script, config);
        fixture._memory = Some(memory);
        fixture
    }

    /// For a test that holds [`MEMORY`] itself.
    pub(crate) fn under_lock(config: SqliteConfig) -> Self {
        Self::of_script(include_str!("../data/emp.sql"), config)
    }

    fn of_script(script: &str, config: SqliteConfig) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("emp.db");
        create(&path, script);
        let database = open(&path, config).unwrap();
        Self { folder, path, database, runtime: runtime(), _memory: None }
    }

    pub(crate) fn raw(&self, query: RawQuery) -> Result<Rowset, Error> {
        let call = self.database.execute_raw_query(query);
        self.runtime.block_on(call).map(rows)
    }

    pub(crate) fn sql(&self, sql: &str) -> Result<Rowset, Error> {
        self.raw(RawQuery::new(sql))
    }

    /// Runs an operation with JSON arguments.
    pub(crate) fn call(&self, operation: &str, arguments: Value) -> Result<Value, Error> {
        self.runtime.block_on(call(&self.database, operation, arguments))
    }

    /// The result of a query through a separate connection.
    pub(crate) fn look(&self, sql: &str) -> Value {
        let connection = rusqlite::Connection::open(&self.path).unwrap();
        connection.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap().into()
    }

    /// The content of the directory, by name.
    pub(crate) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        files(self.folder.path())
    }
}

pub(crate) fn open(path: impl AsRef<Path>, config: SqliteConfig) -> Result<Database, OpenError> {
    Sqlite::open(path, config).map(Database::from)
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

/// The rows of a reading statement.
pub(crate) fn rows(outcome: RawOutcome) -> Rowset {
    outcome.into_rows().unwrap()
}

pub(crate) fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect()
}

pub(crate) fn create(path: &Path, sql: &str) {
    let connection = rusqlite::Connection::open(path).unwrap();
    // Each statement is a transaction, which would wait for the disk.
    connection.pragma_update(None, "synchronous", "OFF").unwrap();
    connection.execute_batch(sql).unwrap();
}

pub(crate) fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap()
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

/// The names in the current directory.
pub(crate) fn files_here() -> Vec<std::ffi::OsString> {
    let entries = fs::read_dir(".").unwrap().map(Result::unwrap);
    let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
    names.sort();
    names
}
