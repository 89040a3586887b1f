//! The routes of endpoints other than JSON-RPC, and their layers.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::Request;
use axum::routing::post;
use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{Method, Response, StatusCode};
use tower::{Service, layer::layer_fn};
use trunkline_access::Principal;
use trunkline_core::error::ErrorObject;
use trunkline_core::extensions::JSON_RPC;
use trunkline_core::format::Format;
use trunkline_core::reply::Reply;

use super::accept::accepts_by_name;
use super::bearer::Caller;
use super::endpoint::Endpoint;
use super::extract::{Admitted, Message};
use super::fields::Fields;
use super::guard::Guard;
use super::refusal::Refusal;
use super::reply_body::ReplyBody;
use super::session::Sessions;
use super::{authority, negotiate, origin};

/// The routes of an endpoint: an [`axum::Router`] and the name of the endpoint.
///
/// [`HttpService::merge`](super::HttpService::merge) adds them to a service, with the same checks as JSON-RPC.
/// Handlers extract requests with [`Message`](super::Message) or [`Context`](super::Context).
///
/// ```
/// use axum::routing::get;
/// use trunkline::http::{Context, Peer, Routes};
///
/// # fn main() -> Result<(), trunkline::BuildError> {
/// let address = |context: Context| async move { format!("{:?}", Peer::of(&context.extensions)) };
/// let routes = Routes::new("whoami", axum::Router::new().route("/whoami", get(address)));
/// let service = trunkline::Router::new().build()?.http().merge(routes);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use = "routes are served when they are merged into an `HttpService`"]
pub struct Routes {
    endpoint: Endpoint,
    router: axum::Router,
    messages: Vec<(String, MessageHandler)>,
    access: RouteAccess,
}

/// The credentials that routes accept.
#[derive(Debug, Clone)]
enum RouteAccess {
    /// A bearer token.
    Token,
    /// A bearer token, or the cookie of a session.
    Session(Sessions),
    /// None: everyone may use the routes.
    Public,
}

/// A handler of messages posted to a path.
#[derive(Clone)]
pub(super) struct MessageHandler(Arc<dyn Fn(Message) -> ResponseFuture + Send + Sync>);

/// The future response of a handler of [messages](Routes::messages). A ready response needs no boxed future.
pub struct ResponseFuture(Responding);

enum Responding {
    Ready(Option<Response<ReplyBody>>),
    Later(Pin<Box<dyn Future<Output = Response<ReplyBody>> + Send>>),
}

impl ResponseFuture {
    /// A ready response.
    #[must_use]
    pub fn ready(response: Response<ReplyBody>) -> Self {
        Self(Responding::Ready(Some(response)))
    }

    /// The response of a future.
    pub fn later(future: impl Future<Output = Response<ReplyBody>> + Send + 'static) -> Self {
        Self(Responding::Later(Box::pin(future)))
    }
}

impl Future for ResponseFuture {
    type Output = Response<ReplyBody>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Responding::Ready(response) => {
                Poll::Ready(response.take().expect("polled once when ready"))
            }
            Responding::Later(future) => future.as_mut().poll(cx),
        }
    }
}

impl fmt::Debug for ResponseFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResponseFuture")
    }
}

impl MessageHandler {
    pub(super) fn answer(&self, message: Message) -> ResponseFuture {
        (self.0)(message)
    }
}

impl fmt::Debug for MessageHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MessageHandler")
    }
}

impl Routes {
    /// Creates the routes of an endpoint. `name` is its name in logs and history, such as `mcp`. The format is
    /// JSON.
    pub fn new(name: &'static str, router: axum::Router) -> Self {
        let refusal = |error| Reply::error(error, None).into_json().unwrap_or_default();
        let formats = &[Format::Json];
        let endpoint = Endpoint { name, protocol: JSON_RPC, formats, refusal };
        Self { endpoint, router, messages: Vec::new(), access: RouteAccess::Token }
    }

    /// Also accepts the cookie of a session in place of the header `Authorization`. Browsers without a session, whose
    /// GET requests accept `text/html` by name, get the [sign-in page](super::SessionConfig::sign_in_page).
    ///
    /// [Handlers of messages](Self::messages) are excluded.
    pub fn sessions(mut self, sessions: &Sessions) -> Self {
        self.access = RouteAccess::Session(sessions.clone());
        self
    }

    /// Accepts requests without a token, for static files and sign-in forms. The principal is not set.
    pub fn public(mut self) -> Self {
        self.access = RouteAccess::Public;
        self
    }

    /// Puts the routes under another path, such as `/console/data`.
    ///
    /// # Panics
    /// When the path does not begin with `/`, or is `/`.
    pub fn nest(mut self, path: &str) -> Self {
        self.router = axum::Router::new().nest(path, self.router);
        self.messages.iter_mut().for_each(|(known, _)| known.insert_str(0, path));
        self
    }

    /// Adds a handler of messages posted to `path`.
    ///
    /// The path is matched before axum's routing, which costs more than a small call.
    ///
    /// # Panics
    /// When the router has a route for POST requests to this path.
    pub fn messages(
        mut self,
        path: &'static str,
        handler: impl Fn(Message) -> ResponseFuture + Clone + Send + Sync + 'static,
    ) -> Self {
        self.router = self.router.route(path, post(handler.clone()));
        self.messages.push((path.to_owned(), MessageHandler(Arc::new(handler))));
        self
    }

    /// The endpoint and handler of messages posted to `path`.
    pub(super) fn handler(&self, path: &str) -> Option<(Endpoint, &MessageHandler)> {
        let (_, handler) = self.messages.iter().find(|(known, _)| known == path)?;
        Some((self.endpoint, handler))
    }

    /// Sets the protocol of requests in history and traces, unless a handler
    /// [changes it](trunkline_core::extensions::Extensions::with_protocol). Default: `jsonrpc`.
    pub fn protocol(mut self, protocol: &'static str) -> Self {
        self.endpoint.protocol = protocol;
        self
    }

    /// Sets the formats of messages. A POST in another format returns 415. Default: JSON.
    ///
    /// With [`Format::ALL`], requests are negotiated by `Content-Type` and `Accept`; handlers
    /// [read](Format::read) and [write](Format::write) in the formats of each [`Message`](super::Message).
    pub fn formats(mut self, formats: &'static [Format]) -> Self {
        self.endpoint.formats = formats;
        self
    }

    /// Sets the JSON body of requests that HTTP refuses, for protocols other than JSON-RPC.
    pub fn refusals(mut self, body: fn(ErrorObject) -> Vec<u8>) -> Self {
        self.endpoint.refusal = body;
        self
    }
}

/// Routes named `http`.
impl From<axum::Router> for Routes {
    fn from(router: axum::Router) -> Self {
        Self::new("http", router)
    }
}

/// The merged routes in their layers. The first layer is the innermost.
///
/// # Panics
/// When two routes overlap.
pub(super) fn layered(guard: &Arc<Guard>, routes: &[Routes]) -> axum::Router {
    let mut app = axum::Router::new();
    for Routes { endpoint, router, access, .. } in routes {
        let admitted = Admitted { guard: Arc::clone(guard), endpoint: *endpoint };
        let router = router
            .clone()
            .reset_fallback()
            .method_not_allowed_fallback(async |request| Admitted::refuse_method(request))
            .layer(layer_fn({
                let access = Arc::new(access.clone());
                move |route| Guarded { route, admitted: admitted.clone(), access: access.clone() }
            }));
        app = app.merge(router);
    }
    let not_found = Arc::clone(guard);
    app.fallback(async move |request| refuse_path(&not_found, request))
}

/// A route whose requests first pass the checks of the JSON-RPC path. It reserves memory for the reply.
///
/// `axum::middleware::from_fn` would box the route and the response again.
#[derive(Clone)]
struct Guarded<S> {
    route: S,
    admitted: Admitted,
    access: Arc<RouteAccess>,
}

impl<S> Guarded<S> {
    /// Checks a request, with the credentials that the routes accept.
    fn admit(&self, parts: &Parts) -> Result<Caller, Refusal> {
        let guard = &self.admitted.guard;
        let mut fields = Fields::of(&parts.headers);
        let session = match &*self.access {
            RouteAccess::Token => None,
            RouteAccess::Public => {
                return guard.admit_anonymous(parts, &fields).map(|()| Caller::Anonymous);
            }
            RouteAccess::Session(_) if fields.authorization.first.is_some() => None,
            RouteAccess::Session(sessions) => sessions.authorization(&parts.headers),
        };
        if let Some(authorization) = &session {
            // A browser sends the cookie with requests of other pages on the same host, too.
            if !parts.method.is_safe() && !origin::is_own(&fields, &parts.uri) {
                return Err(Refusal::ForeignForm);
            }
            fields.authorization.first = Some(authorization);
        }
        guard.admit(parts, &fields)
    }

    /// The response to a refused request.
    fn refuse(&self, parts: &Parts, refusal: &Refusal, format: Format) -> Response<ReplyBody> {
        let response = self.admitted.refuse_head(refusal, format);
        let is_unauthenticated = response.status() == StatusCode::UNAUTHORIZED;
        match &*self.access {
            RouteAccess::Session(sessions)
                if is_unauthenticated
                    && parts.method == Method::GET
                    && accepts_by_name(&parts.headers, "text/html") =>
            {
                sessions.sign_in_page(&parts.uri)
            }
            _ => response,
        }
    }
}

type Answer = Pin<Box<dyn Future<Output = Result<Response<ReplyBody>, Infallible>> + Send>>;

impl<S> Service<Request> for Guarded<S>
where
    S: Service<Request, Response = axum::response::Response, Error = Infallible>,
    S: Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response<ReplyBody>;
    type Error = Infallible;
    type Future = Answer;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.route.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Answer {
        let (parts, body) = request.into_parts();
        let format = negotiate::refused(&parts.headers, self.admitted.endpoint.formats);
        match self.admit(&parts) {
            Ok(Caller::Anonymous) => self.answer(parts, body, None, format),
            Ok(Caller::Known(principal)) => self.answer(parts, body, Some(principal), format),
            #[cfg(feature = "jwt")]
            Ok(caller @ Caller::Pending(_)) => {
                let mut guarded = self.clone();
                Box::pin(async move {
                    match caller.principal().await {
                        Ok(principal) => guarded.answer(parts, body, principal, format).await,
                        Err(refusal) => Ok(guarded.refuse(&parts, &refusal, format)),
                    }
                })
            }
            Err(refusal) => Box::pin(std::future::ready(Ok(self.refuse(&parts, &refusal, format)))),
        }
    }
}

impl<S> Guarded<S>
where
    S: Service<Request, Response = axum::response::Response, Error = Infallible>,
    S::Future: Send + 'static,
{
    fn answer(
        &mut self,
        mut parts: Parts,
        body: Body,
        principal: Option<Principal>,
        format: Format,
    ) -> Answer {
        let authorization = match &*self.access {
            RouteAccess::Session(sessions) if !parts.headers.contains_key(AUTHORIZATION) => {
                sessions.authorization(&parts.headers)
            }
            _ => parts.headers.get(AUTHORIZATION).cloned(),
        };
        let caller = principal.clone().zip(authorization);
        if let Some(principal) = principal {
            parts.extensions.insert(principal);
        }
        let admitted = self.admitted.clone();
        parts.extensions.insert(admitted.clone());
        let answer = self.route.call(Request::from_parts(parts, body));
        Box::pin(async move {
            let Ok(response) = answer.await;
            let response = response.map(ReplyBody::from_axum);
            let response = admitted.guard.tokens.limit(response, caller);
            Ok(admitted.guard.reserve(&admitted.endpoint, response, None, format))
        })
    }
}

fn refuse_path(guard: &Guard, request: Request) -> Response<ReplyBody> {
    let (parts, _) = request.into_parts();
    let format = negotiate::refused(&parts.headers, Format::ALL);
    let host = authority::check(&parts, Fields::of(&parts.headers).host, &guard.settings.hosts);
    let refusal = host.err().unwrap_or(Refusal::Path);
    guard.refuse(&Endpoint::CALLS, &refusal, None, format)
}
