use rusqlite::Connection;

/// Bounds what queries can allocate.
///
/// Sorters, materialised subqueries and temporary b-trees are kept in memory, not in files: files would
/// fill a disk without any bound but time, and memory has one, SQLite's hard heap limit. That limit is
/// the process's, since SQLite has no smaller unit, so a query that meets it may make another one fail
/// that runs at the same moment; both are answered `OutOfMemory`, and the memory is free again when the
/// first one ends. The pragma can only lower the limit, so no later database of the process can undo it.
pub(super) fn bound(connection: &Connection, heap_limit: usize) -> rusqlite::Result<()> {
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    // Negative: in KiB. The page cache of one connection must stay far below the heap limit.
    connection.pragma_update(None, "cache_size", -8_192)?;
    // Past the size of its cache, a writer would put changed pages into the file before the commit, and shut
    // all readers out for the rest of its transaction. So they stay in memory, under the heap limit.
    connection.pragma_update(None, "cache_spill", false)?;
    if heap_limit == 0 {
        return Ok(());
    }
    let bytes = i64::try_from(heap_limit).unwrap_or(i64::MAX);
    // This pragma answers with the limit in force.
    connection.pragma_update_and_check(None, "hard_heap_limit", bytes, |_| Ok(()))
}
