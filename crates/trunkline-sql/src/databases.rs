use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::backend::Backend;
use crate::database::Database;
use crate::model::error::Error;

/// The databases of a service, by name. There is at least one; the first is the default.
#[derive(Clone, Debug)]
pub struct Databases {
    entries: Arc<[(DatabaseName, Database)]>,
    toolset: Toolset,
}

/// The operations that lists of tools contain. All operations can be called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Toolset {
    /// Listing, describing, reading and changing tables, SQL, and the list of several databases.
    #[default]
    Core,
    /// Also `search_schema`, `explain_query`, `profile_table` and `database_health`.
    Full,
}

/// The reason why databases cannot be served together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatabasesError {
    /// The list of databases is empty.
    #[error("at least one database is required")]
    Empty,
    /// Two databases have the same name. Case is ignored.
    #[error("duplicate database name `{0}`")]
    Duplicate(DatabaseName),
}

impl Databases {
    /// Databases with their names, the default one first.
    ///
    /// # Errors
    ///
    /// See [`DatabasesError`].
    pub fn new(
        databases: impl IntoIterator<Item = (DatabaseName, Database)>,
    ) -> Result<Self, DatabasesError> {
        let entries: Vec<_> = databases.into_iter().collect();
        if entries.is_empty() {
            return Err(DatabasesError::Empty);
        }
        for (index, (name, _)) in entries.iter().enumerate() {
            if entries[..index].iter().any(|(other, _)| other.is(name.as_str())) {
                return Err(DatabasesError::Duplicate(name.clone()));
            }
        }
        Ok(Self { entries: entries.into(), toolset: Toolset::Core })
    }

    /// The same databases with another toolset.
    #[must_use]
    pub fn with_toolset(mut self, toolset: Toolset) -> Self {
        self.toolset = toolset;
        self
    }

    /// The operations that lists of tools contain.
    pub fn toolset(&self) -> Toolset {
        self.toolset
    }

    /// The names and databases, the default one first.
    pub fn iter(&self) -> impl Iterator<Item = (&DatabaseName, &Database)> {
        self.entries.iter().map(|(name, database)| (name, database))
    }

    /// The default database.
    pub fn first(&self) -> &Database {
        let [(_, database), ..] = &*self.entries else { unreachable!("there is at least one") };
        database
    }

    /// Whether there are several databases.
    pub fn are_several(&self) -> bool {
        self.entries.len() > 1
    }

    /// Whether callers may change one of them.
    pub fn is_any_writable(&self) -> bool {
        self.entries.iter().any(|(_, database)| database.is_writable())
    }

    /// The database of this name, or the default one. Case is ignored.
    ///
    /// # Errors
    ///
    /// [`Error::BadArgument`] if the name is unknown.
    pub fn get(&self, name: Option<&str>) -> Result<&Database, Error> {
        self.entry(name).map(|(_, database)| database)
    }

    /// The same, with its name.
    pub(crate) fn entry(&self, name: Option<&str>) -> Result<(&DatabaseName, &Database), Error> {
        let found = match name {
            Some(name) => self.iter().find(|(known, _)| known.is(name)),
            None => self.iter().next(),
        };
        found.ok_or_else(|| {
            let name = name.unwrap_or_default();
            let known: Vec<_> = self.iter().map(|(name, _)| format!("`{name}`")).collect();
            let name = name.escape_debug();
            Error::argument(
                "database",
                format!("unknown database `{name}`; the databases are {}", known.join(", ")),
            )
        })
    }

    /// The first problem of a database, with its name if there are several.
    pub fn problem(&self) -> Option<String> {
        self.iter().find_map(|(name, database)| {
            let problem = database.problem()?;
            Some(if self.are_several() { format!("{name}: {problem}") } else { problem })
        })
    }

    /// [`Database::check_for_changes`] of all databases.
    pub fn check_for_changes(&self) {
        self.iter().for_each(|(_, database)| database.check_for_changes());
    }

    /// Closes all databases, and returns whether that took at most `patience`. Blocks.
    pub fn close(&self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        let close = |(_, database): (_, &Database)| {
            database.close(until.saturating_duration_since(Instant::now()))
        };
        self.iter().map(close).fold(true, |are_closed, is_closed| are_closed & is_closed)
    }
}

/// One database, with the name `main`.
impl From<Database> for Databases {
    fn from(database: Database) -> Self {
        let entries = Arc::new([(DatabaseName("main".into()), database)]);
        Self { entries, toolset: Toolset::default() }
    }
}

impl<B: Backend> From<B> for Databases {
    fn from(backend: B) -> Self {
        Database::from(backend).into()
    }
}

/// The name of a database: 1 to 32 letters, digits, `-` or `_`, of ASCII, that begin with a letter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DatabaseName(Box<str>);

/// The text is not a valid [`DatabaseName`].
#[derive(Debug, thiserror::Error)]
#[error("a name has 1 to 32 letters, digits, `-` or `_`, and begins with a letter")]
#[non_exhaustive]
pub struct DatabaseNameError;

impl DatabaseName {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn is(&self, name: &str) -> bool {
        self.0.eq_ignore_ascii_case(name)
    }
}

impl FromStr for DatabaseName {
    type Err = DatabaseNameError;

    fn from_str(text: &str) -> Result<Self, DatabaseNameError> {
        const MAX_LENGTH: usize = 32;
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let is_valid = text.len() <= MAX_LENGTH
            && text.starts_with(|first: char| first.is_ascii_alphabetic())
            && text.bytes().all(is_allowed);
        if is_valid { Ok(Self(text.into())) } else { Err(DatabaseNameError) }
    }
}

impl fmt::Display for DatabaseName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
