//! The replies of the server itself: the health pages and error pages.

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Method, Response, StatusCode};
use http_body_util::Full;
use serde::Serialize;
use serde_json::{Map, Value, json};
use trunkline_core::error::{ErrorObject, code};
use trunkline_core::format::Format;
use trunkline_core::id::Id;
use trunkline_core::reply::Reply;

use super::config::{Health, Problem, Problems, ServerConfig};
use super::readiness::Readiness;
use crate::status::Phase;

/// The pages about the state of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Page {
    /// The state of the server and its components.
    Health,
    /// Whether the process answers.
    Live,
    /// Whether the server should get calls.
    Ready,
}

impl Page {
    /// The page at a path, which may end with a slash.
    pub(super) fn at(health: &Health, path: &str) -> Option<Self> {
        match path.strip_prefix(&*health.path)? {
            "" | "/" => Some(Self::Health),
            "/live" | "/live/" => Some(Self::Live),
            "/ready" | "/ready/" => Some(Self::Ready),
            _ => None,
        }
    }

    /// Answers a request for this page.
    pub(super) async fn answer(
        self,
        method: &Method,
        settings: &ServerConfig,
        health: &Health,
        phase: Phase,
    ) -> Response<Full<Bytes>> {
        if !matches!(*method, Method::GET | Method::HEAD) {
            let error = ErrorObject::new(code::INVALID_REQUEST, "Method not allowed");
            let mut response = refuse(StatusCode::METHOD_NOT_ALLOWED, error, Format::Json);
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        let mut response = match self {
            Self::Health => page(health, &settings.problems, phase),
            Self::Live => json_page(StatusCode::OK, &json!({ "status": "alive" })),
            Self::Ready if phase >= Phase::Draining => {
                json_page(StatusCode::SERVICE_UNAVAILABLE, &json!({ "status": "draining" }))
            }
            Self::Ready => ready(&settings.readiness).await,
        };
        if phase >= Phase::Draining {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// The readiness page: 200 if all checks succeed, otherwise 503.
async fn ready(readiness: &Readiness) -> Response<Full<Bytes>> {
    let failures = readiness.failures().await;
    let result = |name: &'static str| {
        let failure = failures.iter().find(|(failed, _)| *failed == name);
        (name.to_owned(), failure.map_or("ok", |(_, reason)| reason).into())
    };
    let checks: Map<String, Value> = readiness.names().map(result).collect();
    let (status, text) = match failures.is_empty() {
        true => (StatusCode::OK, "ready"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "not ready"),
    };
    json_page(status, &json!({ "status": text, "checks": checks }))
}

/// The health page: 200 while the server runs, even with problems; 503 while it drains, so that load balancers stop
/// using it.
fn page(health: &Health, problems: &Problems, phase: Phase) -> Response<Full<Bytes>> {
    let problems = problems.now();
    let (status, text) = match phase {
        Phase::Starting | Phase::Running if problems.is_empty() => (StatusCode::OK, "healthy"),
        Phase::Starting | Phase::Running => (StatusCode::OK, "degraded"),
        Phase::Draining | Phase::Stopped => (StatusCode::SERVICE_UNAVAILABLE, "draining"),
    };
    let (service, version) = (&health.service, &health.version);
    json_page(status, &Status { status: text, service, version, problems })
}

fn json_page(status: StatusCode, page: &impl Serialize) -> Response<Full<Bytes>> {
    let text = serde_json::to_vec(page).expect("text serialises into memory");
    respond(status, text, Format::Json)
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
