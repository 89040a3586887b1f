//! The HTTP door: one request, its calls, one reply.
//!
//! Every JSON-RPC reply is 200, errors included (see [`StatusPolicy`]); a body of notifications
//! is 204, sent when their handlers have finished. What this door refuses has the status that HTTP
//! gives it, and a JSON-RPC error object as its body:
//!
//! | status | when |
//! |---|---|
//! | 400 | malformed: Host missing or twice, Content-Type or Content-Length twice, broken chunks |
//! | 401 | a token is needed (`WWW-Authenticate`) |
//! | 403 | a Host or an Origin that is not listed |
//! | 404 | another path |
//! | 405 | another method than POST and OPTIONS (`Allow`) |
//! | 408 | the body took too long; the connection is closed |
//! | 413 | the body is too large; the connection is closed |
//! | 415 | not JSON in UTF-8, or compressed |
//! | 417 | an `Expect` other than `100-continue` |
//! | 501 | a `Transfer-Encoding` other than `chunked`; the connection is closed |
//!
//! [`Server`](crate::Server) adds 503 (it is stopping; nothing was run), with such a body, and what
//! hyper refuses before the door sees it, with an *empty* body: 400 (a head or a length that cannot
//! be read), 414 (a target over 64 KiB) and 431 (a head over 128 KiB or 100 fields).

mod authority;
mod bearer;
mod body;
mod host;
mod negotiate;
mod origin;
mod refusal;
mod request;
mod settings;
mod status;

use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::Full;
use tower::Service;

use crate::extensions::Extensions;
use crate::rpc::{Reply, Rpc};

pub use authority::Hosts;
pub use bearer::Tokens;
pub use host::{Host, HostError};
pub use origin::{Origin, OriginError};
pub use request::{Headers, Peer};
pub use settings::Settings;
pub use status::StatusPolicy;

use refusal::Refusal;
use request::Head;

/// An [`Rpc`] as a service of HTTP requests: a [`Server`](crate::Server) serves it, axum mounts
/// it with `route_service`. Cloning is cheap.
#[derive(Clone)]
pub struct HttpService(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    rpc: Rpc,
    settings: Settings,
}

impl Rpc {
    /// This service behind the HTTP door, with default settings: it answers to the names of this
    /// machine's loopback, to which a [`Server`](crate::Server) adds its address.
    ///
    /// Mounted in another server that is reached under another name, it answers 403. Name it, or
    /// pass [`Hosts::Any`] behind a proxy that checks names:
    ///
    /// ```
    /// # use trunkline::{Router, http};
    /// # fn main() -> Result<(), trunkline::BuildError> {
    /// # let rpc = Router::new().method("ping", || "pong").build()?;
    /// let hosts = http::Hosts::Listed(vec!["api.example.com".into()]);
    /// let service = rpc.http_with(http::Settings { hosts, ..Default::default() });
    /// let app: axum::Router = axum::Router::new().route_service("/rpc", service);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn http(&self) -> HttpService {
        self.http_with(Settings::default())
    }

    /// This service behind the HTTP door.
    #[must_use]
    pub fn http_with(&self, settings: Settings) -> HttpService {
        HttpService(Arc::new(Inner { rpc: self.clone(), settings }))
    }
}

impl HttpService {
    /// Answers one request.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Full<Bytes>>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        self.handle_from(request, None).await
    }

    /// Answers one request of a client at `peer`.
    ///
    /// What can be told before the body is told before the future is made, which is moved around
    /// and should be small.
    pub(crate) fn handle_from<B>(
        &self,
        request: Request<B>,
        peer: Option<SocketAddr>,
    ) -> impl Future<Output = Response<Full<Bytes>>>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let (parts, body) = request.into_parts();
        let shared_with = origin::shared_with(&parts.headers, &self.0.settings);
        let admitted = match self.admit(&parts) {
            Ok(Admitted::Call) => Ok(Extensions::of(Head::new(parts, peer))),
            Ok(Admitted::Options) => Err(options(&parts, shared_with.is_some())),
            Err(refusal) => Err(refusal.response()),
        };
        async move {
            let mut response = match admitted {
                Ok(extensions) => self.answer(extensions, body).await,
                Err(response) => response,
            };
            if let Some(origin) = shared_with {
                origin::share(response.headers_mut(), origin);
            }
            response
        }
    }

    /// The address of the server is one of the names that clients may call it.
    pub(crate) fn bind(&mut self, address: SocketAddr) {
        Arc::make_mut(&mut self.0).settings.hosts.bind(address);
    }

    /// Everything that can be told before the body: what fails here has cost nothing yet.
    fn admit(&self, parts: &Parts) -> Result<Admitted, Refusal> {
        let settings = &self.0.settings;
        authority::check(parts, &settings.hosts)?;
        let path = parts.uri.path();
        let options = parts.method == Method::OPTIONS;
        let served = |known: &String| known == path;
        let anything = settings.paths.is_empty() || (options && path == "*");
        if !anything && !settings.paths.iter().any(served) {
            return Err(Refusal::Path);
        }
        // A browser's question whether it may call is answered, whoever asks; without the CORS
        // headers the answer is no.
        if options {
            return Ok(Admitted::Options);
        }
        origin::check(parts, settings)?;
        if parts.method != Method::POST {
            return Err(Refusal::Method);
        }
        settings.bearer.check(&parts.headers)?;
        body::check_framing(&parts.headers)?;
        negotiate::check(&parts.headers)?;
        Ok(Admitted::Call)
    }

    async fn answer<B>(&self, extensions: Extensions, body: B) -> Response<Full<Bytes>>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let Settings { max_body, body_timeout, status_policy, .. } = &self.0.settings;
        let body = match body::read(body, *max_body, *body_timeout).await {
            Ok(body) => body,
            Err(refusal) => return refusal.response(),
        };
        let reply = self.0.rpc.handle(body, extensions).await;
        respond(status_policy.status(&reply), reply)
    }
}

/// What is wanted of a request that may come in.
enum Admitted {
    Call,
    Options,
}

fn respond(status: StatusCode, reply: Reply) -> Response<Full<Bytes>> {
    let json = reply.into_json();
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    if let Some(json) = json {
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        *response.body_mut() = Full::new(Bytes::from(json));
    }
    response
}

fn options(parts: &Parts, shared: bool) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(ALLOW, refusal::METHODS);
    if shared && origin::is_preflight(parts) {
        origin::grant(headers);
        // Some clients take nothing but 200 for a granted preflight.
        *response.status_mut() = StatusCode::OK;
    }
    response
}

impl<B> Service<Request<B>> for HttpService
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.handle(request).await) })
    }
}

impl From<Rpc> for HttpService {
    fn from(rpc: Rpc) -> Self {
        rpc.http()
    }
}

impl fmt::Debug for HttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpService").field("settings", &self.0.settings).finish_non_exhaustive()
    }
}
