use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::TryStreamExt;
use hashlink::LruCache;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Row, SimpleQueryMessage, SimpleQueryStream, Statement};
use trunkline_postgres::{Address, Connection, Sessions};

use super::config::PostgresConfig;
use super::error::is_raised;
use crate::model::error::Error;

/// A connection with the statements that were prepared on it.
pub(super) struct Session {
    pub(super) connection: Connection,
    /// Reading statements of callers by their text, and those of pages by a name that contains it. Each has run once to
    /// its end within its transaction. Dropped after the connection, so that they are not closed one by one.
    statements: LruCache<Box<str>, Statement>,
    /// Queries of our own on the catalogs, by their text. There are few. None if no statement is kept prepared.
    lookups: Option<Mutex<HashMap<Box<str>, Statement>>>,
    /// The reply to the end of the last transaction.
    ending: Option<Reply>,
    /// Whether a prepared statement was missing.
    has_lost_statement: AtomicBool,
    address: Arc<Address>,
}

/// The maximum length of the text of a kept statement. Longer ones are rarely repeated.
const MAX_SQL: usize = 8_192;

impl Session {
    pub(super) fn new(
        connection: Connection,
        config: &PostgresConfig,
        address: Arc<Address>,
    ) -> Self {
        // In a shared session, the next transaction may be in another one.
        let keeps_statements = config.statement_cache > 0 && connection.sessions == Sessions::Own;
        Self {
            connection,
            statements: LruCache::new(config.statement_cache),
            lookups: keeps_statements.then(Mutex::default),
            ending: None,
            has_lost_statement: AtomicBool::new(false),
            address,
        }
    }

    /// Whether the sessions of the server are shared with other clients.
    pub(super) fn is_shared(&self) -> bool {
        self.connection.sessions == Sessions::Shared
    }

    /// Whether the connection can be used for another call.
    pub(super) fn can_be_kept(&self) -> bool {
        !self.has_lost_statement.load(Ordering::Relaxed) && !self.connection.client.is_closed()
    }

    /// Prepares a statement. The driver looks up types of the database with statements that it keeps prepared.
    ///
    /// # Errors
    ///
    /// [`Error::Changing`] if one of these is missing. The call works on another connection.
    pub(super) async fn prepare(
        &self,
        sql: &str,
        types: &[Type],
    ) -> Result<Result<Statement, tokio_postgres::Error>, Error> {
        match self.connection.client.prepare_typed(sql, types).await {
            Err(error) if self.note_lost_statement(&error) => Err(Error::Changing),
            prepared => Ok(prepared),
        }
    }

    /// Whether an error means that a prepared statement is missing in the session. The connection is not used for further
    /// calls then.
    ///
    /// Either a function of the database has deallocated the statements of its session, or a pooler that was not noticed
    /// when the connection was opened shares it.
    pub(super) fn note_lost_statement(&self, error: &tokio_postgres::Error) -> bool {
        let is_lost = error.code() == Some(&SqlState::INVALID_SQL_STATEMENT_NAME)
            && !error.as_db_error().is_some_and(is_raised);
        if is_lost {
            self.has_lost_statement.store(true, Ordering::Relaxed);
            self.address.note_lost_statement();
        }
        is_lost
    }

    /// A statement that was kept.
    pub(super) fn statement(&mut self, sql: &str) -> Option<Statement> {
        self.statements.get(sql).cloned()
    }

    pub(super) fn keep_statement(&mut self, sql: &str, statement: Statement) {
        if sql.len() <= MAX_SQL {
            self.statements.insert(sql.into(), statement);
        }
    }

    pub(super) fn forget_statement(&mut self, sql: &str) {
        self.statements.remove(sql);
    }

    /// Runs a query of our own on the catalogs, and keeps it prepared if it can: planning it takes longer than running
    /// it.
    ///
    /// # Errors
    ///
    /// [`Error::Changing`] if it is not prepared any more. The call works on another connection.
    pub(super) async fn look_up(
        &self,
        sql: &str,
        params: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Vec<Row>, Error> {
        let client = &self.connection.client;
        let Some(lookups) = &self.lookups else {
            return Ok(client.query_typed(sql, params).await?);
        };
        let kept = lock(lookups).get(sql).cloned();
        let statement = match kept {
            Some(statement) => statement,
            None => {
                let types: Vec<Type> = params.iter().map(|(_, kind)| kind.clone()).collect();
                let statement = self.prepare(sql, &types).await??;
                lock(lookups).insert(sql.into(), statement.clone());
                statement
            }
        };
        let values: Vec<&(dyn ToSql + Sync)> = params.iter().map(|(value, _)| *value).collect();
        match client.query(&statement, &values).await {
            Err(error) if self.note_lost_statement(&error) => Err(Error::Changing),
            found => Ok(found?),
        }
    }

    /// Sets the reply that the next transaction waits for.
    pub(super) fn end_with(&mut self, ending: Option<Reply>) {
        self.ending = ending;
    }

    /// Waits for the end of the last transaction, and returns whether the session can be used for another one.
    pub(super) async fn settle(&mut self) -> bool {
        let ended = match self.ending.take() {
            Some(reply) => reply.number().await.is_ok(),
            None => true,
        };
        ended && self.connection.is_usable()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The reply to statements of our own, which have been sent.
pub(super) struct Reply(Pin<Box<SimpleQueryStream>>);

impl Reply {
    /// Sends statements, and does not wait for the reply.
    pub(super) async fn to(connection: &Connection, sql: &str) -> Result<Self, Error> {
        Ok(Self(Box::pin(connection.client.simple_query_raw(sql).await?)))
    }

    /// Waits for the end of the first statement.
    pub(super) async fn first(&mut self) -> Result<(), Error> {
        while let Some(message) = self.0.try_next().await? {
            if let SimpleQueryMessage::CommandComplete(_) = message {
                break;
            }
        }
        Ok(())
    }

    /// Waits for the end of the reply, and returns the last number in the results.
    pub(super) async fn number(mut self) -> Result<u64, Error> {
        let mut last = 0;
        while let Some(message) = self.0.try_next().await? {
            if let SimpleQueryMessage::Row(row) = message
                && let Some(number) = row.get(0).and_then(|text| text.parse().ok())
            {
                last = number;
            }
        }
        Ok(last)
    }
}
