mod definition;
mod literal;
mod tokens;

use std::collections::HashSet;

use super::identifier::quote;
use crate::model::create_table::{CreateTable, PrimaryKey};
use crate::model::error::Error;
use crate::model::import::is_checkpoint_table;
use crate::model::schema::Dialect;
use crate::model::visibility::VisibilityRules;
use definition::Definition;

/// The `CREATE TABLE` statement of a table with this name, in this schema. No text of the caller is copied into it: names are
/// quoted, and types and defaults are parsed and rendered again.
pub(crate) fn create_table(
    request: &CreateTable,
    dialect: Dialect,
    schema: Option<&str>,
    name: &str,
) -> Result<String, Error> {
    for name in schema.into_iter().chain([name]) {
        check_name(name, dialect).map_err(|reason| Error::argument("table_name", reason))?;
    }
    let names = schema.into_iter().chain([name]).map(quote);
    let table = names.collect::<Vec<_>>().join(".");
    let count = request.schema.0.len();
    dialect.check_names("schema", count)?;
    let mut columns = Vec::with_capacity(count);
    let mut known = HashSet::with_capacity(count);
    for (name, spec) in &request.schema.0 {
        let bad = |reason: String| bad_column(name, reason);
        // Names that are reserved for tables are allowed for columns.
        if name.is_empty() || name.contains('\0') {
            return Err(bad("the name is empty or contains a NUL character".to_owned()));
        }
        if dialect == Dialect::Postgres && name.len() > MAX_NAME {
            return Err(bad(TOO_LONG.to_owned()));
        }
        if !known.insert(name.to_ascii_lowercase()) {
            return Err(bad("duplicate column; case is ignored".to_owned()));
        }
        columns.push((name.as_str(), Definition::of(spec, dialect).map_err(bad)?));
    }
    if columns.is_empty() {
        return Err(Error::argument("schema", "it is empty; a table requires at least one column"));
    }
    let key = primary_key(&columns, request.primary_key.as_ref())?;
    let mut parts = Vec::with_capacity(columns.len() + 1);
    for (name, definition) in &columns {
        let is_key = matches!(key.as_slice(), [one] if one == name);
        if definition.autoincrement && !(is_key && definition.is_integer()) {
            let reason = "AUTOINCREMENT requires a primary key of one column of type INTEGER";
            return Err(bad_column(name, reason.to_owned()));
        }
        parts.push(format!("{} {}", quote(name), definition.sql(dialect, is_key)));
    }
    if key.len() > 1 {
        let key: Vec<String> = key.iter().map(|name| quote(name)).collect();
        parts.push(format!("PRIMARY KEY ({})", key.join(", ")));
    }
    Ok(format!("CREATE TABLE {table} ({})", parts.join(", ")))
}

/// Refuses a name that the rules hide, whether there is such a table or not, and that of the table of checkpoints.
pub(crate) fn check_visible(
    rules: &VisibilityRules,
    schema: Option<&str>,
    name: &str,
) -> Result<(), Error> {
    if rules.is_visible(schema, name) && !is_checkpoint_table(name) {
        return Ok(());
    }
    Err(Error::argument("table_name", "the server does not allow a table of this name"))
}

/// Maximum length of a name in PostgreSQL, in bytes. It truncates longer ones.
const MAX_NAME: usize = 63;

const TOO_LONG: &str = "the name has more than 63 bytes";

/// Refuses names that the engine does not allow. All others are quoted.
fn check_name(name: &str, dialect: Dialect) -> Result<(), &'static str> {
    const RESERVED: &str = "sqlite_";
    match name.get(..RESERVED.len()) {
        _ if name.is_empty() => Err("the name is empty"),
        _ if name.contains('\0') => Err("the name contains a NUL character"),
        _ if dialect == Dialect::Postgres => {
            if name.len() > MAX_NAME {
                Err(TOO_LONG)
            } else {
                Ok(())
            }
        }
        Some(prefix) if prefix.eq_ignore_ascii_case(RESERVED) => {
            Err("names that begin with \"sqlite_\" are reserved")
        }
        _ => Ok(()),
    }
}

/// The columns of the key, from the definitions or from the argument.
fn primary_key<'c>(
    columns: &[(&'c str, Definition)],
    argument: Option<&PrimaryKey>,
) -> Result<Vec<&'c str>, Error> {
    let marked: Vec<&str> =
        columns.iter().filter(|(_, d)| d.primary_key).map(|(name, _)| *name).collect();
    let named = match argument {
        None => {
            return match marked.as_slice() {
                [] | [_] => Ok(marked),
                [_, second, ..] => Err(bad_column(
                    second,
                    "a second column with PRIMARY KEY; list the columns of a composite key in \
                     \"primary_key\""
                        .to_owned(),
                )),
            };
        }
        Some(PrimaryKey::Column(name)) => std::slice::from_ref(name),
        Some(PrimaryKey::Columns(names)) => names,
    };
    let bad = |reason: String| Error::argument("primary_key", reason);
    let mut key: Vec<&str> = Vec::with_capacity(named.len());
    for name in named {
        let column = columns.iter().find(|(column, _)| column.eq_ignore_ascii_case(name));
        match column {
            None => return Err(bad(format!("unknown column `{name}`"))),
            Some((column, _)) if key.contains(column) => {
                return Err(bad(format!("duplicate column `{column}`")));
            }
            Some((column, _)) => key.push(column),
        }
    }
    if key.is_empty() {
        return Err(bad("the list is empty; omit it for a table without a key".to_owned()));
    }
    if !marked.is_empty() && marked != key {
        return Err(bad("\"schema\" declares another primary key; declare it once".to_owned()));
    }
    Ok(key)
}

fn bad_column(column: &str, reason: String) -> Error {
    Error::BadColumn { argument: "schema", column: column.to_owned(), reason }
}
