//! The HTTP transport.

use std::borrow::Cow;
use std::error::Error as _;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use http_body_util::Full;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use trunkline_core::format::Format;

use super::config::HttpClientConfig;
use super::connector::Connector;
use super::reply::Reply;
#[cfg(feature = "tls")]
use super::tls::Roots;
use super::url::{Url, redact_url};
use crate::error::{Failure, ProtocolError, TransportError};
use crate::transport::{Message, Transport, TransportFuture};
use trunkline_core::trace_context::{TraceContext, TraceState};

/// A transport that posts every message to one URL, over persistent connections. It uses HTTP/1.1, or HTTP/2
/// if an https server offers it.
///
/// The first call connects. Redirects are not followed, and proxies are not used. A call made while a server
/// handles another call continues its trace (`traceparent`, `tracestate`).
///
/// ```no_run
/// # async fn call() -> Result<(), Box<dyn std::error::Error>> {
/// use trunkline::client::{Client, Http};
///
/// let client = Client::new(Http::connect("http://127.0.0.1:8080")?);
/// let sum: i64 = client.call("add", [40, 2]).await?;
/// # Ok(())
/// # }
/// ```
///
/// For headers that change between calls, such as a renewed token, add a layer that inserts a
/// [`HeaderMap`] into the extensions of each call. These headers override those of the
/// [configuration](super::HttpClientConfig); in a batch, later calls override earlier ones.
///
/// ```
/// # use http::{HeaderMap, HeaderValue};
/// # use trunkline::{Call, client::{Client, Http}};
/// # fn renewed() -> HeaderValue { HeaderValue::from_static("Bearer token") }
/// use tower::util::MapRequestLayer;
///
/// let client = Client::new(Http::connect("http://127.0.0.1:8080")?);
/// let client = client.layer(MapRequestLayer::new(|mut call: Call| {
///     let headers = HeaderMap::from_iter([(http::header::AUTHORIZATION, renewed())]);
///     call.extensions_mut().insert(headers);
///     call
/// }));
/// # Ok::<(), trunkline::client::TransportError>(())
/// ```
///
/// Cloning is cheap; clones share their connections.
#[derive(Clone)]
pub struct Http {
    inner: Arc<Inner>,
    uri: Uri,
    /// The format of messages.
    format: Format,
}

struct Inner {
    client: legacy::Client<Connector, Full<Bytes>>,
    target: Arc<str>,
    /// The headers of every request.
    headers: HeaderMap,
    max_reply: usize,
}

impl Http {
    /// Creates a transport to the server at `url`, with default settings.
    ///
    /// # Errors
    /// [`TransportError::Address`] when `url` is not an `http` URL, or is an `https` URL and the feature
    /// `tls` is disabled.
    pub fn connect(url: &str) -> Result<Self, TransportError> {
        let url = url.parse::<Url>().map_err(|error| TransportError::Address {
            target: redact_url(url),
            reason: error.to_string(),
        })?;
        Self::with_config(url, HttpClientConfig::default())
    }

    /// Creates a transport to the server at `url`.
    ///
    /// # Errors
    /// When the URL is `https` and the feature `tls` or trusted root certificates are missing.
    pub fn with_config(url: Url, config: HttpClientConfig) -> Result<Self, TransportError> {
        #[cfg(feature = "tls")]
        return Self::with_roots(url, config, &Roots::default());
        #[cfg(not(feature = "tls"))]
        Ok(Self::new(&url, Connector::new(&url, &config)?, config))
    }

    /// Creates a transport to the server at `url`, whose certificate is verified with `roots` instead of the
    /// root certificates of this machine.
    ///
    /// # Errors
    /// When the URL is `https` and `roots` is empty.
    #[cfg(feature = "tls")]
    pub fn with_roots(
        url: Url,
        config: HttpClientConfig,
        roots: &Roots,
    ) -> Result<Self, TransportError> {
        Ok(Self::new(&url, Connector::new(&url, roots, &config)?, config))
    }

    fn new(url: &Url, connector: Connector, config: HttpClientConfig) -> Self {
        let client = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(config.idle_timeout)
            .pool_max_idle_per_host(config.idle_connections)
            .build(connector);
        let (uri, target) = (url.uri().clone(), url.origin().into());
        let max_reply = config.max_reply;
        let headers = headers(config);
        let inner = Arc::new(Inner { client, target, headers, max_reply });
        Self { inner, uri, format: Format::Json }
    }

    /// The URL that messages are sent to.
    #[must_use]
    pub fn url(&self) -> String {
        self.uri.to_string()
    }

    /// A transport to another path of the same server, with the same settings and connections.
    ///
    /// # Errors
    /// [`TransportError::Address`] when `path` is not a path, which may be followed by a query.
    pub fn at_path(&self, path: &str) -> Result<Self, TransportError> {
        let invalid = || TransportError::Address {
            target: path.to_owned(),
            reason: "expected a path such as /messages?id=7".to_owned(),
        };
        let mut parts = self.uri.clone().into_parts();
        let path = path.starts_with('/').then(|| path.parse().ok()).flatten();
        parts.path_and_query = Some(path.ok_or_else(invalid)?);
        let uri = Uri::from_parts(parts).map_err(|_| invalid())?;
        Ok(Self { inner: Arc::clone(&self.inner), uri, format: self.format })
    }

    /// Sends messages in this format and requests replies in it. Replies in JSON are still accepted.
    ///
    /// Params and results are converted from and to JSON: in EDN, field names are sent as keywords and strings as
    /// strings, and keywords in results become strings. For values without a JSON equivalent,
    /// [`post`](Self::post) a text and read the reply with [`Reply::text`].
    ///
    /// A batch is converted as a whole: it fails with [`TransportError::Inconvertible`] if the params of one call
    /// cannot be represented in the format, for example because of duplicate keys in an object. A reply with a
    /// result that cannot be represented in JSON, such as `##Inf`, is [malformed](ProtocolError::Malformed).
    ///
    /// ```
    /// # use trunkline::{Params, Router, Server, client::{Client, Http}, edn};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let rpc = Router::new().method("add", |Params((a, b)): Params<(i64, i64)>| a + b).build()?;
    /// # let server = Server::bind("127.0.0.1:0").serve(rpc).await?;
    /// # let url = format!("http://{}", server.local_addr());
    /// let http = Http::connect(&url)?.format(edn::FORMAT);
    /// let client = Client::new(http.clone());
    /// assert_eq!(client.call::<i64>("add", [40, 2]).await?, 42);
    ///
    /// let request = r#"{:jsonrpc "2.0", :method "add", :params [40 2], :id :sum}"#;
    /// let reply = http.post(Default::default(), request.into()).await?.text().await?;
    /// assert_eq!(reply.unwrap(), r#"{:jsonrpc "2.0", :result 42, :id :sum}"#);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn format(self, format: Format) -> Self {
        Self { format, ..self }
    }

    /// Posts a body and returns the reply once its headers have arrived. This is for protocols with their own
    /// headers, or with replies other than a JSON text.
    ///
    /// `headers` override those of the configuration. Unlike calls, the request has no timeout.
    ///
    /// # Errors
    /// When the connection fails or the headers of the reply do not arrive.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection. The server may have run the request.
    pub async fn post(&self, headers: HeaderMap, body: Bytes) -> Result<Reply, TransportError> {
        self.send(Method::POST, headers, body).await
    }

    /// Sends a GET request, like [`post`](Self::post).
    ///
    /// # Errors
    /// As for [`post`](Self::post).
    pub async fn get(&self, headers: HeaderMap) -> Result<Reply, TransportError> {
        self.send(Method::GET, headers, Bytes::new()).await
    }

    /// Sends a DELETE request, which ends a session in some protocols, like [`post`](Self::post).
    ///
    /// # Errors
    /// As for [`post`](Self::post).
    pub async fn delete(&self, headers: HeaderMap) -> Result<Reply, TransportError> {
        self.send(Method::DELETE, headers, Bytes::new()).await
    }

    async fn send(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Reply, TransportError> {
        let Inner { target, headers: common, max_reply, .. } = &*self.inner;
        let mut request = Request::new(Full::new(body));
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = common.clone();
        self.announce(request.headers_mut());
        if method != Method::POST {
            request.headers_mut().remove(CONTENT_TYPE);
        }
        *request.method_mut() = method;
        if let Some(parent) = traceparent() {
            request.headers_mut().insert(HeaderName::from_static("traceparent"), parent);
            let state = TraceState::current();
            if let Some(Ok(state)) = state.map(|state| HeaderValue::try_from(state.as_str())) {
                request.headers_mut().insert(HeaderName::from_static("tracestate"), state);
            }
        }
        request.headers_mut().extend(headers);
        let response = self.start(request).await;
        let response = response.map_err(|error| transport_error(target, error))?;
        Ok(Reply::new(response, Arc::clone(target), *max_reply, self.format))
    }

    /// Starts a request.
    ///
    /// Outside of an async function, whose code is compiled in each program that awaits it, so that the connections of
    /// hyper are compiled in this crate.
    #[inline(never)]
    fn start(&self, request: Request<Full<Bytes>>) -> legacy::ResponseFuture {
        self.inner.client.request(request)
    }

    /// Sets the media types of a format other than JSON.
    fn announce(&self, headers: &mut HeaderMap) {
        if self.format != Format::Json {
            let accept = format!("{}, application/json;q=0.5", self.format.media_type());
            headers.extend(HeaderValue::try_from(accept).map(|accept| (ACCEPT, accept)));
            let content_type = HeaderValue::from_static(self.format.content_type());
            headers.insert(CONTENT_TYPE, content_type);
        }
    }

    /// Converts a message to the format of this transport.
    fn encode(&self, json: Bytes) -> Result<Bytes, TransportError> {
        if self.format == Format::Json {
            return Ok(json);
        }
        self.format.write(json.into()).map(Bytes::from).map_err(|error| {
            let target = self.inner.target.to_string();
            TransportError::Inconvertible { target, reason: error.to_string() }
        })
    }
}

impl Transport for Http {
    fn send(&self, message: Message) -> TransportFuture<'_> {
        Box::pin(async move {
            let reply = self.post(message.headers, self.encode(message.body)?).await?;
            let status = reply.status;
            match reply.json().await? {
                None if !message.ids.is_empty() => Err(ProtocolError::Empty { status }.into()),
                body => Ok::<_, Failure>(body),
            }
        })
    }

    fn target(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.inner.target)
    }
}

/// The error of a request without a response.
fn transport_error(target: &str, error: legacy::Error) -> TransportError {
    let target = target.to_owned();
    let cause = error.source().and_then(|cause| cause.downcast_ref::<hyper::Error>());
    let is_not_http = cause.is_some_and(hyper::Error::is_parse);
    // A canceled request was not written: the server closed the connection before.
    let is_unsent = error.is_connect() || cause.is_some_and(hyper::Error::is_canceled);
    let source = Arc::new(error);
    match (is_unsent, is_not_http) {
        (true, _) => TransportError::Connect { target, source },
        (false, true) => TransportError::NotHttp { target, source },
        (false, false) => TransportError::Broken { target, source: Some(source) },
    }
}

fn headers(settings: HttpClientConfig) -> HeaderMap {
    const JSON: HeaderValue = HeaderValue::from_static("application/json");
    let mut headers = settings.headers;
    headers.insert(ACCEPT, JSON);
    headers.insert(CONTENT_TYPE, JSON);
    if let Some(bearer) = settings.bearer {
        headers.insert(AUTHORIZATION, bearer.header());
    }
    headers
}

/// The span of the call that is being handled, or of this call if a layer traces it.
fn traceparent() -> Option<HeaderValue> {
    HeaderValue::try_from(TraceContext::current()?.to_string()).ok()
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").field("target", &self.inner.target).finish_non_exhaustive()
    }
}
