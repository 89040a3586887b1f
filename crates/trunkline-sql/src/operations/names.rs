use trunkline::layers::audit::DatabaseOperation;
use trunkline::{Operation, Schema};

use super::selection;
use crate::databases::{DatabaseName, Databases};

/// The names under which databases are addressed.
pub(super) enum Names<'d> {
    /// One database, whose name occurs only in URIs and in the audit log.
    Single(&'d DatabaseName),
    /// Several, which the argument `database` selects.
    Selected(&'d Databases),
    /// One of several, whose name is the prefix of its tools.
    Prefixed(&'d DatabaseName),
}

impl<'d> Names<'d> {
    pub(super) fn of_single(databases: &'d Databases) -> Self {
        let (name, _) = databases.iter().next().expect("there is at least one database");
        Self::Single(name)
    }

    pub(super) fn are_selected(&self) -> bool {
        matches!(self, Self::Selected(_))
    }

    /// The database of calls that name none.
    fn default(&self) -> &str {
        match self {
            Self::Single(name) | Self::Prefixed(name) => name.as_str(),
            Self::Selected(databases) => {
                databases.iter().next().map_or("", |(name, _)| name.as_str())
            }
        }
    }

    /// Names the database of the calls of an operation.
    pub(super) fn on_database<S>(&self, operation: Operation<S>) -> Operation<S> {
        match self {
            Self::Single(name) | Self::Prefixed(name) => operation.database(name.as_str()),
            Self::Selected(_) => operation.default_database(self.default()),
        }
    }

    pub(super) fn schema(&self, schema: Schema) -> Schema {
        match self {
            Self::Selected(databases) => selection::with_database(&schema, databases),
            Self::Single(_) | Self::Prefixed(_) => schema,
        }
    }

    /// The name of a tool or a prompt.
    pub(super) fn tool(&self, name: &str) -> String {
        match self {
            Self::Prefixed(database) => format!("{database}_{name}"),
            Self::Single(_) | Self::Selected(_) => name.to_owned(),
        }
    }

    /// The beginning of the URIs of a database.
    #[cfg(feature = "mcp")]
    pub(super) fn uri(&self) -> String {
        match self {
            Self::Single(name) | Self::Prefixed(name) => format!("db://{name}"),
            Self::Selected(_) => "db://{database}".to_owned(),
        }
    }
}
