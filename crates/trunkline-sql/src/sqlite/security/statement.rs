use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::{Batch, Connection, ErrorCode, Statement};

use super::limits::SQL_LENGTH;
use super::role::Role;
use crate::model::error::Error;

/// Compiles SQL text with exactly one statement, which must be a reading one for a reader.
///
/// Uses `Batch`, which compiles one statement at a time. `Connection::prepare` checks for a second statement by
/// recursion on the rest of the text, so that 99 KB of `SELECT 1;` overflow the stack and abort the process.
pub(crate) fn prepare_single<'c>(
    connection: &'c Connection,
    role: &Role,
    sql: &str,
) -> Result<Statement<'c>, Error> {
    if sql.len() > SQL_LENGTH {
        return Err(Error::OverLimit {
            message: format!("the SQL text has {} bytes, the maximum is {SQL_LENGTH}", sql.len()),
        });
    }
    // SQLite stops at a NUL and ignores the text after it.
    if let Some(offset) = sql.find('\0') {
        return Err(Error::NulInSql { offset });
    }
    let compile = || only_one(connection, role, sql);
    let statement = match role {
        Role::Reader(_) => compile()?,
        Role::Writer(writer_state) => writer_state.while_compiling(compile)?,
    };
    if matches!(role, Role::Reader(_)) && !statement.readonly() {
        return Err(Error::Forbidden { reason: "it changes the database".to_owned() });
    }
    Ok(statement)
}

fn only_one<'c>(
    connection: &'c Connection,
    role: &Role,
    sql: &str,
) -> Result<Statement<'c>, Error> {
    let mut statements = Batch::new(connection, sql);
    let statement = statements.next().map_err(|error| forbidden(role, error))?;
    let statement = statement.ok_or(Error::NoStatement)?;
    // Trailing text that does not compile counts as a second statement.
    if !matches!(statements.next(), Ok(None)) {
        return Err(Error::MultipleStatements);
    }
    Ok(statement)
}

/// Adds a reason to the authorizer's refusals.
fn forbidden(role: &Role, error: rusqlite::Error) -> Error {
    if error.sqlite_error_code() != Some(ErrorCode::AuthorizationForStatementDenied) {
        return error.into();
    }
    let reason = match role {
        Role::Reader(_) => "only statements that read or describe tables are permitted",
        Role::Writer(_) => {
            "only statements that read or change the rows and the schema of this database are permitted"
        }
    };
    Error::Forbidden { reason: reason.to_owned() }
}
