use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};

use futures_util::TryStreamExt;
use hashlink::LruCache;
use tokio_postgres::{SimpleQueryMessage, SimpleQueryStream, Statement};
use trunkline_postgres::Connection;

use crate::model::error::Error;

/// A connection with the statements that were prepared on it.
pub(super) struct Session {
    pub(super) connection: Connection,
    /// Reading statements of callers by their text, and those of pages by a name that contains it. Each has run once to
    /// its end within its transaction. Dropped after the connection, so that they are not closed one by one.
    statements: LruCache<Box<str>, Statement>,
    /// Queries of our own on the catalogs, by their text. There are few.
    lookups: Mutex<HashMap<Box<str>, Statement>>,
    /// The reply to the end of the last transaction.
    ending: Option<Reply>,
}

/// The maximum length of the text of a kept statement. Longer ones are rarely repeated.
const MAX_SQL: usize = 8_192;

impl Session {
    pub(super) fn new(connection: Connection, statement_cache: usize) -> Self {
        let statements = LruCache::new(statement_cache);
        Self { connection, statements, lookups: Mutex::default(), ending: None }
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

    /// A query on the catalogs that was kept.
    pub(super) fn lookup(&self, sql: &str) -> Option<Statement> {
        self.lookups.lock().unwrap_or_else(PoisonError::into_inner).get(sql).cloned()
    }

    pub(super) fn keep_lookup(&self, sql: &str, statement: Statement) {
        self.lookups.lock().unwrap_or_else(PoisonError::into_inner).insert(sql.into(), statement);
    }

    pub(super) fn forget_lookups(&self) {
        self.lookups.lock().unwrap_or_else(PoisonError::into_inner).clear();
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
