//! The HTTP service.

use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::future::{Future, ready};
use std::mem;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::Either;
use http::header::{ALLOW, ETAG, HeaderName, ORIGIN, RETRY_AFTER, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri};
use http_body::Body;
use tower::{Layer, Service, service_fn};
use tower_http::cors::{AllowHeaders, AllowMethods, AllowOrigin, CorsLayer};
use trunkline_access::Principal;
use trunkline_core::extensions::Extensions;
use trunkline_core::format::Format;

use super::accept::accepts_by_name;
use super::coding::Coding;
use super::config::HttpConfig;
use super::credentials::principal;
use super::endpoint::Endpoint;
use super::extract::Message;
use super::fields::Fields;
use super::guard::Guard;
use super::protected_resource::ResourceMetadata;
use super::refusal::Refusal;
use super::reply_body::ReplyBody;
use super::respond::respond;
use super::response_headers::ResponseHeaders;
use super::routes::{MessageHandler, ResponseFuture, Routes, layered};
use super::validity::Accepted;
use super::{negotiate, origin, request_id};
use crate::request::{Head, Peer};
use trunkline_core::dispatch::{Dispatcher, Incoming};

/// A service of HTTP requests for JSON-RPC calls and routes. Serve it with a [`Server`](crate::Server), or mount it
/// in axum with `route_service`. Cloning is cheap; clones share the configuration and the routes.
///
/// The paths of JSON-RPC, and of other messages ([`Routes::messages`]), are matched before the [routes](Self::merge), and
/// do not pass their layers.
#[derive(Clone)]
pub struct HttpService(Arc<Shared>);

struct Shared {
    current: RwLock<Arc<Inner>>,
    /// Locked during a change, so that concurrent changes are not lost and requests do not wait for them.
    changing: Mutex<()>,
}

/// The state of a service between two changes. A request uses one.
#[derive(Clone)]
struct Inner {
    guard: Arc<Guard>,
    /// The addresses of its servers, which are accepted hosts.
    addresses: Vec<IpAddr>,
    routes: Vec<Routes>,
    /// The handler of JSON-RPC.
    calls: MessageHandler,
    /// The routes in their layers.
    router: axum::Router,
    /// `None` if no origins may read replies.
    cors: Option<CorsLayer>,
    headers: ResponseHeaders,
    metadata: Option<ResourceMetadata>,
}

impl HttpService {
    /// Creates a service.
    #[must_use]
    pub fn with_config(rpc: Dispatcher, settings: HttpConfig) -> Self {
        let inner = Inner::new(Guard::new(rpc, settings), Vec::new(), Vec::new());
        let current = RwLock::new(Arc::new(inner));
        Self(Arc::new(Shared { current, changing: Mutex::new(()) }))
    }

    /// Adds routes of another protocol, or an axum router, for all clones. Their requests pass the same checks as
    /// calls. Other paths return 404; the fallback of the router is ignored.
    ///
    /// # Panics
    /// When a route overlaps another one.
    #[must_use]
    pub fn merge(self, routes: impl Into<Routes>) -> Self {
        let added = routes.into();
        self.change(|Inner { guard, addresses, mut routes, .. }| {
            routes.push(added);
            Inner::new(Arc::unwrap_or_clone(guard), addresses, routes)
        });
        self
    }

    /// Replaces the configuration, for all clones and for requests that have not begun. Connections and routes, with
    /// their state, remain; streams of events end if their credentials are not accepted any more.
    pub fn replace_config(&self, settings: HttpConfig) {
        self.change(|Inner { guard, addresses, routes, .. }| {
            let mut settings = settings;
            for address in &addresses {
                settings.hosts.allow_address(*address);
            }
            Inner::new(Arc::unwrap_or_clone(guard).with_settings(settings), addresses, routes)
        });
        self.current().guard.end_streams();
    }

    fn change(&self, change: impl FnOnce(Inner) -> Inner) {
        let _changing = self.0.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut inner = Arc::new(change(Inner::clone(&self.current())));
        let mut current = self.0.current.write().unwrap_or_else(PoisonError::into_inner);
        // The previous state is dropped after the lock.
        mem::swap(&mut *current, &mut inner);
    }

    fn current(&self) -> Arc<Inner> {
        Arc::clone(&self.0.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Handles a request.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<ReplyBody>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        self.handle_from(request, None).await
    }

    /// Handles a request of a client at `peer`.
    pub(crate) fn handle_from<B>(
        &self,
        request: Request<B>,
        peer: Option<SocketAddr>,
    ) -> impl Future<Output = Response<ReplyBody>> + Send + use<B>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        self.current().handle(request, peer)
    }

    /// The formats of JSON-RPC.
    pub(crate) fn formats(&self) -> &'static [Format] {
        self.current().guard.rpc.formats()
    }

    /// Adds the address of the server to the accepted hosts.
    pub(crate) fn bind(&self, address: SocketAddr) {
        self.change(|Inner { guard, mut addresses, routes, .. }| {
            let mut guard = Arc::unwrap_or_clone(guard);
            guard.settings.hosts.allow_address(address.ip());
            addresses.push(address.ip());
            Inner::new(guard, addresses, routes)
        });
    }
}

impl Inner {
    fn new(guard: Guard, addresses: Vec<IpAddr>, routes: Vec<Routes>) -> Self {
        let (cors, headers) = (cors(&guard.settings), ResponseHeaders::new(&guard.settings));
        let metadata = guard.settings.protected_resource.as_ref().map(ResourceMetadata::new);
        let guard = Arc::new(guard);
        let (calls, router) = (calls(Arc::clone(&guard)), layered(&guard, &routes));
        Self { guard, addresses, routes, calls, router, cors, headers, metadata }
    }

    /// Handles a request, and adds the headers of all responses.
    ///
    /// The futures of a request are created before they are polled where possible, since an async function stores its
    /// arguments in addition to what it makes of them, and each connection has the memory of one such future.
    fn handle<B>(
        self: Arc<Self>,
        mut request: Request<B>,
        peer: Option<SocketAddr>,
    ) -> impl Future<Output = Response<ReplyBody>> + Send + use<B>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let has_id = self.guard.settings.request_ids;
        let request_id = has_id.then(|| request_id::set(request.headers_mut())).flatten();
        let service = Arc::clone(&self);
        let answer = match (self.discovery(request.uri().path()), self.cors.clone()) {
            (None, None) => Either::Left(service.answer(request, peer)),
            (Some(metadata), _) => {
                let response = self.describe(metadata, &request.into_parts().0);
                Either::Right(boxed(ready(response)))
            }
            (None, Some(cors)) => Either::Right(boxed(async move {
                let mut cors = cors.layer(service_fn(|request| async {
                    Ok::<_, Infallible>(Arc::clone(&service).answer(request, peer).await)
                }));
                let Ok(response) = cors.call(request).await;
                response
            })),
        };
        answer.map(move |mut response| {
            if let Some(metadata) = &self.metadata {
                metadata.complete_challenge(response.status(), response.headers_mut());
            }
            self.headers.add(&mut response, request_id);
            response
        })
    }

    /// Passes a request to the handler of its path.
    fn answer<B>(
        self: Arc<Self>,
        mut request: Request<B>,
        peer: Option<SocketAddr>,
    ) -> impl Future<Output = Response<ReplyBody>> + Send + use<B>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let mut handler = self.message_handler(&request);
        if handler.is_none()
            && let Some(uri) = self.without_slash(request.uri())
        {
            *request.uri_mut() = uri;
            handler = self.message_handler(&request);
        }
        match handler.map(|(endpoint, handler)| (endpoint, handler.clone())) {
            Some((endpoint, handler)) => {
                Either::Left(self.answer_message(endpoint, handler, request, peer))
            }
            None => Either::Right(boxed(route(self.router.clone(), request, peer))),
        }
    }

    /// The handler of a request whose body is a message. Its path is matched before axum's routing, which costs more
    /// than a small call.
    fn message_handler<B>(&self, request: &Request<B>) -> Option<(Endpoint, &MessageHandler)> {
        let path = request.uri().path();
        if self.has_calls(path) && !self.accepts_page(request.method(), request.headers()) {
            let formats = self.guard.rpc.formats();
            return Some((Endpoint { formats, ..Endpoint::CALLS }, &self.calls));
        }
        let is_post = request.method() == Method::POST;
        self.routes.iter().filter(|_| is_post).find_map(|routes| routes.handler(path))
    }

    /// The metadata of this service, if the path is one at which clients look for it.
    fn discovery(&self, path: &str) -> Option<&ResourceMetadata> {
        self.metadata.as_ref().filter(|_| ResourceMetadata::is_discovery(path))
    }

    /// The metadata, also for callers without a token and for pages of any origin, or 404.
    fn describe(&self, metadata: &ResourceMetadata, parts: &Parts) -> Response<ReplyBody> {
        let admitted = self.guard.admit_any_origin(parts, &Fields::of(&parts.headers));
        let found = admitted.and_then(|()| metadata.response(parts).ok_or(Refusal::Path));
        let mut response = found
            .unwrap_or_else(|refusal| self.refuse(&Endpoint::CALLS, &refusal, None, Format::Json));
        ResourceMetadata::share(response.headers_mut());
        response
    }

    /// Checks a request whose body is a message, and passes the message to its handler.
    fn answer_message<B>(
        self: Arc<Self>,
        endpoint: Endpoint,
        handler: MessageHandler,
        request: Request<B>,
        peer: Option<SocketAddr>,
    ) -> impl Future<Output = Response<ReplyBody>> + Send + use<B>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let (mut parts, body) = request.into_parts();
        let fields = Fields::of(&parts.headers);
        let admitted = self.guard.admit(&parts, &fields, &[]).and_then(|found| {
            if parts.method != Method::POST {
                return Err(Refusal::Method(parts.method.clone()));
            }
            Ok((found, negotiate::check(&fields, endpoint.formats)?))
        });
        async move {
            let guard = &self.guard;
            let admitted = match admitted {
                Ok((found, formats)) => principal(found).await.map(|found| (found, formats)),
                Err(refusal) => Err(refusal),
            };
            let (principal, formats) = match admitted {
                Ok(admitted) => admitted,
                Err(refusal) => {
                    let format = negotiate::refused(&parts.headers, endpoint.formats);
                    return self.refuse(&endpoint, &refusal, None, format);
                }
            };
            if let Some(principal) = principal {
                parts.extensions.insert(principal);
            }
            let coding = endpoint.has_routes.then(|| Coding::accepted(&parts.headers));
            let policy = guard.settings.policy.clone();
            let head = Head::new(parts, peer, endpoint.name, endpoint.protocol, policy);
            let extensions = Extensions::from_origin(head);
            let body = match guard.read(body).await {
                Ok(body) => body,
                Err(refusal) => {
                    return self.refuse(&endpoint, &refusal, Some(&extensions), formats.reply);
                }
            };
            let of_stream = endpoint.has_routes.then(|| extensions.clone());
            let status_policy = guard.settings.status_policy;
            let message = Message { extensions, body, formats, status_policy };
            let mut response = handler.answer(message).await;
            if let Some(extensions) = of_stream {
                response = guard.current.limit(response, || accepted(&extensions));
            }
            let response = guard.reserve(&endpoint, response, None, formats.reply);
            match coding {
                Some(coding) => coding.apply(response),
                None => response,
            }
        }
    }

    fn refuse(
        &self,
        endpoint: &Endpoint,
        refusal: &Refusal,
        extensions: Option<&Extensions>,
        format: Format,
    ) -> Response<ReplyBody> {
        let mut response = self.guard.refuse(endpoint, refusal, extensions, format);
        if matches!(refusal, Refusal::Method(_)) {
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
        }
        response
    }
}

impl Inner {
    fn has_calls(&self, path: &str) -> bool {
        let paths = &self.guard.settings.paths;
        match paths.is_empty() {
            true => self.routes.is_empty() || path == "/",
            false => paths.iter().any(|known| known == path),
        }
    }

    /// The URI without the slash at the end of its path, if the path without it is one that ignores the slash.
    fn without_slash(&self, uri: &Uri) -> Option<Uri> {
        let path = uri.path().strip_suffix('/')?;
        let ignores_slash = &self.guard.settings.slash_paths;
        if !ignores_slash.iter().any(|known| known == path) {
            return None;
        }
        let target = match uri.query() {
            Some(query) => format!("{path}?{query}"),
            None => path.to_owned(),
        };
        let mut parts = uri.clone().into_parts();
        parts.path_and_query = Some(target.try_into().ok()?);
        Uri::from_parts(parts).ok()
    }

    /// Whether a request at a path of JSON-RPC is that of a browser, for the routes.
    fn accepts_page(&self, method: &Method, headers: &HeaderMap) -> bool {
        self.guard.settings.html_routes
            && method == Method::GET
            && accepts_by_name(headers, "text/html")
    }
}

/// The handler of JSON-RPC messages.
fn calls(guard: Arc<Guard>) -> MessageHandler {
    MessageHandler::new(move |message| {
        let Message { extensions, body, formats, status_policy } = message;
        let guard = Arc::clone(&guard);
        let (incoming, encoding) = guard.rpc.read_with_encoding(formats, body, extensions);
        if let Incoming::Call(call) = incoming {
            let answer = guard.rpc.answer(call);
            return answer.then(move |reply| respond(status_policy.status(&reply), reply));
        }
        ResponseFuture::boxed(async move {
            match guard.rpc.answer_incoming(incoming, encoding).await {
                Ok((reply, memory)) => {
                    let response = respond(status_policy.status(&reply), reply);
                    guard.reserve(&Endpoint::CALLS, response, memory, formats.reply)
                }
                // The history records it as the refusal of a batch.
                Err(error) => Endpoint::CALLS.refuse(&error.into(), formats.reply),
            }
        })
    })
}

/// The request of a message with a principal.
fn accepted(extensions: &Extensions) -> Option<Accepted> {
    let (principal, request) = (Principal::of(extensions)?, Head::parts(extensions)?);
    Some(Accepted { request: request.clone(), principal: principal.clone(), others: Vec::new() })
}

fn boxed<T>(
    future: impl Future<Output = T> + Send + 'static,
) -> Pin<Box<dyn Future<Output = T> + Send>> {
    Box::pin(future)
}

async fn route<B>(
    mut router: axum::Router,
    mut request: Request<B>,
    peer: Option<SocketAddr>,
) -> Response<ReplyBody>
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    if peer.is_some() {
        request.extensions_mut().insert(Peer(peer));
    }
    let coding = Coding::accepted(request.headers());
    let Ok(response) = router.call(request).await;
    coding.apply(response.map(ReplyBody::from_axum))
}

/// The CORS layer, if there are origins that may read replies.
///
/// It allows any header and method, since only the routes know the supported ones.
fn cors(settings: &HttpConfig) -> Option<CorsLayer> {
    if settings.cors_origins.is_empty() {
        return None;
    }
    let origins = settings.cors_origins.clone();
    let [request_id, session_id] = ["x-request-id", "mcp-session-id"].map(HeaderName::from_static);
    let exposed = [RETRY_AFTER, WWW_AUTHENTICATE, request_id, ETAG, session_id];
    let layer = CorsLayer::new()
        .allow_origin(AllowOrigin::predicate(move |origin, _| origin::lists(&origins, origin)))
        .allow_methods(AllowMethods::mirror_request())
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(exposed)
        .max_age(Duration::from_secs(600))
        .vary([ORIGIN]);
    Some(layer)
}

impl<B> Service<Request<B>> for HttpService
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<ReplyBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let inner = self.current();
        Box::pin(async move { Ok(inner.handle(request, None).await) })
    }
}

impl fmt::Debug for HttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.current();
        let settings = &inner.guard.settings;
        f.debug_struct("HttpService").field("settings", settings).finish_non_exhaustive()
    }
}
