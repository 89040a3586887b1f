//! Opens connections.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use tower::Service;
use trunkline_core::error::BoxError;

#[cfg(feature = "tls")]
use super::tls::Roots;
use super::url::Url;
use crate::error::TransportError;

/// A connector with a timeout for name resolution, TCP and TLS together.
#[derive(Debug, Clone)]
pub(super) struct Connector {
    inner: Inner,
    timeout: Duration,
}

#[cfg(feature = "tls")]
type Inner = hyper_rustls::HttpsConnector<HttpConnector>;
#[cfg(not(feature = "tls"))]
type Inner = HttpConnector;

#[derive(Debug, thiserror::Error)]
#[error("connection timed out after {} ms", .0.as_millis())]
struct ConnectTimeout(Duration);

impl Connector {
    #[cfg(feature = "tls")]
    pub(super) fn new(url: &Url, roots: &Roots, timeout: Duration) -> Result<Self, TransportError> {
        let mut tcp = tcp();
        tcp.enforce_http(false);
        Ok(Self { inner: super::tls::connector(tcp, url, roots)?, timeout })
    }

    #[cfg(not(feature = "tls"))]
    pub(super) fn new(url: &Url, timeout: Duration) -> Result<Self, TransportError> {
        if url.is_https() {
            let reason = "https requires the feature `tls` of the crate `trunkline`".to_owned();
            return Err(TransportError::Address { target: url.origin(), reason });
        }
        Ok(Self { inner: tcp(), timeout })
    }
}

fn tcp() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.set_nodelay(true);
    tcp
}

impl Service<Uri> for Connector {
    type Response = <Inner as Service<Uri>>::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(BoxError::from)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(within(self.timeout, self.inner.call(uri)))
    }
}

async fn within<T, E: Into<BoxError>>(
    timeout: Duration,
    connecting: impl Future<Output = Result<T, E>>,
) -> Result<T, BoxError> {
    match tokio::time::timeout(timeout, connecting).await {
        Ok(connected) => connected.map_err(Into::into),
        Err(_) => Err(ConnectTimeout(timeout).into()),
    }
}
