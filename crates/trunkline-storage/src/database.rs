use crate::config::{Schema, StoreConfig};
use crate::connection::Connection;
use crate::error::{OpenError, StoreError};
use crate::location::Location;
#[cfg(feature = "postgres")]
use crate::postgres::Server;
use crate::sqlite::File;

/// The database of a store.
pub(crate) enum Database {
    File(File),
    #[cfg(feature = "postgres")]
    Server(Server),
}

impl Database {
    pub(crate) fn new(location: Location, schema: Schema, config: &StoreConfig) -> Self {
        match location {
            Location::Directory(directory) => Self::File(File::new(&directory, schema, config)),
            #[cfg(feature = "postgres")]
            Location::Postgres(location) => Self::Server(Server::new(location, schema, config)),
        }
    }

    pub(crate) fn schema(&self) -> &Schema {
        match self {
            Self::File(file) => file.schema(),
            #[cfg(feature = "postgres")]
            Self::Server(server) => server.schema(),
        }
    }

    /// Whether the database can be opened without creating it. That of a server exists.
    pub(crate) fn exists(&self) -> bool {
        match self {
            Self::File(file) => file.exists(),
            #[cfg(feature = "postgres")]
            Self::Server(_) => true,
        }
    }

    /// Checks that a missing database can probably be created, without creating it.
    pub(crate) fn check_creation(&self) -> Result<(), OpenError> {
        match self {
            Self::File(file) => file.check_creation(),
            #[cfg(feature = "postgres")]
            Self::Server(_) => Ok(()),
        }
    }

    /// Creates the database if it is missing, and migrates the schema. The connection to a file is left open.
    pub(crate) fn open(&self) -> Result<Option<rusqlite::Connection>, OpenError> {
        match self {
            Self::File(file) => file.open().map(Some),
            #[cfg(feature = "postgres")]
            Self::Server(server) => server.open().map(|()| None),
        }
    }

    pub(crate) fn connect_for_writing(&self) -> Result<Connection, StoreError> {
        match self {
            Self::File(file) => Ok(file.connect_for_writing()?.into()),
            #[cfg(feature = "postgres")]
            Self::Server(server) => Ok(server.connect()?.into()),
        }
    }

    pub(crate) fn connect_for_reading(&self) -> Result<Connection, StoreError> {
        match self {
            Self::File(file) => Ok(file.connect_for_reading()?.into()),
            #[cfg(feature = "postgres")]
            Self::Server(server) => Ok(server.connect()?.into()),
        }
    }

    /// The size of the log of SQLite in bytes above which it is emptied.
    pub(crate) fn max_log_bytes(&self) -> u64 {
        match self {
            Self::File(file) => file.max_log_bytes,
            #[cfg(feature = "postgres")]
            Self::Server(_) => u64::MAX,
        }
    }

    /// Empties the log of SQLite if it has more than `limit` bytes, and returns the next limit.
    pub(crate) fn shorten_log(&self, connection: &Connection, limit: u64) -> u64 {
        match (self, connection.as_sqlite()) {
            (Self::File(file), Some(connection)) => file.shorten_log(connection, limit),
            _ => limit,
        }
    }
}
