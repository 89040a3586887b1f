use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use std::vec;

use futures_util::future::join;
use tokio::runtime::Runtime;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Error, Row, SimpleQueryMessage};
use trunkline_postgres::{Connection, Sessions, is_connection_lost};

use super::error::{is_conflict, lost, store_error};
use super::settings::Settings;
use super::text;
use crate::claim::Claim;
use crate::error::StoreError;
use crate::value::Value;

/// A connection, used by one thread, which also drives it.
///
/// Commands that have no result of interest are sent together with the next statement.
pub(crate) struct Session {
    // Dropped before the runtime.
    connection: Connection,
    runtime: Runtime,
    settings: Arc<Settings>,
    /// The commands to send with the next statement.
    pending: RefCell<String>,
    /// Whether a transaction is open on the server.
    has_begun: Cell<bool>,
    /// The limits of the current read.
    claim: RefCell<Option<Arc<Claim>>>,
    /// The error of a statement in the current savepoint, or in the current read.
    failure: RefCell<Option<StoreError>>,
    /// Whether the connection must not be used any more.
    is_lost: Cell<bool>,
    should_retry: Cell<bool>,
    /// The number of cursors so far, for their names.
    cursors: Cell<u64>,
}

/// The server ends a statement at its timeout. If it does not, the client does after this time.
const GRACE: Duration = Duration::from_secs(1);

/// The time between two checks whether the caller still waits.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Maximum time for a cancellation.
const CANCEL_TIME: Duration = Duration::from_secs(1);

const SAVEPOINT: &str = "SAVEPOINT work;";
const ROLLBACK_TO: &str = "ROLLBACK TO work;";

impl Session {
    pub(super) fn new(connection: Connection, runtime: Runtime, settings: Arc<Settings>) -> Self {
        Self {
            connection,
            runtime,
            settings,
            pending: RefCell::default(),
            has_begun: Cell::new(false),
            claim: RefCell::default(),
            failure: RefCell::default(),
            is_lost: Cell::new(false),
            should_retry: Cell::new(false),
            cursors: Cell::new(0),
        }
    }

    /// The sessions of the server in which the transactions run.
    pub(super) fn sessions(&self) -> Sessions {
        self.connection.sessions
    }

    pub(crate) fn execute(&self, sql: &str, params: &[Value<'_>]) -> Result<u64, StoreError> {
        let (sql, params) = (text::statement(sql), typed(params));
        self.run(self.connection.client.execute_typed(&sql, &params))
    }

    pub(crate) fn query_row(
        &self,
        sql: &str,
        params: &[Value<'_>],
    ) -> Result<Option<Row>, StoreError> {
        let (sql, params) = (text::statement(sql), typed(params));
        let rows = self.run(self.connection.client.query_typed(&sql, &params))?;
        Ok(rows.into_iter().next())
    }

    pub(crate) fn open_cursor(
        &self,
        sql: &str,
        params: &[Value<'_>],
    ) -> Result<Cursor<'_>, StoreError> {
        self.cursors.set(self.cursors.get() + 1);
        let name = format!("rows_{}", self.cursors.get());
        let declare = format!("DECLARE {name} NO SCROLL CURSOR FOR {}", text::statement(sql));
        let (fetch, params) = (fetch_text(&name), typed(params));
        let client = &self.connection.client;
        let rows = self.run(async {
            let (declared, rows) =
                join(client.execute_typed(&declare, &params), client.query_typed(&fetch, &[]))
                    .await;
            declared?;
            rows
        });
        Ok(Cursor::new(self, name, rows?))
    }

    fn fetch(&self, cursor: &str) -> Result<Vec<Row>, StoreError> {
        let fetch = fetch_text(cursor);
        self.run(self.connection.client.query_typed(&fetch, &[]))
    }

    fn close_cursor(&self, cursor: &str) {
        self.push(&format!("CLOSE {cursor};"));
    }

    /// Runs queries in a separate transaction, which changes nothing, and returns the values of the first column of
    /// their rows.
    pub(super) fn read(&self, sql: &str) -> Result<Vec<String>, StoreError> {
        self.batch(&format!(
            "{}{sql}; ROLLBACK",
            self.settings.begin("READ ONLY", self.connection.sessions)
        ))
    }

    /// Runs commands, and returns the values of the first column of their rows.
    pub(super) fn batch(&self, sql: &str) -> Result<Vec<String>, StoreError> {
        let messages = self.run(self.connection.client.simple_query(sql))?;
        let first = |message: &SimpleQueryMessage| match message {
            SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or_default().to_owned()),
            _ => None,
        };
        Ok(messages.iter().filter_map(first).collect())
    }

    /// The error of a statement that the work has ignored. The transaction cannot continue after it.
    pub(crate) fn failure(&self) -> Option<StoreError> {
        self.failure.borrow().clone()
    }

    fn run<T>(&self, statement: impl Future<Output = Result<T, Error>>) -> Result<T, StoreError> {
        if self.is_lost.get() {
            return Err(lost());
        }
        let commands = self.pending.take();
        self.has_begun.set(true);
        let work = async {
            if commands.is_empty() {
                return statement.await;
            }
            // Polled, and thereby sent, in this order.
            let sent = join(self.connection.client.batch_execute(&commands), statement);
            let (commands, outcome) = sent.await;
            commands?;
            outcome
        };
        let outcome = self.runtime.block_on(self.limit(work));
        let outcome = outcome.and_then(|outcome| outcome.map_err(|error| self.note(error)));
        if let Err(error) = &outcome {
            *self.failure.borrow_mut() = Some(error.clone());
        }
        outcome
    }

    /// Waits for a reply, while its caller waits.
    async fn limit<T>(
        &self,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<Result<T, Error>, StoreError> {
        let claim = self.claim.borrow().clone();
        let deadline = Instant::now() + self.settings.timeout + GRACE;
        let mut work = pin!(work);
        loop {
            let until = match claim {
                Some(_) => deadline.min(Instant::now() + CHECK_INTERVAL),
                None => deadline,
            };
            tokio::select! {
                biased;
                outcome = &mut work => return Ok(outcome),
                () = sleep_until(until) => {}
            }
            let reason = match &claim {
                Some(claim) if claim.is_over() => claim.reason(),
                _ if Instant::now() >= deadline => lost(),
                _ => continue,
            };
            self.is_lost.set(true);
            if let Some(canceller) = self.connection.canceller() {
                canceller.cancel(&self.settings.address, CANCEL_TIME).await;
            }
            return Err(reason);
        }
    }

    fn note(&self, error: Error) -> StoreError {
        if is_connection_lost(&error) {
            self.is_lost.set(true);
            self.should_retry.set(true);
        }
        if error.code().is_some_and(is_conflict) {
            self.should_retry.set(true);
        }
        store_error(error)
    }

    fn push(&self, commands: &str) {
        self.pending.borrow_mut().push_str(commands);
    }
}

/// Transactions.
impl Session {
    /// Begins a transaction, and waits for the lock of the store.
    pub(crate) fn begin_write(&self) -> Result<(), StoreError> {
        self.reset(None);
        let begin = self.settings.begin_write(self.connection.sessions);
        let version = self.batch(&begin)?;
        self.settings.check_version(version.first().map(String::as_str))
    }

    /// Begins a read with its first statement.
    pub(crate) fn begin_read(&self, claim: &Arc<Claim>) {
        self.reset(Some(claim));
        self.push(&self.settings.begin_read(self.connection.sessions));
    }

    fn reset(&self, claim: Option<&Arc<Claim>>) {
        *self.claim.borrow_mut() = claim.cloned();
        *self.failure.borrow_mut() = None;
        self.pending.borrow_mut().clear();
        self.has_begun.set(false);
        self.should_retry.set(false);
    }

    pub(crate) fn commit(&self) -> Result<(), StoreError> {
        let mut commands = self.pending.take();
        if !self.has_begun.replace(false) {
            return Ok(());
        }
        if self.is_lost.get() {
            return Err(lost());
        }
        // A failed transaction is restored by the return to its savepoint. Whether it is known to have failed depends on
        // what has been read: the server sends the state after the error.
        if !commands.starts_with(ROLLBACK_TO) && self.connection.state.is_failed() {
            return Err(StoreError::ended_transaction());
        }
        commands.push_str("COMMIT");
        let commit = self.connection.client.batch_execute(&commands);
        let wait = self.settings.timeout + GRACE;
        let outcome = self.runtime.block_on(async { timeout(wait, commit).await });
        match outcome {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) if error.code().is_some() && !is_connection_lost(&error) => {
                Err(self.note(error))
            }
            // The server may have committed before the connection was lost.
            _ => {
                self.is_lost.set(true);
                Err(StoreError::Unconfirmed)
            }
        }
    }

    /// Ends a read. Its results are valid even if the connection is lost now.
    pub(crate) fn end_read(&self) {
        if self.commit().is_err() {
            self.is_lost.set(true);
        }
        *self.claim.borrow_mut() = None;
    }

    pub(crate) fn savepoint(
        &self,
        work: impl FnOnce() -> Result<(), Option<StoreError>>,
    ) -> Result<(), StoreError> {
        *self.failure.borrow_mut() = None;
        self.push(SAVEPOINT);
        let outcome = work();
        let failure = self.failure.take();
        if self.is_lost.get() || self.should_retry.get() {
            return Err(outcome.err().flatten().or(failure).unwrap_or_else(lost));
        }
        let mut pending = self.pending.borrow_mut();
        match (pending.find(SAVEPOINT), outcome.is_ok() && failure.is_none()) {
            // It was not sent, so the work has run no statement.
            (Some(begin), _) => pending.truncate(begin),
            (None, true) => pending.push_str("RELEASE work;"),
            (None, false) => *pending = format!("{ROLLBACK_TO}RELEASE work;"),
        }
        Ok(())
    }

    pub(crate) fn is_in_transaction(&self) -> bool {
        self.has_begun.get() || self.is_lost.get()
    }

    pub(crate) fn should_retry(&self) -> bool {
        self.should_retry.get()
    }
}

/// The number of rows that are read at once.
const PART: usize = 100;

/// The rows of a statement, which are read in parts.
pub(crate) struct Cursor<'s> {
    session: &'s Session,
    name: String,
    rows: vec::IntoIter<Row>,
    is_last: bool,
}

impl<'s> Cursor<'s> {
    /// A cursor of this name, with its first rows.
    fn new(session: &'s Session, name: String, rows: Vec<Row>) -> Self {
        Self { session, name, is_last: rows.len() < PART, rows: rows.into_iter() }
    }

    pub(crate) fn next(&mut self) -> Result<Option<Row>, StoreError> {
        if self.rows.as_slice().is_empty() && !self.is_last {
            let rows = self.session.fetch(&self.name)?;
            self.is_last = rows.len() < PART;
            self.rows = rows.into_iter();
        }
        Ok(self.rows.next())
    }
}

impl Drop for Cursor<'_> {
    fn drop(&mut self) {
        self.session.close_cursor(&self.name);
    }
}

fn fetch_text(cursor: &str) -> String {
    format!("FETCH {PART} FROM {cursor}")
}

fn typed<'v>(params: &'v [Value<'v>]) -> Vec<(&'v (dyn ToSql + Sync), Type)> {
    params.iter().map(|value| (value as &(dyn ToSql + Sync), text::type_of(value))).collect()
}
