use std::time::Duration;

/// The file of a database, and the steps that create its tables.
#[derive(Debug, Clone, Copy)]
pub struct Schema {
    /// The name of the file in its directory.
    pub file: &'static str,
    /// The mark that distinguishes the file from those of other programs (`PRAGMA application_id`).
    pub application_id: i32,
    /// SQL scripts, each of which leads from a version of the schema to the next. The first one begins with an empty
    /// file; their number is the newest version (`PRAGMA user_version`). Released ones are never changed.
    pub migrations: &'static [&'static str],
}

/// Configuration of a [`Store`](crate::Store). Every field is a bound, but for `erase_deleted`.
#[derive(Debug, Clone)]
pub struct StoreConfig {
    /// The maximum time of a read, waiting included, and until a write has begun. Default 5 s.
    pub timeout: Duration,
    /// The further wait for a write that has begun, until it is answered
    /// [`Unconfirmed`](crate::StoreError::Unconfirmed). Default 5 s.
    pub confirm_wait: Duration,
    /// Connections that read at the same time, each on a thread. At least 1. One of several is left for reads that are
    /// no scans. Default 4.
    pub readers: usize,
    /// The maximum number of waiting reads. Default 1,024.
    pub read_queue: usize,
    /// The maximum number of waiting writes. Default 4,096.
    pub write_queue: usize,
    /// The maximum memory of the waiting writes in bytes, as their callers estimate it. Default 64 MiB.
    pub write_queue_bytes: usize,
    /// The maximum number of writes in one transaction. Default 256.
    pub group: usize,
    /// The maximum wait for a lock that another process holds. Default 2 s.
    pub lock_wait: Duration,
    /// The maximum time of a scan, which has at most half of its remaining `timeout`. Default 1 s.
    pub max_scan_time: Duration,
    /// The size of the write-ahead log in bytes above which the writer waits for the readers, at most `lock_wait`, and
    /// empties it. Default 64 MiB.
    pub max_log_bytes: u64,
    /// Whether deleted content is overwritten, the log emptied after each commit, and free space returned to the file
    /// system. Default false.
    pub erase_deleted: bool,
}

impl Default for StoreConfig {
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
            max_scan_time: Duration::from_secs(1),
            max_log_bytes: 64 << 20,
            erase_deleted: false,
        }
    }
}
