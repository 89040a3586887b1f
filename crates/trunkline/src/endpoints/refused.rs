//! Replies of endpoints that are not calls.

use axum::response::IntoResponse;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use trunkline_core::error::ErrorObject;
use trunkline_core::reply::Reply;

use trunkline_server::http::{ReplyBody, respond};

/// Why a request is refused.
pub(super) struct Refused {
    pub(super) status: StatusCode,
    pub(super) error: ErrorObject,
}

/// A value as the body of a reply.
pub(super) fn json(value: &impl serde::Serialize) -> Result<Response<ReplyBody>, Refused> {
    let json = serde_json::to_vec(value).map_err(|error| Refused::internal(&error))?;
    let mut response = Response::new(ReplyBody::from(json));
    let media_type = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    Ok(response)
}

impl Refused {
    /// The cause is logged.
    pub(super) fn internal(error: &(dyn std::error::Error + 'static)) -> Self {
        let error = ErrorObject::internal_error(error);
        Self { status: StatusCode::INTERNAL_SERVER_ERROR, error }
    }

    /// The query of the URL is invalid.
    pub(super) fn query(reason: &str) -> Self {
        Self { status: StatusCode::BAD_REQUEST, error: ErrorObject::invalid_params(reason) }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> axum::response::Response {
        respond(self.status, Reply::error(self.error, None)).into_response()
    }
}
