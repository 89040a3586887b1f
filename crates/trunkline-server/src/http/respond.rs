//! Replies as HTTP responses.

use http::header::{CONTENT_TYPE, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, Response, StatusCode};
use serde::Deserialize;
use trunkline_core::reply::Reply;

use super::reply_body::ReplyBody;

/// Converts a reply to an HTTP response. Adds `WWW-Authenticate` to 401 and 403, and `Retry-After` to 429 if the
/// data of the error has `retry_after_ms`.
#[must_use]
pub fn respond(status: StatusCode, reply: Reply) -> Response<ReplyBody> {
    let (format, header) = (reply.format(), header(status, &reply));
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

/// The header of a reply to a refused caller.
fn header(status: StatusCode, reply: &Reply) -> Option<(HeaderName, HeaderValue)> {
    match status {
        // RFC 9110, section 15.5.2.
        StatusCode::UNAUTHORIZED => Some((WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
        // RFC 6750, section 3.1. The required scope is not disclosed.
        StatusCode::FORBIDDEN => {
            let challenge = HeaderValue::from_static("Bearer error=\"insufficient_scope\"");
            Some((WWW_AUTHENTICATE, challenge))
        }
        StatusCode::TOO_MANY_REQUESTS => {
            let seconds = retry_after_ms(reply.json()?)?.div_ceil(1_000);
            Some((RETRY_AFTER, HeaderValue::from(seconds)))
        }
        _ => None,
    }
}

/// `data.retry_after_ms` of an error response.
fn retry_after_ms(json: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    struct Response {
        error: Error,
    }

    #[derive(Deserialize)]
    struct Error {
        data: Data,
    }

    #[derive(Deserialize)]
    struct Data {
        retry_after_ms: u64,
    }

    let response: Response = serde_json::from_slice(json).ok()?;
    Some(response.error.data.retry_after_ms)
}
