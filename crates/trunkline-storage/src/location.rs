use std::fmt;
use std::path::{Path, PathBuf};

/// The place of a store.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Location {
    /// An SQLite file in this directory.
    Directory(PathBuf),
    /// The schema `trunkline` of a PostgreSQL database.
    #[cfg(feature = "postgres")]
    Postgres(PostgresLocation),
}

impl From<&Path> for Location {
    fn from(directory: &Path) -> Self {
        Self::Directory(directory.to_owned())
    }
}

impl From<&PathBuf> for Location {
    fn from(directory: &PathBuf) -> Self {
        Self::Directory(directory.clone())
    }
}

impl From<PathBuf> for Location {
    fn from(directory: PathBuf) -> Self {
        Self::Directory(directory)
    }
}

/// The directory, or the hosts and the database without the user.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(directory) => write!(f, "{}", directory.display()),
            #[cfg(feature = "postgres")]
            Self::Postgres(location) => write!(f, "{}", location.address),
        }
    }
}

/// A PostgreSQL database, which several processes may use.
#[cfg(feature = "postgres")]
#[derive(Debug, Clone)]
pub struct PostgresLocation {
    pub(crate) address: std::sync::Arc<trunkline_postgres::Address>,
}

#[cfg(feature = "postgres")]
impl Location {
    /// The database of a URL: `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=MODE&sslrootcert=FILE`. Missing parts
    /// come from the environment variables of PostgreSQL, such as `PGHOST`, and its password file.
    ///
    /// # Errors
    /// If the URL, a variable, the password file or the file of certificates is invalid.
    pub fn postgres(url: &str) -> Result<Self, trunkline_postgres::ConnectError> {
        Self::of_url(&url.parse()?)
    }

    /// [`postgres`](Self::postgres) with a parsed URL.
    ///
    /// # Errors
    /// If a variable, the password file or the file of certificates is invalid.
    pub fn of_url(
        url: &trunkline_postgres::PostgresUrl,
    ) -> Result<Self, trunkline_postgres::ConnectError> {
        let variable = |name: &str| std::env::var(name).ok();
        let address = trunkline_postgres::Address::new(url, None, variable)?;
        Ok(Self::Postgres(PostgresLocation { address: std::sync::Arc::new(address) }))
    }
}
