use std::collections::HashSet;
use std::time::Instant;

use super::describe_table::{foreign_keys, indexes};
use crate::model::error::Error;
use crate::model::health::{
    CheckHealth, DatabaseHealth, HealthProblem, MAX_PROBLEMS, SqliteHealth, unindexed_foreign_key,
};
use crate::sqlite::file_check::{self, CheckedFile, Pragma};
use crate::sqlite::schema::{self, unless_interrupted};
use crate::sqlite::security::without_authorizer;
use crate::sqlite::session::Session;

/// The part of the timeout for the check of the file, in percent.
const CHECK_TIME: u32 = 70;

/// A log of this size is unusual: SQLite writes it back to the file from 4 MB.
const LARGE_WAL: u64 = 64 << 20;

pub(crate) fn database_health(
    session: &mut Session<'_>,
    _: &CheckHealth,
) -> Result<DatabaseHealth, Error> {
    let started = Instant::now();
    let page_size = pragma(session, "page_size")?;
    let pages = pragma(session, "page_count")?;
    let free_pages = pragma(session, "freelist_count")?;
    let wal_bytes = session.file().wal_size();
    // The check of the file reports why a table cannot be read.
    let mut problems = unindexed_foreign_keys(session).or_else(unless_interrupted)?;
    if free_pages > 1_000 && free_pages > pages / 4 {
        problems.push(HealthProblem {
            kind: "free_pages",
            table: None,
            problem: format!("{free_pages} of {pages} pages are unused"),
            remedy: "VACUUM, with a program that may write the file".to_owned(),
        });
    }
    if wal_bytes > LARGE_WAL {
        problems.push(HealthProblem {
            kind: "large_wal",
            table: None,
            problem: format!("the write-ahead log has {wal_bytes} bytes"),
            remedy: "end long-running readers, which prevent that SQLite reuses the log".to_owned(),
        });
    }
    // Last, since it takes the remaining time.
    let until = started + session.config().limits.timeout * CHECK_TIME / 100;
    let quick_check = match check(session, until)? {
        None => "unfinished",
        Some(CheckedFile { errors, unchecked }) => {
            problems.splice(0..0, unchecked_tables(session, unchecked)?);
            if errors.is_empty() {
                "ok"
            } else {
                problems.insert(0, corrupt(errors.len()));
                "failed"
            }
        }
    };
    problems.truncate(MAX_PROBLEMS);
    let sqlite = SqliteHealth { page_size, pages, free_pages, wal_bytes, quick_check };
    Ok(DatabaseHealth {
        engine: "SQLite",
        version: rusqlite::version().to_owned(),
        size_bytes: page_size * pages,
        problems,
        sqlite: Some(sqlite),
        postgres: None,
    })
}

fn pragma(session: &mut Session<'_>, name: &str) -> Result<u64, Error> {
    let found: Vec<i64> = session.rows(&format!("PRAGMA {name}"), &[], |row| row.get(0))?;
    Ok(found.first().copied().unwrap_or_default().unsigned_abs())
}

/// The messages of the check name tables, which the caller may not see.
fn corrupt(errors: usize) -> HealthProblem {
    HealthProblem {
        kind: "corrupt",
        table: None,
        problem: format!("PRAGMA quick_check reports {errors} errors (10 at most)"),
        remedy: "restore a backup, or recover the content: sqlite3 FILE .recover".to_owned(),
    }
}

/// The tables that this program cannot check, without those that the caller does not see.
fn unchecked_tables(
    session: &mut Session<'_>,
    unchecked: Vec<(String, String)>,
) -> Result<Vec<HealthProblem>, Error> {
    if unchecked.is_empty() {
        return Ok(Vec::new());
    }
    let listed = schema::listed_tables(session)?;
    let is_listed = |name: &String| listed.iter().any(|(listed, ..)| listed == name);
    let problem = |(table, reason): (String, String)| HealthProblem {
        kind: "unchecked",
        table: Some(table),
        problem: format!("the table cannot be checked: {reason}"),
        remedy: "run PRAGMA quick_check with the program that created the table".to_owned(),
    };
    Ok(unchecked.into_iter().filter(|(name, _)| is_listed(name)).map(problem).collect())
}

/// The result of the check of the file, or none if the time was not sufficient.
fn check(session: &Session<'_>, until: Instant) -> Result<Option<CheckedFile>, Error> {
    /// Operations of SQLite's virtual machine between two checks of the time.
    const OPERATIONS: i32 = 1_000;
    /// Maximum number of errors.
    const ERRORS: usize = 10;
    let connection = session.connection();
    // In place of that of the call, which is set for each call. A cancelled call is interrupted.
    connection.progress_handler(OPERATIONS, Some(move || Instant::now() >= until))?;
    let checked = without_authorizer(connection, session.role(), || {
        Ok(file_check::check(connection, Pragma::Quick, ERRORS)?)
    });
    match checked {
        Ok(checked) => Ok(Some(checked)),
        Err(Error::Cancelled) if Instant::now() >= until => Ok(None),
        // The schema is corrupt, so the check cannot begin.
        Err(Error::Failure(error)) => {
            Ok(Some(CheckedFile { errors: vec![error.to_string()], ..CheckedFile::default() }))
        }
        Err(error) => Err(error),
    }
}

fn unindexed_foreign_keys(session: &mut Session<'_>) -> Result<Vec<HealthProblem>, Error> {
    let mut problems = Vec::new();
    for (name, ..) in schema::listed_tables(session)? {
        if problems.len() >= MAX_PROBLEMS {
            break;
        }
        problems.extend(of_table(session, &name).or_else(unless_interrupted)?);
    }
    Ok(problems)
}

fn of_table(session: &mut Session<'_>, name: &str) -> Result<Vec<HealthProblem>, Error> {
    let keys = foreign_keys(session, name)?;
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let table = session.table(name)?;
    let key = table.primary_key().into_iter().map(|column| Some(column.name.clone()));
    let mut indexed: Vec<Vec<Option<String>>> = vec![key.collect()];
    let found = indexes(session, name, &mut Vec::new())?;
    indexed.extend(found.into_iter().filter(|one| !one.partial).map(|one| one.columns));
    let lacks_index = |columns: &Vec<String>| {
        let wanted: HashSet<String> = columns.iter().map(|name| folded(name)).collect();
        let begins = |columns: &Vec<Option<String>>| {
            let first = columns.iter().take(wanted.len());
            let first: HashSet<String> = first.flatten().map(|name| folded(name)).collect();
            first == wanted
        };
        !indexed.iter().any(begins)
    };
    let columns = keys.into_iter().map(|key| key.columns);
    let columns = columns.filter(lacks_index);
    Ok(columns.map(|columns| unindexed_foreign_key(name, &columns)).collect())
}

fn folded(name: &str) -> String {
    name.to_ascii_lowercase()
}
