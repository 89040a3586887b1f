use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::endpoints::readers::Readers;

/// Configuration of the [routes](super::routes) of a [`History`](crate::history::History).
#[derive(Debug, Clone)]
pub struct HistoryRoutesConfig {
    /// Who may read. Default: [`Readers::Listed`].
    pub readers: Readers,
    /// The most entries that a page may be asked to have. Default 1,000.
    pub max_page: usize,
    /// How many streams there may be at a time; one more is 503. Default 16.
    pub streams: usize,
    /// A stream that was silent for so long sends a comment, so that proxies see life. Default 15 s.
    pub keep_alive: Duration,
    /// How long a stream may last, whose client then comes again: its token may have expired. Default
    /// 1 h.
    pub lifetime: Duration,
    /// Cancelled when the server stops: streams end, which it would wait for otherwise.
    pub closing: CancellationToken,
}

impl Default for HistoryRoutesConfig {
    fn default() -> Self {
        Self {
            readers: Readers::default(),
            max_page: 1_000,
            streams: 16,
            keep_alive: Duration::from_secs(15),
            lifetime: Duration::from_secs(60 * 60),
            closing: CancellationToken::new(),
        }
    }
}
