//! The replies of the server itself: the health page and error pages.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONNECTION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use serde::Serialize;
use serde_json::json;
use trunkline_core::error::{ErrorObject, code};
use trunkline_core::format::Format;
use trunkline_core::id::Id;
use trunkline_core::reply::Reply;

use super::config::{Health, Problem, Problems};
use crate::status::Phase;

pub(super) fn is_health_check<B>(health: &Health, request: &Request<B>) -> bool {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    reads && request.uri().path() == health.path
}

/// The health page: 200 while the server runs, even with problems; 503 while it drains, so that load balancers stop
/// using it.
pub(super) fn page(health: &Health, problems: &Problems, phase: Phase) -> Response<Full<Bytes>> {
    let problems = problems.now();
    let (status, text) = match phase {
        Phase::Starting | Phase::Running if problems.is_empty() => (StatusCode::OK, "healthy"),
        Phase::Starting | Phase::Running => (StatusCode::OK, "degraded"),
        Phase::Draining | Phase::Stopped => (StatusCode::SERVICE_UNAVAILABLE, "draining"),
    };
    let (service, version) = (&health.service, &health.version);
    let page = Status { status: text, service, version, problems };
    let mut response = respond(
        status,
        serde_json::to_vec(&page).expect("text serialises into memory"),
        Format::Json,
    );
    if phase >= Phase::Draining {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

#[derive(Serialize)]
struct Status<'a> {
    status: &'static str,
    service: &'a str,
    version: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<Problem>,
}

/// 503: the server is stopping.
pub(super) fn stopping(format: Format) -> Response<Full<Bytes>> {
    let reason = "server is stopping; nothing was run";
    let mut response = unavailable(ErrorObject::new(code::BUSY, "Server is busy"), reason, format);
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// 500: the service panicked. The format of the client is lost with the request.
pub(super) fn failed() -> Response<Full<Bytes>> {
    let error = ErrorObject::internal(&"service panicked outside of a call");
    refuse(StatusCode::INTERNAL_SERVER_ERROR, error, Format::Json)
}

fn unavailable(error: ErrorObject, reason: &str, format: Format) -> Response<Full<Bytes>> {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let error = error.with_data(&json!({ "status": status.as_u16(), "reason": reason }));
    refuse(status, error, format)
}

fn refuse(status: StatusCode, error: ErrorObject, format: Format) -> Response<Full<Bytes>> {
    let reply = Reply::error(error, Some(&Id::NULL)).into_format(format);
    respond(status, reply.into_text().unwrap_or_default(), format)
}

fn respond(status: StatusCode, text: Vec<u8>, format: Format) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(format.content_type()));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
