//! Extractors for handlers of [`Routes`](super::Routes).

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Request};
use bytes::Bytes;
use http::request::Parts;
use http::{Response, StatusCode};
use trunkline_core::error::ErrorObject;
use trunkline_core::extensions::Extensions;
use trunkline_core::format::{Format, Formats};
use trunkline_core::reply::Reply;

use super::endpoint::Endpoint;
use super::fields::Fields;
use super::guard::Guard;
use super::negotiate;
use super::refusal::Refusal;
use super::reply_body::ReplyBody;
use super::respond::respond;
use super::status::StatusPolicy;
use crate::request::Head;

/// Extracts a request with its body.
///
/// It checks `Expect`, `Content-Encoding` and `Content-Type`, and reads the body with the limits of
/// [`HttpConfig`](super::HttpConfig) and the [memory budget](trunkline_core::limits::MemoryBudget). It refuses
/// invalid requests with the status in the [table of the module](super).
#[derive(Debug)]
#[non_exhaustive]
pub struct Message {
    /// The extensions of the calls of this request: headers, peer, principal, and values set by middleware.
    pub extensions: Extensions,
    /// The body, declared to be UTF-8 text in the format of the request.
    pub body: Bytes,
    /// The formats of the request and of its reply.
    pub formats: Formats,
    /// The status of JSON-RPC replies, as [set](super::HttpConfig::status_policy).
    pub status_policy: StatusPolicy,
}

/// Extracts a request without its body, for GET.
#[derive(Debug)]
#[non_exhaustive]
pub struct Context {
    /// The extensions of the calls of this request: headers, peer, principal, and values set by middleware.
    pub extensions: Extensions,
    /// The format of the reply.
    pub format: Format,
}

/// Extracts a request with its body, of any type and coding, which it reads with the limits of
/// [`HttpConfig`](super::HttpConfig) and the [memory budget](trunkline_core::limits::MemoryBudget).
#[derive(Debug)]
#[non_exhaustive]
pub struct Payload {
    /// The extensions of the calls of this request: headers, peer, principal, and values set by middleware.
    pub extensions: Extensions,
    /// The body.
    pub body: Bytes,
}

/// The endpoint of a request that has passed the guard.
#[derive(Clone)]
pub(super) struct Admitted {
    pub(super) guard: Arc<Guard>,
    pub(super) endpoint: Endpoint,
}

impl Admitted {
    fn of(parts: &mut Parts) -> Option<Self> {
        parts.extensions.remove()
    }

    fn extensions(&self, parts: Parts) -> Extensions {
        let Endpoint { name, protocol, .. } = self.endpoint;
        let policy = self.guard.settings.policy.clone();
        Extensions::from_origin(Head::new(parts, None, name, protocol, policy))
    }

    /// Refuses a request with a method that its path does not support.
    pub(super) fn refuse_method(request: Request) -> Response<ReplyBody> {
        let (mut parts, _) = request.into_parts();
        let Some(admitted) = Self::of(&mut parts) else { return unguarded() };
        admitted.refuse(&Refusal::Method(parts.method.clone()), parts)
    }

    /// Refuses a request that did not pass the guard.
    pub(super) fn refuse_head(&self, refusal: &Refusal, format: Format) -> Response<ReplyBody> {
        self.guard.refuse(&self.endpoint, refusal, None, format)
    }

    async fn read(
        &self,
        body: Body,
        extensions: &Extensions,
        format: Format,
    ) -> Result<Bytes, Response<ReplyBody>> {
        let read = self.guard.read(body).await;
        read.map_err(|refusal| {
            self.guard.refuse(&self.endpoint, &refusal, Some(extensions), format)
        })
    }

    fn refuse(&self, refusal: &Refusal, parts: Parts) -> Response<ReplyBody> {
        let format = negotiate::refused(&parts.headers, self.endpoint.formats);
        self.guard.refuse(&self.endpoint, refusal, Some(&self.extensions(parts)), format)
    }
}

impl<S: Sync> FromRequest<S> for Message {
    type Rejection = Response<ReplyBody>;

    async fn from_request(request: Request, _: &S) -> Result<Self, Self::Rejection> {
        let (mut parts, body) = request.into_parts();
        let admitted = Admitted::of(&mut parts).ok_or_else(unguarded)?;
        let formats = match negotiate::check(&Fields::of(&parts.headers), admitted.endpoint.formats)
        {
            Ok(formats) => formats,
            Err(refusal) => return Err(admitted.refuse(&refusal, parts)),
        };
        let extensions = admitted.extensions(parts);
        let body = admitted.read(body, &extensions, formats.reply).await?;
        let status_policy = admitted.guard.settings.status_policy;
        Ok(Self { extensions, body, formats, status_policy })
    }
}

impl<S: Sync> FromRequestParts<S> for Context {
    type Rejection = Response<ReplyBody>;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let mut parts = parts.clone();
        let admitted = Admitted::of(&mut parts).ok_or_else(unguarded)?;
        let format = negotiate::without_body(&parts.headers, admitted.endpoint.formats);
        Ok(Self { extensions: admitted.extensions(parts), format })
    }
}

impl<S: Sync> FromRequest<S> for Payload {
    type Rejection = Response<ReplyBody>;

    async fn from_request(request: Request, _: &S) -> Result<Self, Self::Rejection> {
        let (mut parts, body) = request.into_parts();
        let admitted = Admitted::of(&mut parts).ok_or_else(unguarded)?;
        let format = negotiate::refused(&parts.headers, admitted.endpoint.formats);
        let extensions = admitted.extensions(parts);
        let body = admitted.read(body, &extensions, format).await?;
        Ok(Self { extensions, body })
    }
}

/// The response of a handler in a router that is not merged into an `HttpService`.
fn unguarded() -> Response<ReplyBody> {
    let error = ErrorObject::internal(&"route is not merged into an `HttpService`");
    respond(StatusCode::INTERNAL_SERVER_ERROR, Reply::error(error, None))
}
