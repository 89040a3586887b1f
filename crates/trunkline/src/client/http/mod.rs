//! HTTP: what [`Http`](super::Http) is set to, and a level below calls for protocols of their own.

mod bearer;
pub(super) mod connection;
mod connector;
mod failure;
#[cfg(feature = "tls")]
mod pinned;
mod pool;
mod reply;
mod settings;
#[cfg(feature = "tls")]
mod tls;
#[cfg(feature = "edn")]
mod translation;
mod url;

pub use bearer::{Bearer, BearerError};
pub use reply::Reply;
pub use settings::Settings;
#[cfg(feature = "tls")]
pub use tls::{Roots, RootsError};
pub use url::{Url, UrlError};
