use std::time::Duration;

use trunkline_storage::StoreConfig;

/// Limits of [`Records`](crate::Records).
#[derive(Clone, Debug)]
pub struct RecordsConfig {
    /// Timeouts, queues and threads of the store.
    pub store: StoreConfig,
    /// Records per page if the caller sets no limit. Default 100.
    pub page: usize,
    /// Maximum `limit` of a page. Default 1,000.
    pub max_page: usize,
    /// Maximum size of the records of a page in bytes of JSON; longer pages end early. Default 1 MiB. A page also ends
    /// after the `max_scan_time` of the store.
    pub max_page_bytes: usize,
    /// Maximum records that one `filter` reads before its page ends early, and that one `status` counts the values of.
    /// Default 100,000.
    pub max_scan: usize,
    /// Maximum size of one record's fields in bytes of JSON. Default 256 KiB.
    pub max_record_bytes: usize,
    /// Minimum retention of requests with a `requestId`, which makes them repeatable and revertible, and of the
    /// versions of deleted records. Later commits delete older ones. A request takes up to three times the bytes of
    /// its record, and nothing but time limits their number. Default 7 days.
    pub remember: Duration,
    /// Maximum time that one commit spends on deleting expired requests, or the time that its commands took if that
    /// is longer. Default 20 ms.
    pub purge_time: Duration,
}

impl Default for RecordsConfig {
    fn default() -> Self {
        Self {
            store: StoreConfig::default(),
            page: 100,
            max_page: 1_000,
            max_page_bytes: 1 << 20,
            max_scan: 100_000,
            max_record_bytes: 256 << 10,
            remember: Duration::from_secs(7 * 86_400),
            purge_time: Duration::from_millis(20),
        }
    }
}
