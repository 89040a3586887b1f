//! The replies of the server itself: the health pages and error pages.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::get;
use http::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use serde::Serialize;
use serde_json::{Map, Value, json};
use tower::ServiceExt;
use trunkline_core::error::{ErrorObject, code};
use trunkline_core::format::Format;
use trunkline_core::id::Id;
use trunkline_core::reply::Reply;

use super::config::{Health, Problem, Problems, ServerConfig};
use super::readiness::Readiness;
use crate::status::{Counts, Phase};

/// The pages about the state of a server: of its components, whether the process answers (`/live`), and whether it
/// should get calls (`/ready`).
pub(super) struct Pages {
    path: String,
    pub(super) router: Router,
}

/// The server that the pages are about.
#[derive(Clone)]
struct Server {
    health: Arc<Health>,
    problems: Problems,
    readiness: Readiness,
    counts: Arc<Counts>,
}

impl Pages {
    pub(super) fn new(settings: &ServerConfig, counts: &Arc<Counts>) -> Option<Self> {
        let health = settings.health.clone()?;
        let path = health.path.clone();
        let pages = [("", get(page)), ("/live", get(live)), ("/ready", get(ready))];
        let router = pages.into_iter().fold(Router::new(), |router, (name, page)| {
            let path = format!("{path}{name}");
            router.route(&format!("{path}/"), page.clone()).route(&path, page)
        });
        let router = router.method_not_allowed_fallback(refuse_method).with_state(Server {
            health: Arc::new(health),
            problems: settings.problems.clone(),
            readiness: settings.readiness.clone(),
            counts: Arc::clone(counts),
        });
        Some(Self { path, router })
    }

    /// Whether one of the pages has this path, which may end with a slash.
    pub(super) fn have(&self, path: &str) -> bool {
        let name = path.strip_prefix(&*self.path);
        matches!(name, Some("" | "/" | "/live" | "/live/" | "/ready" | "/ready/"))
    }

    pub(super) async fn answer(&self, request: Request) -> Response {
        let Ok(response) = self.router.clone().oneshot(request).await;
        response
    }
}

async fn refuse_method() -> Response {
    let error = ErrorObject::new(code::INVALID_REQUEST, "Method not allowed");
    let mut response = refuse(StatusCode::METHOD_NOT_ALLOWED, error, Format::Json);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    response
}

async fn live() -> Response {
    json_page(StatusCode::OK, &json!({ "status": "alive" }))
}

/// The readiness page: 200 if all checks succeed, otherwise 503, as while the server drains.
async fn ready(State(Server { readiness, counts, .. }): State<Server>) -> Response {
    if counts.phase() >= Phase::Draining {
        return json_page(StatusCode::SERVICE_UNAVAILABLE, &json!({ "status": "draining" }));
    }
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
async fn page(State(Server { health, problems, counts, .. }): State<Server>) -> Response {
    let problems = problems.now();
    let (status, text) = match counts.phase() {
        Phase::Starting | Phase::Running if problems.is_empty() => (StatusCode::OK, "healthy"),
        Phase::Starting | Phase::Running => (StatusCode::OK, "degraded"),
        Phase::Draining | Phase::Stopped => (StatusCode::SERVICE_UNAVAILABLE, "draining"),
    };
    let (service, version) = (&health.service, &health.version);
    json_page(status, &Status { status: text, service, version, problems })
}

fn json_page(status: StatusCode, page: &impl Serialize) -> Response {
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
pub(super) fn stopping(format: Format) -> Response {
    let reason = "server is stopping; nothing was run";
    let mut response = unavailable(ErrorObject::new(code::BUSY, "Server is busy"), reason, format);
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// 500: the service panicked. The format of the client is lost with the request.
pub(super) fn failed() -> Response {
    let error = ErrorObject::internal(&"service panicked outside of a call");
    refuse(StatusCode::INTERNAL_SERVER_ERROR, error, Format::Json)
}

fn unavailable(error: ErrorObject, reason: &str, format: Format) -> Response {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let error = error.with_data(&json!({ "status": status.as_u16(), "reason": reason }));
    refuse(status, error, format)
}

fn refuse(status: StatusCode, error: ErrorObject, format: Format) -> Response {
    let reply = Reply::error(error, Some(&Id::NULL)).into_format(format);
    respond(status, reply.into_text().unwrap_or_default(), format)
}

fn respond(status: StatusCode, text: Vec<u8>, format: Format) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(format.content_type()));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
