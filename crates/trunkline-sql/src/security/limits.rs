use rusqlite::Connection;
use rusqlite::limits::Limit;

/// Longest SQL text, in bytes.
pub(super) const SQL_LENGTH: usize = 100_000;

const LIMITS: [(Limit, i32); 12] = [
    (Limit::SQLITE_LIMIT_SQL_LENGTH, SQL_LENGTH as i32),
    // Bytes of one string, BLOB or row; bounds `zeroblob`, `printf('%1000000000d')`, `group_concat`.
    (Limit::SQLITE_LIMIT_LENGTH, 16 << 20),
    (Limit::SQLITE_LIMIT_COLUMN, 500),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 200),
    // Bounds nesting that makes no expression, such as subqueries in FROM: SQLite recurses over them,
    // on a reader's stack.
    (Limit::SQLITE_LIMIT_PARSER_DEPTH, 1_000),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 50),
    (Limit::SQLITE_LIMIT_VDBE_OP, 250_000),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1_000),
    (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 1_000),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 10),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];

/// Lowers SQLite's own limits on texts, values and programs.
pub(super) fn set(connection: &Connection) -> rusqlite::Result<()> {
    for (limit, value) in LIMITS {
        connection.set_limit(limit, value)?;
    }
    Ok(())
}
