use std::time::Duration;

use crate::model::limits::QueryLimits;
use crate::model::visibility::VisibilityRules;

/// Configuration of [`Sqlite`](super::Sqlite). The defaults suit a server whose callers are not trusted.
#[derive(Clone, Debug)]
pub struct SqliteConfig {
    /// The limits of each call.
    pub limits: QueryLimits,
    /// The tables that callers see, and the columns that are masked. By default, all tables are visible.
    pub rules: VisibilityRules,
    /// Whether callers may change the database. Default false: no call changes a byte of the file. If true, the file is
    /// opened a second time, for one writer.
    pub writable: bool,
    /// Number of threads, each with a connection, that read concurrently. At least 1. Default 4.
    pub readers: usize,
    /// Maximum number of stuck readers that are replaced. A reader is stuck if SQLite still runs one second after the
    /// call was answered, since one step of its virtual machine cannot be interrupted. It occupies its thread, its
    /// memory and a processor until the step ends. Default 16. A stuck writer is never replaced: it holds the only
    /// write lock.
    pub stuck_readers: usize,
    /// Maximum number of calls that wait for a reader. Further calls fail with `Busy`. Default 64.
    pub queue: usize,
    /// Maximum number of calls that wait for the writer. Further calls fail with `Busy`. Default 256.
    pub write_queue: usize,
    /// Maximum wait for a reader or the writer before a call fails with `Busy`. Default 2 s.
    pub queue_wait: Duration,
    /// Maximum wait for a lock of another connection or process before a call fails with `Locked`. Default 1 s.
    pub lock_wait: Duration,
    /// Maximum memory that SQLite allocates, in bytes, **for the whole process**: SQLite has no smaller unit. The lowest
    /// value of any `Database` of the process applies until the process ends. A query that reaches the limit fails with
    /// `OutOfMemory`. Zero means no limit. Default 256 MiB.
    /// The C library keeps freed memory for each thread, so the process may hold a few times as much.
    pub heap_limit: usize,
    /// Number of prepared statements that each reader and the writer caches. Default 64.
    pub statement_cache: usize,
}

impl Default for SqliteConfig {
    fn default() -> Self {
        Self {
            limits: QueryLimits::default(),
            rules: VisibilityRules::default(),
            writable: false,
            readers: 4,
            stuck_readers: 16,
            queue: 64,
            write_queue: 256,
            queue_wait: Duration::from_secs(2),
            lock_wait: Duration::from_secs(1),
            heap_limit: 256 << 20,
            statement_cache: 64,
        }
    }
}
