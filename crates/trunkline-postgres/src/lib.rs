//! Connections to PostgreSQL, for the crates of trunkline that use a server.
//!
//! An [`Address`] is a [`PostgresUrl`], completed by the environment variables and the password file of PostgreSQL.
//! A [`Connection`] is a client of tokio-postgres on a stream with TLS in the modes of PostgreSQL, whose messages have
//! a maximum size. It knows whether a connection pooler shares the sessions of the server.

#![forbid(unsafe_code)]

mod address;
mod channel_binding;
mod connect;
mod credentials;
mod error;
mod keywords;
mod outage;
mod pgpass;
mod pooling;
mod statements;
mod stream;
mod target;
mod tls;
mod url;

pub use address::Address;
pub use connect::{Canceller, ConnectLimits, Connection};
pub use error::{ConnectError, is_connection_lost};
pub use outage::Outage;
pub use pooling::{Pooling, Sessions};
pub use stream::SessionState;
pub use url::PostgresUrl;
