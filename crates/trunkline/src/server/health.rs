//! The health page, and what a draining server answers.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONNECTION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use serde::Serialize;
use serde_json::json;

use super::settings::Health;
use super::status::Phase;
use crate::error::{ErrorObject, code};
use crate::outcome::Outcome;

pub(super) fn is_asked<B>(health: &Health, request: &Request<B>) -> bool {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    reads && request.uri().path() == health.path
}

/// 200 while the server runs, 503 afterwards, so that load balancers turn away in time.
pub(super) fn page(health: &Health, phase: Phase) -> Response<Full<Bytes>> {
    let (status, word) = match phase {
        Phase::Starting | Phase::Running => (StatusCode::OK, "healthy"),
        Phase::Draining | Phase::Stopped => (StatusCode::SERVICE_UNAVAILABLE, "draining"),
    };
    let page = Status { status: word, service: &health.service, version: &health.version };
    let mut response =
        respond(status, serde_json::to_vec(&page).expect("text serialises into memory"));
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
}

/// 503 with a JSON-RPC error object.
pub(super) fn stopping() -> Response<Full<Bytes>> {
    let data = json!({ "status": 503, "reason": "the server is stopping; nothing was run" });
    let error = ErrorObject::new(code::BUSY, "Server is busy").with_data(&data);
    let mut response =
        respond(StatusCode::SERVICE_UNAVAILABLE, Outcome::error(error).into_response(b"null"));
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

fn respond(status: StatusCode, json: Vec<u8>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(json)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
