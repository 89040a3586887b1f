//! HTTP: the settings of [`Http`](super::Http), and requests and replies for other protocols.

pub(super) mod connection;
mod connector;
mod reply;
mod settings;
#[cfg(feature = "tls")]
mod tls;
#[cfg(feature = "edn")]
mod translation;
mod url;

pub use reply::Reply;
pub use settings::{Bearer, BearerError, Settings};
#[cfg(feature = "tls")]
pub use tls::{Roots, RootsError};
pub use url::{Url, UrlError};
