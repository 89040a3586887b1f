use std::time::Duration;

/// Configuration of a [`Database`](crate::Database). Every field bounds something; the defaults suit a
/// server whose callers are not trusted.
#[derive(Clone, Debug)]
pub struct SqliteConfig {
    /// Whether callers may change the database. Default false: nothing that a caller sends changes a byte
    /// of the file. If true, the file is opened a second time, for one writer.
    pub writable: bool,
    /// Threads, and with them connections, that read at the same time. At least 1. Default 4.
    pub readers: usize,
    /// Readers started beyond `readers`, each in place of one that is stuck: its caller had the answer a
    /// second ago, and SQLite has not let go, since nothing can interrupt one step of its machine. A
    /// stuck reader keeps its thread, its memory and a processor until the step ends. While that many are
    /// stuck, no more are replaced. Default 16. A stuck writer is never replaced: it holds the only lock
    /// under which another one could write.
    pub stuck_readers: usize,
    /// Calls that may wait for a reader; the next one is answered `Busy` at once. Default 64.
    pub queue: usize,
    /// Calls that may wait for the writer; the next one is answered `Busy` at once. Default 256:
    /// `queue_wait` bounds the wait.
    pub write_queue: usize,
    /// How long a call waits for a reader or the writer before it is answered `Busy`. Default 2 s.
    pub queue_wait: Duration,
    /// Most rows of one result. A caller may ask for fewer, never for more. Default 1,000.
    pub max_rows: u64,
    /// Most bytes of one result's rows, as JSON text. Default 1 MiB.
    pub max_bytes: usize,
    /// Most rows that one call may change, those that foreign keys and triggers change included: for
    /// `insert_record`, besides the records themselves, and for `execute_raw_query`, rows that it inserts too.
    /// It guards against slips, not against harm: a caller may name another bound, lower or higher.
    /// Default 1,000.
    pub max_affected: u64,
    /// Most records of one `insert_record`. Default 1,000.
    pub max_records: usize,
    /// Longest time of one call, waiting included. A caller may ask for less, never for more.
    /// Default 5 s.
    pub timeout: Duration,
    /// How long a call waits for a lock that another connection or process holds, before it is answered
    /// `Locked`. Default 1 s.
    pub lock_wait: Duration,
    /// Most bytes that SQLite may allocate, **for the whole process**: SQLite has no smaller unit. The
    /// lowest value that any `Database` of the process asked for holds until the process ends. The query
    /// that meets the limit is answered `OutOfMemory`. Zero sets no limit. Default 256 MiB.
    /// The C library keeps freed memory for each thread, so the process may hold a few times as much.
    pub heap_limit: usize,
    /// Prepared statements that each reader, and the writer, keeps. Default 64.
    pub statement_cache: usize,
}

impl Default for SqliteConfig {
    fn default() -> Self {
        Self {
            writable: false,
            readers: 4,
            stuck_readers: 16,
            queue: 64,
            write_queue: 256,
            queue_wait: Duration::from_secs(2),
            max_rows: 1_000,
            max_bytes: 1 << 20,
            max_affected: 1_000,
            max_records: 1_000,
            timeout: Duration::from_secs(5),
            lock_wait: Duration::from_secs(1),
            heap_limit: 256 << 20,
            statement_cache: 64,
        }
    }
}
