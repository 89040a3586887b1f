use std::error::Error;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use tokio::time::{Instant, timeout_at};

use super::url::Url;

/// What every request to one URL has in common.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Sent with every request.
    pub(crate) headers: HeaderMap,
    /// `Authorization: Bearer …`, if any.
    pub(crate) bearer: Option<HeaderValue>,
    /// The longest that one request may take, from connecting to the last byte of its reply.
    pub(crate) timeout: Duration,
    /// The most bytes that the body of a reply may have.
    pub(crate) max_reply: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            headers: HeaderMap::new(),
            bearer: None,
            timeout: Duration::from_secs(30),
            max_reply: 64 << 20,
        }
    }
}

/// Posts bodies to one URL: one request, one bounded reply. Redirects are not followed.
#[derive(Debug)]
pub(crate) struct Http {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    url: Url,
    settings: Settings,
}

/// Why no reply came, or not all of it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TransportError {
    #[error("this machine has no certificates to check https servers with")]
    NoRoots(#[source] io::Error),
    #[error("cannot connect to {origin}")]
    Connect { origin: String, source: hyper_util::client::legacy::Error },
    #[error("{origin} does not speak HTTP")]
    NotHttp { origin: String, source: hyper_util::client::legacy::Error },
    #[error("the connection to {origin} broke before a reply came")]
    Broken { origin: String, source: hyper_util::client::legacy::Error },
    #[error("the connection to {origin} broke in the middle of the reply")]
    Truncated { origin: String, source: hyper::Error },
    #[error("{origin} did not answer within {} ms", after.as_millis())]
    Timeout { origin: String, after: Duration },
    #[error("the reply of {origin} has more than {limit} bytes")]
    TooLarge { origin: String, limit: usize },
}

/// The beginning of a reply; its body comes in [`chunk`](Self::chunk)s.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: Incoming,
    left: usize,
    limit: usize,
    deadline: Instant,
    timeout: Duration,
    origin: String,
}

impl Http {
    /// # Errors
    ///
    /// [`TransportError::NoRoots`] for an https URL on a machine without root certificates.
    pub(crate) fn new(url: Url, settings: Settings) -> Result<Self, TransportError> {
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .build(connector(&url)?);
        Ok(Self { client, url, settings })
    }

    /// # Cancel safety
    ///
    /// Dropping the future closes the connection; the server may have run the request.
    pub(crate) async fn post(
        &self,
        headers: HeaderMap,
        body: String,
    ) -> Result<Reply, TransportError> {
        let mut request = Request::new(Full::from(body));
        *request.method_mut() = Method::POST;
        *request.headers_mut() = headers;
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.send(request, self.settings.timeout).await
    }

    /// Sends a DELETE.
    pub(crate) async fn delete(
        &self,
        headers: HeaderMap,
        timeout: Duration,
    ) -> Result<Reply, TransportError> {
        let mut request = Request::new(Full::default());
        *request.method_mut() = Method::DELETE;
        *request.headers_mut() = headers;
        self.send(request, timeout.min(self.settings.timeout)).await
    }

    async fn send(
        &self,
        mut request: Request<Full<Bytes>>,
        timeout: Duration,
    ) -> Result<Reply, TransportError> {
        let origin = self.url.origin();
        *request.uri_mut() = self.url.uri().clone();
        let headers = request.headers_mut();
        for (name, value) in &self.settings.headers {
            headers.append(name, value.clone());
        }
        if let Some(bearer) = &self.settings.bearer {
            headers.insert(AUTHORIZATION, bearer.clone());
        }
        let deadline = Instant::now() + timeout;
        let response = match timeout_at(deadline, self.client.request(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(source)) => return Err(failed(origin, source)),
            Err(_) => return Err(TransportError::Timeout { origin, after: timeout }),
        };
        let (parts, body) = response.into_parts();
        Ok(Reply {
            status: parts.status,
            headers: parts.headers,
            body,
            left: self.settings.max_reply,
            limit: self.settings.max_reply,
            deadline,
            timeout,
            origin,
        })
    }
}

impl Reply {
    pub(crate) fn header(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The media type, without parameters, in lower case.
    pub(crate) fn media_type(&self) -> Option<String> {
        let value = self.header(&CONTENT_TYPE)?;
        Some(value.split(';').next()?.trim().to_ascii_lowercase())
    }

    /// The next part of the body; none at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, TransportError> {
        loop {
            let frame = match timeout_at(self.deadline, self.body.frame()).await {
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(source))) => {
                    return Err(TransportError::Truncated { origin: self.origin.clone(), source });
                }
                Ok(None) => return Ok(None),
                Err(_) => {
                    let origin = self.origin.clone();
                    return Err(TransportError::Timeout { origin, after: self.timeout });
                }
            };
            // What is left are trailers, which say nothing here.
            let Ok(data) = frame.into_data() else { continue };
            let Some(left) = self.left.checked_sub(data.len()) else {
                let origin = self.origin.clone();
                return Err(TransportError::TooLarge { origin, limit: self.limit });
            };
            self.left = left;
            return Ok(Some(data));
        }
    }

    /// The whole body.
    pub(crate) async fn body(mut self) -> Result<Vec<u8>, TransportError> {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

/// Certificates are read for https only: it takes a while.
fn connector(url: &Url) -> Result<HttpsConnector<HttpConnector>, TransportError> {
    let builder = HttpsConnectorBuilder::new();
    let (builder, scheme_only) = if url.is_https() {
        let provider = ring::default_provider();
        let builder = builder.with_provider_and_native_roots(provider);
        (builder.map_err(TransportError::NoRoots)?, true)
    } else {
        (builder.with_tls_config(without_roots()), false)
    };
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let builder = if scheme_only { builder.https_only() } else { builder.https_or_http() };
    Ok(builder.enable_http1().wrap_connector(tcp))
}

/// For a client that will never meet TLS.
fn without_roots() -> ClientConfig {
    ClientConfig::builder_with_provider(ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .expect("ring has the ciphers of the default versions")
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth()
}

fn failed(origin: String, source: hyper_util::client::legacy::Error) -> TransportError {
    if source.is_connect() {
        return TransportError::Connect { origin, source };
    }
    let hyper = source.source().and_then(|cause| cause.downcast_ref::<hyper::Error>());
    if hyper.is_some_and(hyper::Error::is_parse) {
        return TransportError::NotHttp { origin, source };
    }
    TransportError::Broken { origin, source }
}
