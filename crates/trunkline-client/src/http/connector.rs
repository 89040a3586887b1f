//! Opens connections.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use tower::Service;
use trunkline_core::error::BoxError;

use super::config::HttpClientConfig;
use super::url::Url;
use crate::error::TransportError;

/// Connects with a deadline: resolving the name, TCP and TLS together.
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
#[error("no connection within {} ms", .0.as_millis())]
struct TooLate(Duration);

impl Connector {
    pub(super) fn new(url: &Url, settings: &HttpClientConfig) -> Result<Self, TransportError> {
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        Ok(Self { inner: inner(tcp, url, settings)?, timeout: settings.connect_timeout })
    }
}

#[cfg(feature = "tls")]
fn inner(
    mut tcp: HttpConnector,
    url: &Url,
    settings: &HttpClientConfig,
) -> Result<Inner, TransportError> {
    tcp.enforce_http(false);
    super::tls::connector(tcp, url, &settings.roots)
}

#[cfg(not(feature = "tls"))]
fn inner(tcp: HttpConnector, url: &Url, _: &HttpClientConfig) -> Result<Inner, TransportError> {
    if url.is_https() {
        let reason = "https needs the feature `tls` of the crate trunkline".to_owned();
        return Err(TransportError::Address { target: url.origin(), reason });
    }
    Ok(tcp)
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
        Err(_) => Err(TooLate(timeout).into()),
    }
}
