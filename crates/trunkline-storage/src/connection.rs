use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use rusqlite::params_from_iter;

use crate::claim::Claim;
use crate::error::StoreError;
#[cfg(feature = "postgres")]
use crate::postgres::Session;
use crate::row::Row;
use crate::value::Value;

/// A connection to the database, in the transaction of the work.
///
/// Statements are in the SQL that both engines have, with the parameters `?1`, `?2`, …
pub struct Connection(Engine);

enum Engine {
    Sqlite(rusqlite::Connection),
    #[cfg(feature = "postgres")]
    Postgres(Box<Session>),
}

/// Operations of SQLite's virtual machine between two checks of the deadline.
const OPERATIONS_PER_CHECK: i32 = 1_000;

impl Connection {
    /// Runs a statement, and returns the number of changed rows.
    ///
    /// # Errors
    /// If the statement fails. In PostgreSQL, the work then fails, too, even if it returns a value.
    pub fn execute(&self, sql: &str, params: &[Value<'_>]) -> Result<u64, StoreError> {
        match &self.0 {
            Engine::Sqlite(connection) => {
                let mut statement = connection.prepare_cached(sql)?;
                let changed = statement.execute(params_from_iter(params))?;
                Ok(u64::try_from(changed).unwrap_or(u64::MAX))
            }
            #[cfg(feature = "postgres")]
            Engine::Postgres(session) => session.execute(sql, params),
        }
    }

    /// Reads the first row of a result. `None` if the result is empty.
    ///
    /// # Errors
    /// If the statement fails, or a column has another type. As of [`execute`](Self::execute).
    pub fn query_row<T>(
        &self,
        sql: &str,
        params: &[Value<'_>],
        read: impl FnOnce(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        match &self.0 {
            Engine::Sqlite(connection) => {
                let mut statement = connection.prepare_cached(sql)?;
                let mut rows = statement.query(params_from_iter(params))?;
                rows.next()?.map(|row| read(&Row::sqlite(row))).transpose()
            }
            #[cfg(feature = "postgres")]
            Engine::Postgres(session) => {
                let row = session.query_row(sql, params)?;
                row.map(|row| read(&Row::postgres(&row))).transpose()
            }
        }
    }

    /// Calls `each` with the rows of a result until it breaks. Rows are read in parts, so a result may be large.
    ///
    /// # Errors
    /// If the statement fails, or the error of `each`. As of [`execute`](Self::execute).
    pub fn query<E: From<StoreError>>(
        &self,
        sql: &str,
        params: &[Value<'_>],
        mut each: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        match &self.0 {
            Engine::Sqlite(connection) => {
                let mut statement = connection.prepare_cached(sql).map_err(StoreError::from)?;
                let rows = statement.query(params_from_iter(params));
                let mut rows = rows.map_err(StoreError::from)?;
                while let Some(row) = rows.next().map_err(StoreError::from)? {
                    if each(&Row::sqlite(row))?.is_break() {
                        break;
                    }
                }
                Ok(())
            }
            #[cfg(feature = "postgres")]
            Engine::Postgres(session) => {
                let mut cursor = session.open_cursor(sql, params)?;
                while let Some(row) = cursor.next()? {
                    if each(&Row::postgres(&row))?.is_break() {
                        break;
                    }
                }
                Ok(())
            }
        }
    }

    /// Reads all rows of a result.
    ///
    /// # Errors
    /// If the statement fails, or a column has another type. As of [`execute`](Self::execute).
    pub fn query_all<T>(
        &self,
        sql: &str,
        params: &[Value<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut all = Vec::new();
        self.query(sql, params, |row| {
            all.push(read(row)?);
            Ok::<_, StoreError>(ControlFlow::Continue(()))
        })?;
        Ok(all)
    }

    /// The connection of SQLite, for features that only it has. `None` for another engine.
    #[must_use]
    pub fn as_sqlite(&self) -> Option<&rusqlite::Connection> {
        match &self.0 {
            Engine::Sqlite(connection) => Some(connection),
            #[cfg(feature = "postgres")]
            Engine::Postgres(_) => None,
        }
    }
}

impl From<rusqlite::Connection> for Connection {
    fn from(connection: rusqlite::Connection) -> Self {
        Self(Engine::Sqlite(connection))
    }
}

#[cfg(feature = "postgres")]
impl From<Session> for Connection {
    fn from(session: Session) -> Self {
        Self(Engine::Postgres(Box::new(session)))
    }
}

/// Transactions.
impl Connection {
    /// Begins a transaction that no other one changes the store in.
    pub(crate) fn begin_write(&self) -> Result<(), StoreError> {
        match &self.0 {
            Engine::Sqlite(connection) => {
                // Waits for the lock here, so that no later statement does.
                connection.prepare_cached("BEGIN IMMEDIATE")?.execute(())?;
                Ok(())
            }
            #[cfg(feature = "postgres")]
            Engine::Postgres(session) => session.begin_write(),
        }
    }

    /// Begins a transaction that sees one state of the database, and whose statements are interrupted when `claim` is
    /// over.
    pub(crate) fn begin_read(&self, claim: &Arc<Claim>) -> Result<(), StoreError> {
        match &self.0 {
            Engine::Sqlite(connection) => {
                let claim = Arc::clone(claim);
                connection.progress_handler(OPERATIONS_PER_CHECK, Some(move || claim.is_over()))?;
                connection.prepare_cached("BEGIN")?.execute(())?;
                Ok(())
            }
            #[cfg(feature = "postgres")]
            Engine::Postgres(session) => {
                session.begin_read(claim);
                Ok(())
            }
        }
    }

    /// Ends a transaction of [`begin_read`](Self::begin_read).
    pub(crate) fn end_read(&self) -> Result<(), StoreError> {
        match &self.0 {
            Engine::Sqlite(connection) => {
                connection.progress_handler(0, None::<fn() -> bool>)?;
                self.commit()
            }
            #[cfg(feature = "postgres")]
            Engine::Postgres(session) => {
                session.end_read();
                Ok(())
            }
        }
    }

    pub(crate) fn commit(&self) -> Result<(), StoreError> {
        match &self.0 {
            Engine::Sqlite(connection) => {
                connection.prepare_cached("COMMIT")?.execute(())?;
                Ok(())
            }
            #[cfg(feature = "postgres")]
            Engine::Postgres(session) => session.commit(),
        }
    }

    /// The error of a statement that the work has ignored, after which the transaction cannot continue.
    pub(crate) fn failure(&self) -> Option<StoreError> {
        match &self.0 {
            Engine::Sqlite(_) => None,
            #[cfg(feature = "postgres")]
            Engine::Postgres(session) => session.failure(),
        }
    }

    /// Whether a transaction is open, or the connection is lost.
    pub(crate) fn is_in_transaction(&self) -> bool {
        match &self.0 {
            Engine::Sqlite(connection) => !connection.is_autocommit(),
            #[cfg(feature = "postgres")]
            Engine::Postgres(session) => session.is_in_transaction(),
        }
    }

    /// Whether the transaction failed for a reason that may not apply to another attempt.
    pub(crate) fn should_retry(&self) -> bool {
        match &self.0 {
            Engine::Sqlite(_) => false,
            #[cfg(feature = "postgres")]
            Engine::Postgres(session) => session.should_retry(),
        }
    }

    /// Runs `work` in a savepoint, and rolls it back if it fails. An error is that of the transaction.
    pub(crate) fn savepoint(
        &self,
        work: impl FnOnce() -> Result<(), Option<StoreError>>,
    ) -> Result<(), StoreError> {
        match &self.0 {
            Engine::Sqlite(connection) => sqlite_savepoint(connection, work),
            #[cfg(feature = "postgres")]
            Engine::Postgres(session) => session.savepoint(work),
        }
    }
}

fn sqlite_savepoint(
    connection: &rusqlite::Connection,
    work: impl FnOnce() -> Result<(), Option<StoreError>>,
) -> Result<(), StoreError> {
    connection.prepare_cached("SAVEPOINT work")?.execute(())?;
    let outcome = work();
    // Some errors, such as that of a full disk, roll back the whole transaction.
    if connection.is_autocommit() {
        return Err(outcome.err().flatten().unwrap_or_else(StoreError::ended_transaction));
    }
    if outcome.is_err() {
        connection.prepare_cached("ROLLBACK TO work")?.execute(())?;
    }
    connection.prepare_cached("RELEASE work")?.execute(())?;
    Ok(())
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let engine = match &self.0 {
            Engine::Sqlite(_) => "SQLite",
            #[cfg(feature = "postgres")]
            Engine::Postgres(_) => "PostgreSQL",
        };
        f.debug_tuple("Connection").field(&engine).finish()
    }
}
