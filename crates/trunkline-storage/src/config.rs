use std::time::Duration;

/// The names of a store, and the steps that create its tables.
#[derive(Debug, Clone, Copy)]
pub struct Schema {
    /// The name of the store, which distinguishes it from the other stores of a PostgreSQL database.
    pub name: &'static str,
    /// The name of the file in its directory.
    pub file: &'static str,
    /// The id that distinguishes the file from those of other programs (`PRAGMA application_id`).
    pub application_id: i32,
    /// SQL scripts, each of which migrates the schema to the next version. The first one applies to an empty file, and
    /// the number of scripts is the newest version (`PRAGMA user_version`). Released scripts must not be changed.
    pub migrations: &'static [&'static str],
    /// The same scripts for PostgreSQL, where they create tables in the schema `trunkline`. Texts that are compared are
    /// `text COLLATE "C"`, integers are `bigint`. Empty if the store does not support PostgreSQL.
    pub postgres: &'static [&'static str],
}

/// Configuration of a [`Store`](crate::Store). All fields but `erase_deleted` are limits.
#[derive(Debug, Clone)]
pub struct StoreConfig {
    /// The maximum time of a read, including the time in the queue, and the maximum time until a write starts.
    /// Default 5 s.
    pub timeout: Duration,
    /// The further wait for a write that has started, after which it fails as
    /// [`Unconfirmed`](crate::StoreError::Unconfirmed). Default 5 s.
    pub confirm_wait: Duration,
    /// The number of concurrent readers, each with a thread and a connection. At least 1. Scans leave one of several
    /// readers free. Default 4.
    pub readers: usize,
    /// The maximum number of waiting reads. Default 1,024.
    pub read_queue: usize,
    /// The maximum number of waiting writes. Default 4,096.
    pub write_queue: usize,
    /// The maximum memory of the waiting writes in bytes, as estimated by their callers. Default 64 MiB.
    pub write_queue_bytes: usize,
    /// The maximum number of writes in one transaction. Default 256.
    pub group: usize,
    /// The maximum wait for a lock that another process holds, such as the writer of another node. Default 2 s.
    pub lock_wait: Duration,
    /// The maximum time of a scan, limited to half of its remaining `timeout`. Default 1 s.
    pub max_scan_time: Duration,
    /// SQLite: the size of the write-ahead log in bytes above which the writer waits for the readers, at most `lock_wait`, and
    /// empties it. Default 64 MiB.
    pub max_log_bytes: u64,
    /// SQLite: whether deleted content is overwritten, the log emptied after each commit, and free space returned to the file
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
