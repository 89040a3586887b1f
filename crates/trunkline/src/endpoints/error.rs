//! Replies of endpoints other than JSON-RPC.

use axum::response::IntoResponse;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use trunkline_core::error::ErrorObject;
use trunkline_core::reply::Reply;

use trunkline_server::http::{ReplyBody, respond};

/// An error reply.
pub(super) struct EndpointError {
    pub(super) status: StatusCode,
    pub(super) error: ErrorObject,
}

/// A value as the body of a reply.
pub(super) fn json(value: &impl serde::Serialize) -> Result<Response<ReplyBody>, EndpointError> {
    let json = serde_json::to_vec(value).map_err(|error| EndpointError::internal(&error))?;
    let mut response = Response::new(ReplyBody::from(json));
    let media_type = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    Ok(response)
}

impl EndpointError {
    /// An internal error, whose cause is logged.
    pub(super) fn internal(error: &(dyn std::error::Error + 'static)) -> Self {
        let error = ErrorObject::internal_error(error);
        Self { status: StatusCode::INTERNAL_SERVER_ERROR, error }
    }

    /// An invalid query of the URL.
    pub(super) fn query(reason: &str) -> Self {
        Self { status: StatusCode::BAD_REQUEST, error: ErrorObject::invalid_params(reason) }
    }
}

impl IntoResponse for EndpointError {
    fn into_response(self) -> axum::response::Response {
        respond(self.status, Reply::error(self.error, None)).into_response()
    }
}
