//! Opens connections.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use tower::Service;
use trunkline_core::error::BoxError;

use super::config::HttpClientConfig;
use super::networks::{Networks, NotPermitted};
use super::resolver::{Tcp, tcp};
#[cfg(feature = "tls")]
use super::tls::Roots;
use super::url::Url;
use crate::error::TransportError;

/// A connector with a timeout for name resolution, TCP and TLS together. It connects to permitted networks only.
#[derive(Debug, Clone)]
pub(super) struct Connector {
    inner: Inner,
    timeout: Duration,
    networks: Networks,
}

#[cfg(feature = "tls")]
type Inner = hyper_rustls::HttpsConnector<Tcp>;
#[cfg(not(feature = "tls"))]
type Inner = Tcp;

#[derive(Debug, thiserror::Error)]
#[error("connection timed out after {} ms", .0.as_millis())]
struct ConnectTimeout(Duration);

impl Connector {
    #[cfg(feature = "tls")]
    pub(super) fn new(
        url: &Url,
        roots: &Roots,
        config: &HttpClientConfig,
    ) -> Result<Self, TransportError> {
        let (timeout, networks) = (config.connect_timeout, config.networks);
        let mut tcp = tcp(networks);
        tcp.enforce_http(false);
        Ok(Self { inner: super::tls::connector(tcp, url, roots)?, timeout, networks })
    }

    #[cfg(not(feature = "tls"))]
    pub(super) fn new(url: &Url, config: &HttpClientConfig) -> Result<Self, TransportError> {
        let (timeout, networks) = (config.connect_timeout, config.networks);
        if url.is_https() {
            let reason = "https requires the feature `tls` of the crate `trunkline`".to_owned();
            return Err(TransportError::Address { target: url.origin(), reason });
        }
        Ok(Self { inner: tcp(networks), timeout, networks })
    }
}

impl Service<Uri> for Connector {
    type Response = <Inner as Service<Uri>>::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(BoxError::from)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        // A literal address is not resolved.
        let literal = uri.host().and_then(|host| host.trim_matches(['[', ']']).parse().ok());
        if let Some(address) = literal.filter(|address| !self.networks.permit(*address)) {
            return Box::pin(std::future::ready(Err(NotPermitted { address }.into())));
        }
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
