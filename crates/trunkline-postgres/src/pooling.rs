//! Connection poolers between this process and the server.

use std::fmt;
use std::str::FromStr;

/// The sessions of the server in which the transactions of a connection run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pooling {
    /// Determined when a connection is opened: a pooler reports another process than the one that runs the statements.
    /// Behind a pooler, sessions count as shared.
    #[default]
    Detect,
    /// The sessions are shared: each transaction may be in another one, as with a pooler in transaction mode.
    Transaction,
    /// A session belongs to its connection: the connection is direct, or the pooler is in session mode.
    Session,
}

impl From<bool> for Pooling {
    /// The setting `transaction_pooling`.
    fn from(is_transaction: bool) -> Self {
        if is_transaction { Self::Transaction } else { Self::Session }
    }
}

impl FromStr for Pooling {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<bool>().map(Self::from).map_err(|_| "expected true or false")
    }
}

/// The result of [`Pooling`] for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sessions {
    /// The session belongs to the connection, until one of them ends.
    Own,
    /// Each transaction may be in another session, which other clients use before and after it.
    Shared,
}

impl fmt::Display for Sessions {
    /// The result, and what follows from it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Own => "each connection has its own session",
            Self::Shared => {
                "a connection pooler shares sessions: no statement is kept prepared, and statements of lost clients end at \
                 their timeout; `transaction_pooling = false` states that the pooler is in session mode"
            }
        })
    }
}
