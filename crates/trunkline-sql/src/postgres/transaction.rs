//! The transaction of one call.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};
use tokio_postgres::SimpleQueryMessage;
use trunkline_postgres::Connection;

use super::pool::{Permit, Pool};
use crate::model::error::Error;
use crate::model::limits::QueryLimits;
use crate::model::visibility::VisibilityRules;
use crate::query::identifier::quote;

/// Whether the call of a transaction changes the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// The server ends a statement at the deadline. If it does not, the client cancels it after this time.
const GRACE: Duration = Duration::from_millis(100);

/// Maximum time for a rollback or a cancellation.
const ROLLBACK_TIME: Duration = Duration::from_secs(5);

/// Maximum time of a commit after the deadline.
const COMMIT_TIME: Duration = Duration::from_secs(5);

/// An open transaction. Dropping it cancels the running statement, and closes the connection.
pub(super) struct Transaction {
    access: Access,
    timeout: Duration,
    deadline: Instant,
    /// Rows that this session changed in earlier transactions, and has not yet reported to the statistics.
    changes_before: u64,
    discards_changes: bool,
    /// Whether a statement of the caller ran, which may have changed the state of the session.
    has_run_sql: bool,
    /// Whether a cancellation may still reach the connection.
    is_unclear: bool,
    /// None after the end.
    leased: Option<(Permit, Connection)>,
    pool: Arc<Pool>,
}

/// The time limit of a call.
#[derive(Clone, Copy)]
pub(super) struct Deadline {
    at: Instant,
    timeout: Duration,
}

impl Deadline {
    /// Runs the work of the call until the deadline.
    pub(super) async fn limit<T>(
        self,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let outcome = timeout_at(self.at, work).await;
        outcome.unwrap_or(Err(Error::Timeout { limit: self.timeout }))
    }
}

/// The number of rows that the session has inserted, updated and deleted since it last reported to the statistics,
/// which it does between transactions.
const CHANGES: &str = "SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0) FROM pg_catalog.pg_stat_xact_user_tables";

/// Clears the state that a statement can leave in a session, apart from its transaction. `DISCARD ALL` would also remove the prepared
/// statements of the driver.
const RESET: &str = "CLOSE ALL; RESET ALL; SELECT pg_catalog.pg_advisory_unlock_all(); DISCARD TEMP; \
                     DISCARD SEQUENCES";

impl Transaction {
    /// Leases a connection and begins a transaction on it.
    pub(super) async fn begin(
        pool: &Arc<Pool>,
        access: Access,
        role: Option<&str>,
        timeout: Duration,
    ) -> Result<Self, Error> {
        let deadline = Instant::now() + timeout;
        let (permit, connection) = pool.lease(timeout).await?;
        let mut transaction = Self {
            access,
            timeout,
            deadline,
            changes_before: 0,
            discards_changes: false,
            has_run_sql: false,
            is_unclear: false,
            leased: Some((permit, connection)),
            pool: Arc::clone(pool),
        };
        let begin = transaction.begin_text(role);
        let begun = timeout_at(deadline + GRACE, transaction.batch(&begin)).await;
        let begun = begun.unwrap_or(Err(Error::Timeout { limit: timeout }));
        match begun {
            Ok(counts) => {
                transaction.changes_before = counts;
                Ok(transaction)
            }
            Err(error) => transaction.end(Err(error)).await,
        }
    }

    /// The statements that begin the transaction. All text is our own.
    fn begin_text(&self, role: Option<&str>) -> String {
        let config = &self.pool.config;
        let mode = match self.access {
            Access::Read => "READ ONLY",
            Access::Write => "READ WRITE",
        };
        let milliseconds = |time: Duration| time.as_millis().clamp(1, i32::MAX as u128);
        let remaining = self.deadline.saturating_duration_since(Instant::now());
        let idle_time = remaining + COMMIT_TIME;
        let mut text = format!(
            "BEGIN {mode}; SET LOCAL statement_timeout = {}; SET LOCAL lock_timeout = {}; \
             SET LOCAL idle_in_transaction_session_timeout = {}; \
             SET LOCAL standard_conforming_strings = on",
            milliseconds(remaining),
            milliseconds(config.lock_wait),
            milliseconds(idle_time),
        );
        if !config.rules.is_empty() {
            // The lookups of visible tables are short, and compiling them takes longer than running them.
            text.push_str("; SET LOCAL jit = off");
        }
        if let Some(role) = role {
            text.push_str(&format!("; SET LOCAL ROLE {}", quote(role)));
        }
        if self.access == Access::Write {
            text.push_str("; ");
            text.push_str(CHANGES);
        }
        text
    }

    pub(super) fn limits(&self) -> &QueryLimits {
        &self.pool.config.limits
    }

    pub(super) fn rules(&self) -> &VisibilityRules {
        &self.pool.config.rules
    }

    pub(super) fn connection(&self) -> Result<&Connection, Error> {
        self.leased.as_ref().map(|(_, connection)| connection).ok_or(Error::ReaderLost)
    }

    /// Rolls back the changes even if the call succeeds.
    pub(super) fn discard_changes(&mut self) {
        self.discards_changes = true;
    }

    /// Resets the session after the call.
    pub(super) fn note_sql_of_caller(&mut self) {
        self.has_run_sql = true;
    }

    /// Runs statements of our own, and returns the last number in their results.
    async fn batch(&self, sql: &str) -> Result<u64, Error> {
        let messages = self.connection()?.client.simple_query(sql).await?;
        let number = |message: &SimpleQueryMessage| match message {
            SimpleQueryMessage::Row(row) => row.get(0).and_then(|text| text.parse().ok()),
            _ => None,
        };
        Ok(messages.iter().rev().find_map(number).unwrap_or(0))
    }

    /// Lets names without a schema be those of common table expressions and of system catalogs only, until the end of the
    /// transaction.
    pub(super) async fn clear_search_path(&self) -> Result<(), Error> {
        self.batch("SET LOCAL search_path = ''").await.map(drop)
    }

    /// The number of rows that this transaction has changed, by foreign keys and triggers too. Deferred constraints
    /// are checked first, which runs their triggers.
    pub(super) async fn changed_rows(&self) -> Result<u64, Error> {
        let counts = self.batch(&format!("SET CONSTRAINTS ALL IMMEDIATE; {CHANGES}")).await?;
        Ok(counts.saturating_sub(self.changes_before))
    }

    /// Sets a savepoint, until it is released or rolled back.
    pub(super) async fn savepoint(&self) -> Result<(), Error> {
        self.batch("SAVEPOINT before").await.map(drop)
    }

    /// Keeps the changes since the savepoint.
    pub(super) async fn release_savepoint(&self) -> Result<(), Error> {
        self.batch("RELEASE SAVEPOINT before").await.map(drop)
    }

    /// Undoes the changes since the savepoint.
    pub(super) async fn roll_back_to_savepoint(&self) -> Result<(), Error> {
        self.batch("ROLLBACK TO SAVEPOINT before; RELEASE SAVEPOINT before").await.map(drop)
    }

    /// Refuses a change of too many rows.
    pub(super) fn check_changed(&self, changed: u64, max: Option<u64>) -> Result<(), Error> {
        let max = max.unwrap_or(self.limits().max_affected);
        if changed > max {
            return Err(Error::TooManyRows { max, table: None });
        }
        Ok(())
    }

    /// Whether running statements can be cancelled. If not, their connection is closed.
    pub(super) fn can_cancel(&self) -> bool {
        !self.pool.config.transaction_pooling
    }

    /// Cancels the running statement and waits until the server has processed the request.
    pub(super) async fn cancel(&self) -> Result<(), Error> {
        let canceller = self.connection()?.canceller();
        canceller.cancel(&self.pool.address, ROLLBACK_TIME).await;
        Ok(())
    }

    /// The time limit of the call.
    pub(super) fn deadline(&self) -> Deadline {
        Deadline { at: self.deadline + GRACE, timeout: self.timeout }
    }

    /// Closes the connection after the call.
    pub(super) fn close_afterwards(&mut self) {
        self.is_unclear = true;
    }

    /// Ends the transaction: with a commit if the call changes the database and succeeded, otherwise with a rollback.
    pub(super) async fn end<T>(mut self, outcome: Result<T, Error>) -> Result<T, Error> {
        let state = Arc::clone(&self.connection()?.state);
        let value = match outcome {
            Ok(value) => value,
            Err(_) if state.is_too_large() => return Err(self.too_large()),
            // A statement may still be running: dropping the transaction cancels it.
            Err(error @ (Error::Timeout { .. } | Error::ReaderLost)) => {
                return Err(self.named(error));
            }
            Err(error) => {
                let _ = timeout(ROLLBACK_TIME, self.finish()).await;
                return Err(self.named(error));
            }
        };
        if !state.is_in_transaction() {
            // The connection is closed, too.
            let reason = "it ended the transaction of the call".to_owned();
            return Err(Error::Forbidden { reason });
        }
        if self.access == Access::Write && !self.discards_changes {
            let commit = match self.pool.config.transaction_pooling {
                true => format!("{RESET}; DEALLOCATE ALL; COMMIT"),
                false => "COMMIT".to_owned(),
            };
            match timeout_at(self.deadline + COMMIT_TIME, self.batch(&commit)).await {
                Ok(Ok(_)) => {}
                // The connection was lost before the answer.
                Ok(Err(Error::Unreachable(_))) => return Err(Error::Unconfirmed),
                Ok(Err(error)) => return Err(self.named(error)),
                Err(_) => return Err(Error::Unconfirmed),
            }
        }
        let _ = timeout(ROLLBACK_TIME, self.finish()).await;
        Ok(value)
    }

    /// Ends the transaction of a call that failed, whose statement may still be running.
    pub(super) fn abandon<T>(self, error: Error) -> Result<T, Error> {
        if self.connection()?.state.is_too_large() {
            return Err(self.too_large());
        }
        // Dropping the transaction cancels the statement.
        Err(self.named(error))
    }

    fn too_large(&self) -> Error {
        Error::OverLimit {
            message: format!(
                "a row of the result has more than {} bytes; select fewer columns, or parts of them",
                self.pool.config.max_message
            ),
        }
    }

    /// The error with the time limit of this call.
    fn named(&self, error: Error) -> Error {
        match error {
            Error::Timeout { .. } | Error::Cancelled => Error::Timeout { limit: self.timeout },
            other => other,
        }
    }

    /// Rolls the transaction back, if it is open, and returns the connection to the pool. If that fails, the connection
    /// is closed.
    async fn finish(&mut self) -> Result<(), Error> {
        let is_open = !self.connection()?.state.is_idle();
        if self.pool.config.transaction_pooling {
            // The next statement may be sent to another session.
            if is_open && !self.is_unclear {
                self.batch(&format!("ROLLBACK; {RESET}; DEALLOCATE ALL")).await?;
            }
            self.leased = None;
            return Ok(());
        }
        match (is_open, self.has_run_sql) {
            (true, true) => self.batch(&format!("ROLLBACK; {RESET}")).await?,
            (true, false) => self.batch("ROLLBACK").await?,
            (false, true) => self.batch(RESET).await?,
            (false, false) => 0,
        };
        if !self.is_unclear
            && let Some((permit, connection)) = self.leased.take()
        {
            self.pool.give_back(connection);
            drop(permit);
        }
        Ok(())
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        let Some((permit, connection)) = self.leased.take() else { return };
        // A pooler closes the session of a lost client. Its statement ends at its timeout. PgBouncer 1.18 can fail calls
        // of other clients after a request to cancel one.
        if connection.client.is_closed() || self.pool.config.transaction_pooling {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let canceller = connection.canceller();
        let pool = Arc::clone(&self.pool);
        // The task that drives the connection ends it when the statement has ended.
        drop(connection);
        runtime.spawn(async move {
            canceller.cancel(&pool.address, ROLLBACK_TIME).await;
            drop(permit);
        });
    }
}
