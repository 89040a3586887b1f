use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::endpoints::readers::Readers;

/// Configuration of the [routes](super::routes) of a [`History`](crate::history::History).
#[derive(Debug, Clone)]
pub struct HistoryRoutesConfig {
    /// The callers that may read. Default: [`Readers::Listed`].
    pub readers: Readers,
    /// The maximum number of entries of a page. Default: 1,000.
    pub max_page: usize,
    /// The maximum number of open streams. Further ones are refused with 503. Default: 16.
    pub streams: usize,
    /// The time without an event after which a stream sends a comment, so that proxies keep it open. Default:
    /// 15 s.
    pub keep_alive: Duration,
    /// The maximum duration of a stream, after which the client must reconnect, since its token may have
    /// expired. Default: 1 h.
    pub lifetime: Duration,
    /// Ends all streams when it is cancelled. Cancel it before stopping the server, which waits for streams.
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
