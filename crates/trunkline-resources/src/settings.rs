use std::time::Duration;

/// Configuration of [`Resources`](crate::Resources). Every field bounds something.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Longest time of a command that reads, waiting included, and until one that writes has begun. Default
    /// 5 s.
    pub timeout: Duration,
    /// The further wait for a command that writes and has begun, until it is answered `Unconfirmed`: it may
    /// still be committed. Default 5 s.
    pub confirm_wait: Duration,
    /// Threads, and with them connections, that read at the same time. At least 1. One of several is left
    /// for what reads one record. Default 4.
    pub readers: usize,
    /// Commands that may wait for a reader; the next one is answered `Busy` at once. Default 1,024.
    pub read_queue: usize,
    /// Commands that may wait for the writer; the next one is answered `Busy` at once. Default 4,096.
    pub write_queue: usize,
    /// Most memory, about, of the commands that wait for the writer; the next one is answered `Busy` at once.
    /// Default 64 MiB.
    pub write_queue_bytes: usize,
    /// Most commands that are made durable together, by one commit. Default 256.
    pub group: usize,
    /// How long the writer waits for a lock that another process holds. Default 2 s.
    pub lock_wait: Duration,
    /// Records of a page, if the caller sets no limit. Default 100.
    pub page: usize,
    /// Most records of a page that a caller may ask for. Default 1,000.
    pub max_page: usize,
    /// Most bytes of the records of a page, as JSON text: a page ends early instead. Default 1 MiB.
    pub max_page_bytes: usize,
    /// Most records that one `filter` looks at: a page ends early instead; and of which one `status` counts
    /// the values. Default 100,000.
    pub max_scan: usize,
    /// Longest time that one `list`, `filter` or `status` looks at records, and at most half of what is left
    /// of its `timeout`: a page ends early instead. Default 1 s.
    pub max_scan_time: Duration,
    /// Most bytes of one record's fields, as JSON text. Default 256 KiB.
    pub max_record_bytes: usize,
    /// Size of SQLite's log in bytes from which the writer waits for its readers and empties it. It waits `lock_wait` at most. Default 64 MiB.
    pub max_log_bytes: u64,
    /// How long requests with a `requestId` are remembered, so that they can be answered again and
    /// reverted; and the versions of deleted records. No less than this; they go with later commits.
    /// A request holds up to three times the bytes of its record, and only time bounds all of them. Default
    /// 7 days.
    pub remember: Duration,
    /// How long one commit may be held up by what need not be remembered any more; and no longer than its
    /// commands took, if that was more. Default 20 ms.
    pub purge_time: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(5),
            confirm_wait: Duration::from_secs(5),
            readers: 4,
            read_queue: 1_024,
            write_queue: 4_096,
            write_queue_bytes: 64 << 20,
            group: 256,
            lock_wait: Duration::from_secs(2),
            page: 100,
            max_page: 1_000,
            max_page_bytes: 1 << 20,
            max_scan: 100_000,
            max_scan_time: Duration::from_secs(1),
            max_record_bytes: 256 << 10,
            max_log_bytes: 64 << 20,
            remember: Duration::from_secs(7 * 86_400),
            purge_time: Duration::from_millis(20),
        }
    }
}
