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
    // Limits nesting outside of expressions, such as subqueries in FROM, over which SQLite recurses on the stack.
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

/// Limits the memory of queries.
///
/// Sorters, materialised subqueries and temporary b-trees are kept in memory, which SQLite's hard heap limit bounds,
/// and not in files, whose size only time would bound. The limit applies to the whole process, since SQLite has no
/// smaller unit, so a query that reaches it may cause a concurrent one to fail with `OutOfMemory`. The memory is freed
/// when the first one ends. The pragma can only lower the limit, so a later database of the process cannot raise it.
pub(super) fn bound_memory(connection: &Connection, heap_limit: usize) -> rusqlite::Result<()> {
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    // Negative: in KiB. The page cache of one connection must stay far below the heap limit.
    connection.pragma_update(None, "cache_size", -8_192)?;
    // Otherwise a writer whose cache is full writes changed pages to the file before the commit, which locks out all
    // readers for the rest of its transaction. The pages stay in memory, under the heap limit.
    connection.pragma_update(None, "cache_spill", false)?;
    if heap_limit == 0 {
        return Ok(());
    }
    let bytes = i64::try_from(heap_limit).unwrap_or(i64::MAX);
    // This pragma returns the current limit.
    connection.pragma_update_and_check(None, "hard_heap_limit", bytes, |_| Ok(()))
}
