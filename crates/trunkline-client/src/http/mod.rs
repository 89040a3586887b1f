//! HTTP: the configuration of [`Http`](super::Http), and requests and replies for other protocols.

mod config;
pub(super) mod connection;
mod connector;
mod networks;
mod reply;
mod resolver;
#[cfg(feature = "tls")]
mod tls;
mod url;

pub use config::{Bearer, BearerError, HttpClientConfig};
pub use networks::Networks;
pub use reply::Reply;
#[cfg(feature = "tls")]
pub use tls::{Roots, RootsError};
pub use url::{Url, UrlError, redact_url};
