//! Replies as HTTP responses.

use http::header::{CONTENT_TYPE, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, Response, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use trunkline_core::reply::Reply;

use super::protected_resource::scope_parameter;
use super::reply_body::{ReplyBody, content_type};

/// Converts a reply to an HTTP response. Adds `WWW-Authenticate` to 401 and 403, with the required scopes if the data
/// of the error has `scopes`, and `Retry-After` to 429 if it has `retry_after_ms`.
#[must_use]
pub fn respond(status: StatusCode, reply: Reply) -> Response<ReplyBody> {
    let (format, header) = (reply.format(), header(status, &reply));
    let mut response = Response::new(ReplyBody::default());
    *response.status_mut() = status;
    if let Some(text) = reply.into_text() {
        if let Some((name, value)) = header {
            response.headers_mut().insert(name, value);
        }
        response.headers_mut().insert(CONTENT_TYPE, content_type(format));
        *response.body_mut() = ReplyBody::from(text);
    }
    response
}

/// The header of a reply to a refused caller.
fn header(status: StatusCode, reply: &Reply) -> Option<(HeaderName, HeaderValue)> {
    match status {
        // RFC 9110, section 15.5.2.
        StatusCode::UNAUTHORIZED => Some((WWW_AUTHENTICATE, challenge(None, reply))),
        // RFC 6750, section 3.1.
        StatusCode::FORBIDDEN => {
            Some((WWW_AUTHENTICATE, challenge(Some("error=\"insufficient_scope\""), reply)))
        }
        StatusCode::TOO_MANY_REQUESTS => {
            let RateLimited { retry_after_ms } = data(reply)?;
            Some((RETRY_AFTER, HeaderValue::from(retry_after_ms.div_ceil(1_000))))
        }
        _ => None,
    }
}

#[derive(Deserialize)]
struct RateLimited {
    retry_after_ms: u64,
}

#[derive(Deserialize)]
struct Refused {
    scopes: Vec<String>,
}

/// A challenge that names the required scopes, if the error does.
fn challenge(error: Option<&str>, reply: &Reply) -> HeaderValue {
    let scopes = data::<Refused>(reply).map_or_else(Vec::new, |refused| refused.scopes);
    let scope = scope_parameter(scopes.iter().map(String::as_str));
    let parameters: Vec<&str> = error.into_iter().chain(scope.as_deref()).collect();
    let challenge = format!("Bearer {}", parameters.join(", "));
    HeaderValue::try_from(challenge.trim_end()).unwrap_or(HeaderValue::from_static("Bearer"))
}

/// The data of an error response.
fn data<T: DeserializeOwned>(reply: &Reply) -> Option<T> {
    #[derive(Deserialize)]
    struct Response<T> {
        error: Error<T>,
    }

    #[derive(Deserialize)]
    struct Error<T> {
        data: T,
    }

    let response: Response<T> = serde_json::from_slice(reply.json()?).ok()?;
    Some(response.error.data)
}
