//! The HTTP door as a service: who is let in, and who answers.

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
use tower::Service;
use trunkline_core::extensions::Extensions;
use trunkline_core::format::{Format, Formats};
use trunkline_core::limits::Reservation;
use trunkline_core::reply::Reply;

use super::cors::Sharing;
use super::door::{Door, DoorRequest};
use super::plan::{Admitted, Arrived, DoorHead, Plan, Planned};
use super::refusal::Refusal;
use super::reply_body::ReplyBody;
use super::route::{self, Route};
use super::settings::Settings;
use super::{authority, bearer, body, cors, denial, negotiate, origin};
use crate::rpc::Rpc;

/// An [`Rpc`] as a service of HTTP requests: a [`Server`](crate::Server) serves it, axum mounts
/// it with `route_service`. Cloning is cheap.
#[derive(Clone)]
pub struct HttpService(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    rpc: Rpc,
    settings: Settings,
    doors: Vec<Arc<dyn Door>>,
}

impl Rpc {
    /// This service behind the HTTP door, with default settings: it answers to the names of this
    /// machine's loopback, to which a [`Server`](crate::Server) adds its address.
    ///
    /// Mounted in another server that is reached under another name, it answers 403. Name it, or
    /// pass [`Hosts::Any`](super::Hosts::Any) behind a proxy that checks names:
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
        HttpService(Arc::new(Inner { rpc: self.clone(), settings, doors: Vec::new() }))
    }
}

impl HttpService {
    /// Adds a door, whose paths go before those of [`Settings::paths`].
    #[must_use]
    pub fn door(mut self, door: Arc<dyn Door>) -> Self {
        Arc::make_mut(&mut self.0).doors.push(door);
        self
    }

    /// Answers one request.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<ReplyBody>
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
    ) -> impl Future<Output = Response<ReplyBody>>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let (parts, body) = request.into_parts();
        let sharing = Sharing::of(&parts.headers, &self.0.settings);
        let route = self.route(parts.uri.path());
        let planned = match self.admit(&parts, route) {
            Ok(Admitted::Call(caller, formats)) => {
                Arrived { parts, peer, route, formats }.of(caller)
            }
            Ok(Admitted::Options) => {
                Planned::Now(Plan::Answered(options(&parts, route, sharing.is_granted())))
            }
            Err(refusal) => {
                let format = negotiate::refused(&parts.headers, route);
                Planned::Now(Plan::Refused(refusal, format))
            }
        };
        async move {
            #[cfg(not(feature = "jwt"))]
            let Planned::Now(plan) = planned;
            #[cfg(feature = "jwt")]
            let plan = match planned {
                Planned::Now(plan) => plan,
                Planned::Later(plan) => plan.await,
            };
            let mut response = match plan {
                Plan::Calls(extensions, formats) => {
                    self.answer(formats, extensions, body, route).await
                }
                // Boxed, so that calls do not carry the room for other protocols along.
                Plan::Door(door, head) => Box::pin(self.answer_door(door, head, body, route)).await,
                Plan::Answered(response) => response,
                Plan::Refused(refusal, format) => self.refuse(route, &refusal, None, format),
            };
            sharing.mark(response.headers_mut());
            response
        }
    }

    /// The address of the server is one of the names that clients may call it.
    pub(crate) fn bind(&mut self, address: SocketAddr) {
        Arc::make_mut(&mut self.0).settings.hosts.allow_address(address.ip());
    }

    fn route(&self, path: &str) -> Route<'_> {
        for door in &self.0.doors {
            if let Some((_, methods)) = door.paths().iter().find(|(own, _)| *own == path) {
                return Route::Door(&**door, methods);
            }
        }
        let paths = &self.0.settings.paths;
        if paths.is_empty() || paths.iter().any(|known| known == path) {
            Route::Calls
        } else {
            Route::Nowhere
        }
    }

    /// Everything that can be told before the body: what fails here has cost nothing yet.
    fn admit(&self, parts: &Parts, route: Route<'_>) -> Result<Admitted, Refusal> {
        let settings = &self.0.settings;
        authority::check(parts, &settings.hosts)?;
        let options = parts.method == Method::OPTIONS;
        let anything = options && parts.uri.path() == "*";
        if matches!(route, Route::Nowhere) && !anything {
            return Err(Refusal::Path);
        }
        // A browser's question whether it may call is answered, whoever asks; without the CORS
        // headers the answer is no.
        if options {
            return Ok(Admitted::Options);
        }
        origin::check(parts, settings)?;
        if !route.methods().contains(&parts.method) {
            return Err(Refusal::Method(route.methods()));
        }
        let caller = bearer::check(&parts.headers, settings)?;
        body::check_framing(&parts.headers)?;
        let formats = match parts.method {
            Method::POST => negotiate::check(&parts.headers, route)?,
            _ => negotiate::without_body(&parts.headers, route),
        };
        Ok(Admitted::Call(caller, formats))
    }

    async fn answer<B>(
        &self,
        formats: Formats,
        extensions: Extensions,
        body: B,
        route: Route<'_>,
    ) -> Response<ReplyBody>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let body = match self.read(body).await {
            Ok(body) => body,
            Err(refusal) => {
                return self.refuse(route, &refusal, Some(&extensions), formats.reply);
            }
        };
        match self.0.rpc.handle_reserved(formats, body, extensions).await {
            Ok((reply, memory)) => {
                let status = self.0.settings.status_policy.status(&reply);
                self.reserved(respond(status, reply), memory, route, formats.reply)
            }
            // History has it as the refusal of a batch.
            Err(error) => route.refuse(&error.into(), formats.reply),
        }
    }

    async fn read<B>(&self, body: B) -> Result<Bytes, Refusal>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let Settings { max_body, body_timeout, .. } = self.0.settings;
        body::read(body, max_body, body_timeout, &self.0.rpc.limits().memory).await
    }

    /// A response that keeps its memory reserved; another one, if there is not enough left.
    fn reserved(
        &self,
        mut response: Response<ReplyBody>,
        memory: Option<Reservation>,
        route: Route<'_>,
        format: Format,
    ) -> Response<ReplyBody> {
        match response.body_mut().reserve(&self.0.rpc.limits().memory, memory) {
            Ok(()) => response,
            Err(error) => route.refuse(&Refusal::ReplyDropped(error), format),
        }
    }

    async fn answer_door<B>(
        &self,
        door: &dyn Door,
        head: DoorHead,
        body: B,
        route: Route<'_>,
    ) -> Response<ReplyBody>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let status_policy = self.0.settings.status_policy;
        let DoorHead { method, uri, extensions, formats } = head;
        let body = match self.read(body).await {
            Ok(body) => body,
            Err(refusal) => {
                return self.refuse(route, &refusal, Some(&extensions), formats.reply);
            }
        };
        let request = DoorRequest { method, uri, extensions, body, formats, status_policy };
        let response = door.answer(request).await;
        self.reserved(response, None, route, formats.reply)
    }

    /// Refuses a request, of which `extensions` tell who has sent it, if it was let in.
    fn refuse(
        &self,
        route: Route<'_>,
        refusal: &Refusal,
        extensions: Option<&Extensions>,
        format: Format,
    ) -> Response<ReplyBody> {
        if let Some(history) = self.0.rpc.history() {
            let unknown = || Extensions::through(route.door()).speaking(route.protocol());
            let extensions = extensions.cloned().unwrap_or_else(unknown);
            history.refused(&extensions, &refusal.error());
        }
        route.refuse(refusal, format)
    }
}

/// A reply as an HTTP response, for a [`Door`] that answers as this one does. With 401 and
/// 403 goes `WWW-Authenticate`, with 429 `Retry-After` if the error's data has `retry_after_ms`.
#[must_use]
pub fn respond(status: StatusCode, reply: Reply) -> Response<ReplyBody> {
    let (format, header) = (reply.format(), denial::header(status, &reply));
    let mut response = Response::new(ReplyBody::default());
    *response.status_mut() = status;
    if let Some(text) = reply.into_text() {
        if let Some((name, value)) = header {
            response.headers_mut().insert(name, value);
        }
        response
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static(format.content_type()));
        *response.body_mut() = ReplyBody::from(text);
    }
    response
}

fn options(parts: &Parts, route: Route<'_>, shared: bool) -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::default());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    let allowed = route::allow(route.methods());
    headers.insert(ALLOW, allowed.clone());
    if shared && cors::is_preflight(parts) {
        cors::grant(headers, allowed, &parts.headers);
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
    type Response = Response<ReplyBody>;
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
