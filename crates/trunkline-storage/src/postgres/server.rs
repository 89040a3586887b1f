use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::runtime;
use trunkline_postgres::{ConnectError, ConnectLimits, Connection, Sessions};

use super::error::connect_error;
use super::session::Session;
use super::settings::{Settings, milliseconds};
use crate::config::{Schema, StoreConfig};
use crate::error::{OpenError, StoreError};
use crate::location::PostgresLocation;

/// A PostgreSQL database.
pub(crate) struct Server(Arc<Settings>);

/// The limits of opening a connection, and of a message of the server, such as a row.
const LIMITS: ConnectLimits =
    ConnectLimits { timeout: Duration::from_secs(5), max_message: 64 << 20 };

/// Maximum wait for the migration by another process, and for each of its scripts.
const MIGRATION_WAIT: Duration = Duration::from_secs(60);

/// The lock of migrations: `trunklin`.
const MIGRATION_LOCK: i64 = 0x7472_756e_6b6c_696e;

impl Server {
    pub(crate) fn new(location: PostgresLocation, schema: Schema, config: &StoreConfig) -> Self {
        Self(Arc::new(Settings::new(location.address, schema, config)))
    }

    pub(crate) fn schema(&self) -> &Schema {
        &self.0.schema
    }

    /// Migrates the schema. Blocks.
    pub(crate) fn open(&self) -> Result<(), OpenError> {
        // The calling thread may belong to a runtime, which may not block on another one.
        let migrated = thread::scope(|scope| {
            let mut settings = Settings::clone(&self.0);
            settings.timeout = MIGRATION_WAIT;
            let migrate = || self.migrate(&connect(Arc::new(settings))?);
            let ended = scope.spawn(migrate).join();
            ended.unwrap_or_else(|panic| Err(StoreError::of_panic(&*panic).into()))
        });
        migrated.map_err(|problem| match problem {
            Problem::Newer(found) => {
                OpenError::Newer { path: self.place(), found, known: self.0.newest_version() }
            }
            Problem::Store(source) => OpenError::Open { path: self.place(), source },
        })
    }

    /// A new session. Blocks.
    pub(crate) fn connect(&self) -> Result<Session, StoreError> {
        connect(Arc::clone(&self.0))
    }

    fn migrate(&self, session: &Session) -> Result<(), Problem> {
        let newest = self.0.newest_version();
        // The current version needs no privileges but those for the tables.
        if self.version(|sql| session.read(sql))? == newest {
            return Ok(());
        }
        session.batch(&format!(
            "{1}SET LOCAL statement_timeout = {0}; SET LOCAL lock_timeout = {0}; \
             SELECT pg_advisory_xact_lock({MIGRATION_LOCK}); CREATE SCHEMA IF NOT EXISTS trunkline; \
             SET LOCAL search_path TO trunkline; \
             CREATE TABLE IF NOT EXISTS store (name text PRIMARY KEY, version bigint NOT NULL)",
            milliseconds(MIGRATION_WAIT),
            self.0.begin("READ WRITE", session.sessions()),
        ))?;
        let version = self.version(|sql| session.batch(sql))?;
        for (migration, number) in self.0.schema.postgres.iter().zip(1..) {
            if version < number {
                session.batch(migration)?;
            }
        }
        session.batch(&format!(
            "INSERT INTO store (name, version) VALUES ('{}', {newest}) \
             ON CONFLICT (name) DO UPDATE SET version = excluded.version; COMMIT",
            self.0.schema.name,
        ))?;
        Ok(())
    }

    /// The version of the schema; 0 for a missing one. `query` runs a query.
    fn version(
        &self,
        query: impl Fn(&str) -> Result<Vec<String>, StoreError>,
    ) -> Result<u32, Problem> {
        let exists = query("SELECT 1 WHERE to_regclass('trunkline.store') IS NOT NULL")?;
        if exists.is_empty() {
            return Ok(0);
        }
        let sql =
            format!("SELECT version FROM trunkline.store WHERE name = '{}'", self.0.schema.name);
        let found = query(&sql)?;
        let found = found.first().map_or(Ok(0), |version| version.parse());
        match found {
            Ok(found) if found > self.0.newest_version() => Err(Problem::Newer(found)),
            Ok(found) => Ok(found),
            Err(error) => Err(StoreError::Failed(Arc::new(error)).into()),
        }
    }

    /// The database, without the user and the password.
    fn place(&self) -> PathBuf {
        PathBuf::from(self.0.address.to_string())
    }
}

fn connect(settings: Arc<Settings>) -> Result<Session, StoreError> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| StoreError::Failed(Arc::new(error)))?;
    let connecting = Connection::open(&settings.address, LIMITS);
    let connection = runtime.block_on(settings.outage.observe(&settings.address, connecting));
    Ok(Session::new(connection.map_err(connect_error)?, runtime, settings))
}

/// The reason why a schema cannot be used.
enum Problem {
    /// Its version is newer.
    Newer(u32),
    Store(StoreError),
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl PostgresLocation {
    /// Connects once, changes nothing, and returns whether a connection pooler shares the sessions of the server.
    ///
    /// # Errors
    /// The reason why the database cannot be reached.
    pub async fn check(&self) -> Result<Sessions, ConnectError> {
        Connection::open(&self.address, LIMITS).await.map(|connection| connection.sessions)
    }
}
