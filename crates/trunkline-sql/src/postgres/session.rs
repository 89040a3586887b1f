use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::TryStreamExt;
use hashlink::LruCache;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Row, SimpleQueryMessage, SimpleQueryStream, Statement};
use trunkline_postgres::Connection;

use super::config::PostgresConfig;
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
}

/// The maximum length of the text of a kept statement. Longer ones are rarely repeated.
const MAX_SQL: usize = 8_192;

impl Session {
    pub(super) fn new(connection: Connection, config: &PostgresConfig) -> Self {
        // With a pooler, the next transaction may be in another session.
        let keeps_statements = config.statement_cache > 0 && !config.transaction_pooling;
        Self {
            connection,
            statements: LruCache::new(config.statement_cache),
            lookups: keeps_statements.then(Mutex::default),
            ending: None,
        }
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
    /// [`Error::Changing`] if it is not prepared any more. It is prepared again when the call is repeated.
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
                let statement = client.prepare_typed(sql, &types).await?;
                lock(lookups).insert(sql.into(), statement.clone());
                statement
            }
        };
        let values: Vec<&(dyn ToSql + Sync)> = params.iter().map(|(value, _)| *value).collect();
        match client.query(&statement, &values).await {
            // A function of the database can deallocate the statements of its session.
            Err(error) if error.code() == Some(&SqlState::INVALID_SQL_STATEMENT_NAME) => {
                lock(lookups).clear();
                Err(Error::Changing)
            }
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
