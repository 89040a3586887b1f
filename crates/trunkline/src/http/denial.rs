//! What HTTP says of a call that a layer has refused for who made it.

use http::header::{HeaderName, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde::Deserialize;

use trunkline_core::reply::Reply;

/// The header that goes with a reply of such a status.
pub(super) fn header(status: StatusCode, reply: &Reply) -> Option<(HeaderName, HeaderValue)> {
    match status {
        // RFC 9110, section 15.5.2.
        StatusCode::UNAUTHORIZED => Some((WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
        // RFC 6750, section 3.1: more is needed than the token gives. What, is not told.
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
