use std::sync::Arc;
use std::time::Duration;

use trunkline_postgres::{Address, Outage, Sessions};

use crate::config::{Schema, StoreConfig};
use crate::error::StoreError;

/// The settings of a session, and the commands that begin its transactions.
#[derive(Clone)]
pub(super) struct Settings {
    pub(super) address: Arc<Address>,
    /// That of all sessions of the store.
    pub(super) outage: Arc<Outage>,
    pub(super) schema: Schema,
    pub(super) timeout: Duration,
    lock_wait: Duration,
    idle_wait: Duration,
}

/// Longer than any work, and within the range of the server's settings.
const MAX_TIMEOUT: Duration = Duration::from_secs(86_400);

impl Settings {
    pub(super) fn new(address: Arc<Address>, schema: Schema, config: &StoreConfig) -> Self {
        let timeout = config.timeout.min(MAX_TIMEOUT);
        let idle_wait = timeout + config.confirm_wait.min(MAX_TIMEOUT);
        let outage = Arc::new(Outage::new(format!("store {}", schema.name)));
        Self { address, outage, schema, timeout, lock_wait: config.lock_wait, idle_wait }
    }

    pub(super) fn newest_version(&self) -> u32 {
        u32::try_from(self.schema.postgres.len()).unwrap_or(u32::MAX)
    }

    /// The commands that begin a transaction, which does not depend on what other clients have left in the session.
    pub(super) fn begin(&self, mode: &str, sessions: Sessions) -> String {
        match sessions {
            Sessions::Own => format!("BEGIN {mode}; "),
            Sessions::Shared => format!("BEGIN {mode}; {}; ", self.address.fresh_session()),
        }
    }

    /// The commands that begin a transaction that no other one changes the store in. They return the version of the
    /// schema. Its row is the lock, so that no two transactions of writers are concurrent, and each statement sees the
    /// changes of the previous ones.
    pub(super) fn begin_write(&self, sessions: Sessions) -> String {
        format!(
            "{}SET LOCAL search_path TO trunkline; \
             SET LOCAL statement_timeout = {timeout}; SET LOCAL lock_timeout = {}; \
             SET LOCAL idle_in_transaction_session_timeout = {}; \
             SELECT version FROM store WHERE name = '{}' FOR UPDATE",
            self.begin("ISOLATION LEVEL READ COMMITTED READ WRITE", sessions),
            milliseconds(self.lock_wait),
            milliseconds(self.idle_wait),
            self.schema.name,
            timeout = milliseconds(self.timeout),
        )
    }

    pub(super) fn begin_read(&self, sessions: Sessions) -> String {
        format!(
            "{}SET LOCAL search_path TO trunkline; SET LOCAL statement_timeout = {};",
            self.begin("ISOLATION LEVEL REPEATABLE READ READ ONLY", sessions),
            milliseconds(self.timeout),
        )
    }

    /// Checks that no newer node has migrated the schema.
    pub(super) fn check_version(&self, version: Option<&str>) -> Result<(), StoreError> {
        if version.and_then(|version| version.parse().ok()) == Some(self.newest_version()) {
            return Ok(());
        }
        let reason = "another version of the server has changed the schema; update this one";
        Err(StoreError::Unavailable { reason: reason.to_owned(), source: None })
    }
}

/// At least 1, since 0 means no limit.
pub(super) fn milliseconds(time: Duration) -> u128 {
    time.as_millis().clamp(1, MAX_TIMEOUT.as_millis())
}
