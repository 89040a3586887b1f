//! The limits of calls.

use std::time::Duration;

/// The limits of each call of a database. The defaults suit a server whose callers are not trusted.
#[derive(Clone, Debug)]
pub struct QueryLimits {
    /// Number of rows of a result if the caller does not specify one. Default 100.
    pub default_rows: u64,
    /// Maximum number of rows of one result, whatever the caller specifies. Default 1,000.
    pub max_rows: u64,
    /// Maximum size of one result's rows as JSON text, in bytes. Default 1 MiB.
    pub max_bytes: usize,
    /// Maximum number of rows that one call changes, including those that foreign keys and triggers change. For
    /// `insert_record`, the inserted records do not count; for `execute_raw_query`, they do. It protects against
    /// mistakes, not against attackers: a call may specify another limit, lower or higher. Default 1,000.
    pub max_affected: u64,
    /// Maximum number of records of one `insert_record`. Default 1,000.
    pub max_records: usize,
    /// Timeout of one call, including the wait for a connection. A caller may specify a shorter one. Default 5 s.
    pub timeout: Duration,
    /// Timeout of one export, including the waits for its receiver. Default 10 minutes.
    pub export_timeout: Duration,
    /// Maximum number of rows of one export. Default 100 million.
    pub max_export_rows: u64,
    /// Maximum number of exports that run at the same time. They do not occupy the connections of other calls. Zero
    /// switches exports off. Default 2.
    pub exports: usize,
}

impl Default for QueryLimits {
    fn default() -> Self {
        Self {
            default_rows: 100,
            max_rows: 1_000,
            max_bytes: 1 << 20,
            max_affected: 1_000,
            max_records: 1_000,
            timeout: Duration::from_secs(5),
            export_timeout: Duration::from_secs(600),
            max_export_rows: 100_000_000,
            exports: 2,
        }
    }
}
