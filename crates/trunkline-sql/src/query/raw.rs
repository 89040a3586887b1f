//! The limits of calls with SQL text, and the completion of their results.

use std::time::Duration;

use crate::model::error::Error;
use crate::model::import::CHECKPOINT_TABLE;
use crate::model::limits::QueryLimits;
use crate::model::read::RawQuery;
use crate::model::rowset::{Bounds, Rowset, TruncatedBy};

/// The timeout of a call.
pub(crate) fn timeout(request: &RawQuery, limits: &QueryLimits) -> Result<Duration, Error> {
    match request.timeout_ms {
        Some(0) => Err(Error::argument("timeout_ms", "the minimum is 1")),
        Some(requested) => Ok(limits.timeout.min(Duration::from_millis(requested))),
        None => Ok(limits.timeout),
    }
}

/// Refuses a statement that names the table of checkpoints. The name cannot be written in another way; elsewhere in a
/// statement, it is unlikely.
pub(crate) fn check_names(sql: &str) -> Result<(), Error> {
    let is_name = |part: &[u8]| part.eq_ignore_ascii_case(CHECKPOINT_TABLE.as_bytes());
    if sql.as_bytes().windows(CHECKPOINT_TABLE.len()).any(is_name) {
        let table = CHECKPOINT_TABLE.to_owned();
        return Err(Error::UnknownTable { table, candidates: Vec::new() });
    }
    Ok(())
}

/// The maximum size of the result.
pub(crate) fn bounds(request: &RawQuery, limits: &QueryLimits) -> Bounds {
    Bounds {
        max_rows: request.max_rows.unwrap_or(limits.default_rows).min(limits.max_rows),
        max_bytes: limits.max_bytes,
    }
}

/// Adds instructions for reading the other rows.
pub(crate) fn complete(rowset: Rowset, limits: &QueryLimits) -> Result<Rowset, Error> {
    let max_rows = limits.max_rows;
    let rowset = with_first_row(rowset, limits)?;
    Ok(rowset.with_hint(|rowset| match rowset.row_count {
        0 => r#"raise "max_rows" to read rows"#.to_owned(),
        rows if rowset.truncated_by == Some(TruncatedBy::Rows) && rows < max_rows => format!(
            "add ORDER BY, LIMIT and OFFSET {rows} to the query for the next rows, or raise \
             \"max_rows\" (maximum {max_rows})"
        ),
        rows => format!("add ORDER BY, LIMIT and OFFSET {rows} to the query for the next rows"),
    }))
}

/// The same for a statement with `read_only: false`.
pub(crate) fn complete_write(
    rowset: Rowset,
    limits: &QueryLimits,
    is_change: bool,
) -> Result<Rowset, Error> {
    let rowset = with_first_row(rowset, limits)?;
    Ok(rowset.with_hint(|_| {
        let done = if is_change { "the change is complete; " } else { "" };
        format!("{done}use a SELECT with \"read_only\": true for the other rows")
    }))
}

fn with_first_row(rowset: Rowset, limits: &QueryLimits) -> Result<Rowset, Error> {
    if rowset.is_first_row_too_large() {
        return Err(Error::OverLimit {
            message: format!(
                "the first row alone exceeds the {} bytes of a result; \
                 select fewer columns, or parts of them",
                limits.max_bytes
            ),
        });
    }
    Ok(rowset)
}

/// Whether a statement begins like one that changes the database. Affects only the message of an error.
pub(crate) fn looks_like_change(sql: &str) -> bool {
    const WORDS: [&str; 8] =
        ["ALTER", "CREATE", "DELETE", "DROP", "INSERT", "REPLACE", "UPDATE", "WITH"];
    let first = without_comments(sql).split(|c: char| !c.is_ascii_alphabetic()).next();
    first.is_some_and(|first| WORDS.iter().any(|word| word.eq_ignore_ascii_case(first)))
}

fn without_comments(sql: &str) -> &str {
    let mut rest = sql.trim_start();
    loop {
        let end = match (rest.strip_prefix("--"), rest.strip_prefix("/*")) {
            (Some(comment), _) => comment.split_once('\n'),
            (_, Some(comment)) => comment.split_once("*/"),
            _ => return rest,
        };
        rest = end.map_or("", |(_, rest)| rest).trim_start();
    }
}
