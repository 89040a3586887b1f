use std::time::Duration;

use trunkline_storage::StoreConfig;

/// Configuration of [`Resources`](crate::Resources). Every field bounds something.
#[derive(Clone, Debug)]
pub struct ResourcesConfig {
    /// Timeouts, queues and threads.
    pub store: StoreConfig,
    /// Records of a page, if the caller sets no limit. Default 100.
    pub page: usize,
    /// Most records of a page that a caller may ask for. Default 1,000.
    pub max_page: usize,
    /// Most bytes of the records of a page, as JSON text: a page ends early instead. Default 1 MiB. It also ends after
    /// the `max_scan_time` of the store.
    pub max_page_bytes: usize,
    /// Most records that one `filter` looks at: a page ends early instead; and of which one `status` counts
    /// the values. Default 100,000.
    pub max_scan: usize,
    /// Most bytes of one record's fields, as JSON text. Default 256 KiB.
    pub max_record_bytes: usize,
    /// How long requests with a `requestId` are remembered, so that they can be answered again and
    /// reverted; and the versions of deleted records. No less than this; they go with later commits.
    /// A request holds up to three times the bytes of its record, and only time bounds all of them. Default
    /// 7 days.
    pub remember: Duration,
    /// How long one commit may be held up by what need not be remembered any more; and no longer than its
    /// commands took, if that was more. Default 20 ms.
    pub purge_time: Duration,
}

impl Default for ResourcesConfig {
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
