use std::sync::Arc;
use std::time::Duration;

use tower::Layer;

use super::RateLimit;
use super::buckets::Buckets;

/// Refuses the calls of who calls too often, with -32010 and `data.retry_after_ms`; nothing is run.
///
/// The caller is the [`Principal`](crate::access::Principal), by its name and who has given it (each
/// signed token without a subject is a separate principal), or without one the address of the
/// [`Peer`](crate::http::Peer), of an IPv6 address its first 64 bits, which are one customer's. Behind
/// a proxy that is the proxy. Calls of whom nothing is known are those of one caller. Each caller has
/// its own bucket (of [`Rate::burst`] calls), which all operations share that one layer wraps. A member
/// of a batch counts as any call; a notification, too.
///
/// It wraps operations, so that calls of methods that do not exist are not counted.
///
/// ```
/// # use std::time::Duration;
/// # use trunkline::Router;
/// # use trunkline::layers::RateLimitLayer;
/// # use trunkline::layers::rate_limit::Rate;
/// # fn main() -> Result<(), trunkline::BuildError> {
/// let rate = Rate { calls: 600, per: Duration::from_secs(60), burst: 20, ..Rate::default() };
/// let router = Router::new().method("ping", || "pong").layer(RateLimitLayer::new(rate));
/// # router.build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct RateLimitLayer {
    buckets: Arc<Buckets>,
}

/// How often one caller may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// So many calls come back to a bucket in the time of [`per`](Self::per). Default: 100. At least 1.
    pub calls: u32,
    /// The time in which they come back, evenly. Default: one second. None: nobody is refused.
    pub per: Duration,
    /// So many calls are in a bucket that is full: what a caller may call at once. Default: 200. At
    /// least 1.
    pub burst: u32,
    /// For so many callers there are buckets. Default: 65,536, which take 4 MiB. Full ones are forgotten
    /// when there are more callers, as they are equal to new ones. While none is full, all callers that
    /// have none share one more.
    pub callers: usize,
}

impl Default for Rate {
    fn default() -> Self {
        Self { calls: 100, per: Duration::from_secs(1), burst: 200, callers: 65_536 }
    }
}

impl RateLimitLayer {
    /// Each caller may call at this rate.
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        Self { buckets: Arc::new(Buckets::new(rate)) }
    }
}

impl<S> Layer<S> for RateLimitLayer {
    type Service = RateLimit<S>;

    fn layer(&self, inner: S) -> RateLimit<S> {
        RateLimit { inner, buckets: Arc::clone(&self.buckets) }
    }
}
