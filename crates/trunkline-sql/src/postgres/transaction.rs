//! The transaction of one call.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Row, RowStream, Statement};
use trunkline_postgres::Connection;

use super::error::in_statement;
use super::params::TextParam;
use super::pool::{Permit, Pool};
use super::security::Access;
use super::session::{Reply, Session};
use crate::model::error::Error;
use crate::model::limits::QueryLimits;
use crate::model::visibility::VisibilityRules;
use crate::query::identifier::quote;

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
    phase: Phase,
    on_success: OnSuccess,
    afterwards: Afterwards,
    /// Whether the session keeps the statement of the call prepared. The names in a statement, and the policies of its
    /// tables, can depend on the role.
    keeps_statements: bool,
    /// Names in the statement of the call that the caller does not know, and the names that errors have instead.
    internal_names: Vec<(String, String)>,
    /// None after the end.
    leased: Option<(Permit, Session)>,
    pool: Arc<Pool>,
}

/// What the server was last told about the transaction.
enum Phase {
    /// To begin it, with a reply that has not been read.
    Beginning(Reply),
    /// The reply is being read, or could not be read.
    Unknown,
    /// It has begun. The number is that of the rows that this session changed in earlier transactions, and has not yet
    /// reported to the statistics.
    Open { changes_before: u64 },
    /// To end it, with a reply that has not been read.
    Ending(Reply),
}

/// The end of the transaction of a call that succeeds.
#[derive(PartialEq, Eq)]
enum OnSuccess {
    Commit,
    RollBack,
}

/// What happens to the session after the call.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Afterwards {
    Reuse,
    /// A statement of the caller ran, which may have changed the state of the session.
    Reset,
    /// A cancellation may still reach the connection.
    Close,
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

/// Clears the state that a statement can leave in a session, apart from its transaction. `DISCARD ALL` would also
/// remove the prepared statements. `RESET ALL` does not reset the role, which functions of the database can set.
const RESET: &str = "CLOSE ALL; RESET SESSION AUTHORIZATION; RESET ROLE; RESET ALL; UNLISTEN *; \
                     SELECT pg_catalog.pg_advisory_unlock_all(); DISCARD TEMP; DISCARD SEQUENCES";
const ROLLBACK_AND_RESET: &str = "ROLLBACK; CLOSE ALL; RESET SESSION AUTHORIZATION; RESET ROLE; RESET ALL; \
                                  UNLISTEN *; SELECT pg_catalog.pg_advisory_unlock_all(); DISCARD TEMP; \
                                  DISCARD SEQUENCES";

/// The encoding of the driver, which `RESET ALL` removes from a shared session. A pooler believes that the session has it.
const ENCODING: &str = "SET client_encoding = 'UTF8'";

impl Transaction {
    /// Leases a connection and begins a transaction on it.
    pub(super) async fn begin(
        pool: &Arc<Pool>,
        access: Access,
        role: Option<&str>,
        timeout: Duration,
    ) -> Result<Self, Error> {
        let mut transaction = Self::start(pool, access, role, timeout).await?;
        let deadline = transaction.deadline();
        match deadline.limit(transaction.begun()).await {
            Ok(()) => Ok(transaction),
            Err(error) => transaction.end(Err(error)).await,
        }
    }

    /// Leases a connection and sends the beginning of a transaction. Statements must not run before it has
    /// [begun](Self::begun).
    pub(super) async fn start(
        pool: &Arc<Pool>,
        access: Access,
        role: Option<&str>,
        timeout: Duration,
    ) -> Result<Self, Error> {
        let deadline = Instant::now() + timeout;
        let leased = pool.lease(timeout).await;
        // Also instead of an error of the connection, for which the call has waited too long.
        if Instant::now() >= deadline {
            if let Ok((_permit, session)) = leased {
                pool.give_back(session);
            }
            return Err(Error::Timeout { limit: timeout });
        }
        let (permit, session) = leased?;
        // Under rules, the text of a statement depends on the tables that are visible.
        let is_kept = access == Access::Read
            && role.is_none()
            && !session.is_shared()
            && pool.config.rules.is_empty();
        let mut transaction = Self {
            access,
            timeout,
            deadline,
            phase: Phase::Unknown,
            on_success: match access {
                Access::Read => OnSuccess::RollBack,
                Access::Write => OnSuccess::Commit,
            },
            afterwards: Afterwards::Reuse,
            keeps_statements: is_kept && pool.config.statement_cache > 0,
            internal_names: Vec::new(),
            leased: Some((permit, session)),
            pool: Arc::clone(pool),
        };
        let begin = transaction.begin_text(role);
        let reply = Reply::to(transaction.connection()?, &begin).await?;
        transaction.phase = Phase::Beginning(reply);
        Ok(transaction)
    }

    /// Waits until the transaction has begun.
    pub(super) async fn begun(&mut self) -> Result<(), Error> {
        self.finish_beginning(async |_| ()).await
    }

    /// Reads the reply to the beginning, if it has not been read, while `work` runs.
    async fn finish_beginning<T>(
        &mut self,
        work: impl AsyncFnOnce(&Self) -> T,
    ) -> Result<T, Error> {
        let reply = match mem::replace(&mut self.phase, Phase::Unknown) {
            Phase::Beginning(reply) => reply,
            other => {
                self.phase = other;
                return Ok(work(self).await);
            }
        };
        let (begun, done) = join(reply.number(), work(self)).await;
        let changes_before = begun.map_err(|error| self.not_begun(error))?;
        self.phase = Phase::Open { changes_before };
        Ok(done)
    }

    /// The error of a transaction that has not begun: the timeout, if the time is up.
    fn not_begun(&self, error: Error) -> Error {
        if Instant::now() < self.deadline {
            return error;
        }
        Error::Timeout { limit: self.timeout }
    }

    /// Runs a query of our own on the catalogs, whose text is the same for all calls.
    ///
    /// # Errors
    ///
    /// As of [`Session::look_up`].
    pub(super) async fn look_up(
        &self,
        sql: &str,
        params: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Vec<Row>, Error> {
        self.session()?.look_up(sql, params).await
    }

    /// Prepares a statement of the caller.
    pub(super) async fn prepare(&self, sql: &str) -> Result<Statement, Error> {
        let prepared = self.session()?.prepare(sql, &[]).await?;
        prepared.map_err(|error| in_statement(error, sql))
    }

    /// Notes the error of a kept statement that is missing in the session.
    pub(super) fn note_lost_statement(&self, error: &tokio_postgres::Error) {
        if let Ok(session) = self.session() {
            session.note_lost_statement(error);
        }
    }

    /// Prepares a statement of the caller, in one round trip with the beginning of the transaction. In a shared session,
    /// it waits for the beginning: otherwise the statement would be prepared in another one if that fails.
    pub(super) async fn begin_and_prepare(&mut self, sql: &str) -> Result<Statement, Error> {
        if self.is_shared() {
            self.begun().await?;
        }
        self.finish_beginning(async |transaction| transaction.prepare(sql).await).await?
    }

    /// A statement that was [kept](Self::keep_statement). The name is the text of the statement, or contains it.
    pub(super) fn kept_statement(&mut self, name: &str) -> Option<Statement> {
        let (_, session) = self.leased.as_mut().filter(|_| self.keeps_statements)?;
        session.statement(name)
    }

    /// Keeps a statement for later calls, which has run to its end.
    pub(super) fn keep_statement(&mut self, sql: &str, statement: Statement) {
        if let Some((_, session)) = &mut self.leased
            && self.keeps_statements
            && session.connection.state.is_in_transaction()
        {
            session.keep_statement(sql, statement);
        }
    }

    pub(super) fn forget_statement(&mut self, sql: &str) {
        if let Some((_, session)) = &mut self.leased {
            session.forget_statement(sql);
        }
    }

    /// Sends a kept statement together with the end of the transaction. It waits for the beginning, which an
    /// administrator of the server can cancel: the statement would then run without its transaction.
    pub(super) async fn send_last(
        &mut self,
        statement: &Statement,
        params: Vec<TextParam>,
        is_text: &[bool],
    ) -> Result<Result<RowStream, tokio_postgres::Error>, Error> {
        self.begun().await?;
        let connection = self.connection()?;
        // Sent in this order.
        let execution = connection.query_raw(statement, params, is_text);
        let end = if self.must_reset() { ROLLBACK_AND_RESET } else { "ROLLBACK" };
        let (rows, ending) = join(execution, Reply::to(connection, end)).await;
        self.phase = Phase::Ending(ending?);
        Ok(rows)
    }

    /// Begins another transaction for the same call, after [`send_last`](Self::send_last) of a statement that must be
    /// prepared again.
    pub(super) async fn restart(&mut self, sql: &str) -> Result<(), Error> {
        if let Phase::Ending(ending) = mem::replace(&mut self.phase, Phase::Unknown) {
            ending.number().await?;
        }
        self.forget_statement(sql);
        let begin = self.begin_text(None);
        self.phase = Phase::Beginning(Reply::to(self.connection()?, &begin).await?);
        Ok(())
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
        let fresh = match self.is_shared() {
            true => format!("{}; ", self.pool.address.fresh_session()),
            false => String::new(),
        };
        let mut text = format!(
            "BEGIN {mode}; {fresh}SET LOCAL statement_timeout = {}; SET LOCAL lock_timeout = {}; \
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
        if self.connection().is_ok_and(|connection| connection.has_any_text) {
            // The server would refuse a result with a text that is not UTF-8.
            text.push_str("; SET LOCAL client_encoding = 'SQL_ASCII'");
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
        self.session().map(|session| &session.connection)
    }

    fn session(&self) -> Result<&Session, Error> {
        self.leased.as_ref().map(|(_, session)| session).ok_or(Error::ReaderLost)
    }

    /// Rolls back the changes even if the call succeeds.
    pub(super) fn discard_changes(&mut self) {
        self.on_success = OnSuccess::RollBack;
    }

    /// Resets the session after the call.
    pub(super) fn note_sql_of_caller(&mut self) {
        if self.afterwards < Afterwards::Reset {
            self.afterwards = Afterwards::Reset;
        }
    }

    /// Whether the state of the session may have changed.
    fn must_reset(&self) -> bool {
        self.afterwards >= Afterwards::Reset
    }

    /// Sets the names that the error of the call must not have, and those in their place.
    pub(super) fn replace_in_errors(&mut self, names: Vec<(String, String)>) {
        self.internal_names = names;
    }

    /// Runs statements of our own, and returns the last number in their results.
    async fn batch(&self, sql: &str) -> Result<u64, Error> {
        Reply::to(self.connection()?, sql).await?.number().await
    }

    /// Lets names without a schema be those of common table expressions and of system catalogs only, until the end of
    /// the transaction.
    pub(super) async fn clear_search_path(&self) -> Result<(), Error> {
        self.batch("SET LOCAL search_path = ''").await.map(drop)
    }

    /// The number of rows that this transaction has changed, by foreign keys and triggers too. Deferred constraints
    /// are checked first, which runs their triggers.
    pub(super) async fn changed_rows(&self) -> Result<u64, Error> {
        let counts = self.batch(&format!("SET CONSTRAINTS ALL IMMEDIATE; {CHANGES}")).await?;
        let Phase::Open { changes_before } = self.phase else { return Ok(counts) };
        Ok(counts.saturating_sub(changes_before))
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

    /// Whether the sessions of the server are shared with other clients.
    pub(super) fn is_shared(&self) -> bool {
        self.session().is_ok_and(Session::is_shared)
    }

    /// The means to cancel the running statement and to wait until the server has processed the request. None if the
    /// statement cannot be cancelled: its connection is closed.
    pub(super) fn cancellation(&self) -> Option<impl Future<Output = ()>> {
        let canceller = self.connection().ok()?.canceller()?;
        Some(async move { canceller.cancel(&self.pool.address, ROLLBACK_TIME).await })
    }

    /// The time limit of the call.
    pub(super) fn deadline(&self) -> Deadline {
        Deadline { at: self.deadline + GRACE, timeout: self.timeout }
    }

    /// Closes the connection after the call.
    pub(super) fn close_afterwards(&mut self) {
        self.afterwards = Afterwards::Close;
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
                // Its statement may still be running.
                let finish = async {
                    self.begun().await?;
                    if let Some(ending) = self.ending_reply().await? {
                        ending.number().await?;
                    }
                    self.give_back();
                    Ok::<_, Error>(())
                };
                let _ = timeout(ROLLBACK_TIME, finish).await;
                return Err(self.named(error));
            }
        };
        // A kept statement has been checked when it was prepared.
        if !matches!(self.phase, Phase::Ending(_)) && !state.is_in_transaction() {
            // The connection is closed, too.
            let reason = "it ended the transaction of the call".to_owned();
            return Err(Error::Forbidden { reason });
        }
        if self.on_success == OnSuccess::Commit {
            match timeout_at(self.deadline + COMMIT_TIME, self.commit()).await {
                Ok(Ok(())) => {}
                // The connection was lost before the answer.
                Ok(Err(Error::Unreachable(_))) => return Err(Error::Unconfirmed),
                Ok(Err(error)) => return Err(self.named(error)),
                Err(_) => return Err(Error::Unconfirmed),
            }
            // Functions that triggers call can change the session, too.
            self.note_sql_of_caller();
        }
        // The next call on the connection waits for the reply.
        if let Ok(Ok(ending)) = timeout(ROLLBACK_TIME, self.ending_reply()).await {
            if let Some((_, session)) = &mut self.leased {
                session.end_with(ending);
            }
            self.give_back();
        }
        Ok(value)
    }

    /// Commits, and resets a shared session in the same message: after it, another client may have the session.
    async fn commit(&mut self) -> Result<(), Error> {
        if !self.is_shared() {
            return self.batch("COMMIT").await.map(drop);
        }
        let mut reply =
            Reply::to(self.connection()?, &format!("COMMIT; {RESET}; {ENCODING}")).await?;
        reply.first().await?;
        self.phase = Phase::Ending(reply);
        Ok(())
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

    /// The error with the time limit of this call, and without what the rules may hide.
    fn named(&self, error: Error) -> Error {
        match error {
            Error::Timeout { .. } | Error::Cancelled => Error::Timeout { limit: self.timeout },
            other if self.rules().is_empty() => other,
            other => other.under_rules().with_names(&self.internal_names),
        }
    }

    /// Rolls the transaction back, if it is open, and resets the session. The reply may still be on the way.
    async fn ending_reply(&mut self) -> Result<Option<Reply>, Error> {
        let is_open = match mem::replace(&mut self.phase, Phase::Unknown) {
            Phase::Ending(reply) => return Ok(Some(reply)),
            Phase::Open { .. } => !self.connection()?.state.is_idle(),
            // The server sends the state after the error. If the beginning failed, it may not have been read.
            Phase::Beginning(_) | Phase::Unknown => true,
        };
        if self.is_shared() {
            return self.ending_of_shared(is_open).await;
        }
        let sql = match (is_open, self.must_reset()) {
            (true, true) => ROLLBACK_AND_RESET,
            (true, false) => "ROLLBACK",
            (false, true) => RESET,
            (false, false) => return Ok(None),
        };
        Reply::to(self.connection()?, sql).await.map(Some)
    }

    /// The end of a transaction in a session that another client gets afterwards. Only one message can reach it: the one
    /// that ends the transaction.
    async fn ending_of_shared(&self, is_open: bool) -> Result<Option<Reply>, Error> {
        // The connection is closed, and the pooler closes the session.
        if !is_open || self.afterwards == Afterwards::Close {
            return Ok(None);
        }
        // All else is restored by the rollback.
        let sql = match self.must_reset() {
            true => "ROLLBACK; SELECT pg_catalog.pg_advisory_unlock_all()",
            false => "ROLLBACK",
        };
        Reply::to(self.connection()?, sql).await.map(Some)
    }

    /// Returns the connection to the pool, unless a cancellation may still reach it. Then it is closed.
    fn give_back(&mut self) {
        if self.afterwards != Afterwards::Close
            && let Some((permit, session)) = self.leased.take()
        {
            self.pool.give_back(session);
            drop(permit);
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        let Some((permit, session)) = self.leased.take() else { return };
        if session.connection.client.is_closed() {
            return;
        }
        // A pooler closes the session of a lost client. Its statement ends at its timeout.
        let Some(canceller) = session.connection.canceller() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let pool = Arc::clone(&self.pool);
        // The task that drives the connection ends it when the statement has ended.
        drop(session);
        runtime.spawn(async move {
            canceller.cancel(&pool.address, ROLLBACK_TIME).await;
            drop(permit);
        });
    }
}
