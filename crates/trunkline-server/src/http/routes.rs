//! The routes of endpoints other than JSON-RPC, and their layers.

use std::convert::Infallible;
use std::fmt;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::extract::Request;
use axum::routing::post;
use http::{Method, Response, StatusCode};
use tower::{Service, layer::layer_fn};
use trunkline_core::call::MaybeReady;
use trunkline_core::error::ErrorObject;
use trunkline_core::extensions::JSON_RPC;
use trunkline_core::format::Format;
use trunkline_core::reply::Reply;

use super::accept::accepts_by_name;
use super::authenticate::Authenticator;
use super::credentials::principal;
use super::endpoint::Endpoint;
use super::extract::{Admitted, Message};
use super::fields::Fields;
use super::guard::Guard;
use super::negotiate;
use super::refusal::Refusal;
use super::reply_body::ReplyBody;
use super::validity::Accepted;

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

/// The callers that may use routes.
#[derive(Debug, Clone)]
enum RouteAccess {
    /// Those that the service, or one of these, authenticates.
    Authenticated(Vec<Arc<dyn Authenticator>>),
    /// Everyone.
    Public,
}

/// A handler of messages posted to a path.
#[derive(Clone)]
pub(super) struct MessageHandler(Arc<dyn Fn(Message) -> ResponseFuture + Send + Sync>);

/// The future response of a handler of [messages](Routes::messages).
pub type ResponseFuture = MaybeReady<Response<ReplyBody>>;

impl MessageHandler {
    pub(super) fn new(answer: impl Fn(Message) -> ResponseFuture + Send + Sync + 'static) -> Self {
        Self(Arc::new(answer))
    }

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
        let endpoint = Endpoint { name, protocol: JSON_RPC, formats, has_routes: true, refusal };
        let access = RouteAccess::Authenticated(Vec::new());
        Self { endpoint, router, messages: Vec::new(), access }
    }

    /// Also accepts requests that this authenticates, if they have no credentials of the service, such as those with the
    /// cookie of a session. GET requests that are not authenticated and accept `text/html` by name, as sent by browsers,
    /// get its [page](Authenticator::page).
    ///
    /// [Handlers of messages](Self::messages) are excluded.
    pub fn authenticator(mut self, authenticator: Arc<dyn Authenticator>) -> Self {
        match &mut self.access {
            RouteAccess::Authenticated(all) => all.push(authenticator),
            RouteAccess::Public => {}
        }
        self
    }

    /// Accepts requests without credentials, for static files and sign-in forms. The principal is not set.
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
        self.messages.push((path.to_owned(), MessageHandler::new(handler)));
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
    /// With those of the [service](trunkline_core::dispatch::Dispatcher::formats), requests are negotiated by `Content-Type` and `Accept`; handlers
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
        // The service that is ready handles the request.
        let clone = self.clone();
        let Self { mut route, admitted, access } = mem::replace(self, clone);
        Box::pin(async move {
            let Admitted { guard, endpoint } = admitted.clone();
            let (mut parts, body) = request.into_parts();
            let format = negotiate::refused(&parts.headers, endpoint.formats);
            let fields = Fields::of(&parts.headers);
            let (checked, others) = match &*access {
                RouteAccess::Public => {
                    (guard.admit_anonymous(&parts, &fields).map(|()| None), &[][..])
                }
                RouteAccess::Authenticated(others) => {
                    (guard.admit(&parts, &fields, others), &**others)
                }
            };
            let principal = match checked {
                Ok(found) => principal(found).await,
                Err(refusal) => Err(refusal),
            };
            let principal = match principal {
                Ok(principal) => principal,
                Err(refusal) => {
                    let response = admitted.refuse_head(&refusal, format);
                    let has_page = parts.method == Method::GET
                        && response.status() == StatusCode::UNAUTHORIZED
                        && accepts_by_name(&parts.headers, "text/html");
                    let mut others = others.iter().filter(|_| has_page);
                    return Ok(others.find_map(|one| one.page(&parts)).unwrap_or(response));
                }
            };
            let accepted = principal.map(|principal| {
                let request = parts.clone();
                parts.extensions.insert(principal.clone());
                Accepted { request, principal, others: others.to_vec() }
            });
            parts.extensions.insert(admitted);
            let Ok(response) = route.call(Request::from_parts(parts, body)).await;
            let response = response.map(ReplyBody::from_axum);
            let response = guard.current.limit(response, || accepted);
            Ok(guard.reserve(&endpoint, response, None, format))
        })
    }
}

fn refuse_path(guard: &Guard, request: Request) -> Response<ReplyBody> {
    let (parts, _) = request.into_parts();
    let format = negotiate::refused(&parts.headers, guard.rpc.formats());
    let host = guard.check_host(&parts, &Fields::of(&parts.headers));
    let refusal = host.err().unwrap_or(Refusal::Path);
    guard.refuse(&Endpoint::CALLS, &refusal, None, format)
}
