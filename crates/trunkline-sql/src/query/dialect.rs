use super::identifier::quote;
use crate::model::error::Error;
use crate::model::schema::{Dialect, Table};

impl Dialect {
    /// The parameter of this number, from 1.
    pub(crate) fn parameter(self, number: usize) -> String {
        match self {
            Self::Sqlite => format!("?{number}"),
            Self::Postgres => format!("${number}"),
        }
    }

    /// A column of the table of a statement. PostgreSQL's `ORDER BY` would prefer an output column of the same name.
    pub(crate) fn column(self, name: &str) -> String {
        match self {
            Self::Sqlite => quote(name),
            Self::Postgres => format!("t.{}", quote(name)),
        }
    }

    /// The equality of a column and a value, either of which can be NULL.
    pub(super) fn is(self, column: &str, parameter: &str) -> String {
        match self {
            Self::Sqlite => format!("{column} IS {parameter}"),
            Self::Postgres => format!("{column} IS NOT DISTINCT FROM {parameter}"),
        }
    }

    /// The match of a column with a pattern, without regard to case.
    pub(super) fn like(self, column: &str, parameter: &str) -> String {
        match self {
            Self::Sqlite => format!("{column} LIKE {parameter}"),
            Self::Postgres => format!("{column}::text ILIKE {parameter}"),
        }
    }

    /// A column as part of a row's key, in a form that can be sent back as a value.
    pub(super) fn key(self, name: &str) -> String {
        match self {
            Self::Sqlite => quote(name),
            Self::Postgres => format!("{}::text", self.column(name)),
        }
    }

    /// A term of `ORDER BY`. NULL is the smallest value, as in SQLite.
    pub(super) fn order(self, name: &str, desc: bool, is_nullable: bool) -> String {
        let column = self.column(name);
        let direction = if desc { " DESC" } else { "" };
        let nulls = match (self, is_nullable, desc) {
            (Self::Postgres, true, false) => " NULLS FIRST",
            (Self::Postgres, true, true) => " NULLS LAST",
            _ => "",
        };
        format!("{column}{direction}{nulls}")
    }
}

/// The maximum number of values of a statement of PostgreSQL.
const MAX_PARAMETERS: usize = 65_535;

impl Dialect {
    /// Refuses a statement with more values than the engine allows. SQLite reports that itself.
    pub(super) fn check_count(self, values: usize) -> Result<(), Error> {
        if self == Self::Sqlite || values <= MAX_PARAMETERS {
            return Ok(());
        }
        let reason = format!(
            "the statement would have {values} values, and PostgreSQL allows {MAX_PARAMETERS}; send several calls with \
             shorter lists"
        );
        Err(Error::argument("filters", reason))
    }
}

impl Table {
    /// The name in a statement, with its schema if that is not the default.
    pub(crate) fn quoted(&self) -> String {
        match &self.schema {
            Some(schema) => format!("{}.{}", quote(schema), quote(&self.name)),
            None => quote(&self.name),
        }
    }

    /// The name in `FROM`, `UPDATE` and `DELETE`, so that [`Dialect::column`] refers to it.
    pub(crate) fn source(&self) -> String {
        match self.dialect {
            Dialect::Sqlite => self.quoted(),
            Dialect::Postgres => format!("{} AS t", self.quoted()),
        }
    }
}
