//! What all connections of a server share.

use hyper_util::server::conn::auto::Builder;
use tokio_util::sync::CancellationToken;

use super::executor::Tracked;
use super::settings::Settings;
use super::status::Counts;
#[cfg(feature = "tls")]
use super::tls::Tls;

pub(super) struct Shared {
    pub(super) settings: Settings,
    #[cfg(feature = "tls")]
    pub(super) tls: Option<Tls>,
    pub(super) counts: Counts,
    pub(super) builder: Builder<Tracked>,
    /// Cancelled when connections shall end as soon as their requests have.
    pub(super) drain: CancellationToken,
    /// Cancelled when they shall end at once.
    pub(super) cut: CancellationToken,
}
