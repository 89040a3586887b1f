//! Forms of pages.

use axum::extract::{FromRequest, Request};
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};
use percent_encoding::percent_decode;
use serde_json::json;
use trunkline::http::{AuthenticationError, Payload, is_own_origin, respond};
use trunkline::protocol::Reply;
use trunkline::{ErrorObject, Extensions, code};

/// Extracts a form that a page of this server has sent (`application/x-www-form-urlencoded`).
///
/// It refuses requests without the `Origin` of this server with 403, so that pages of other sites cannot send forms
/// (CSRF).
#[derive(Debug)]
pub(crate) struct Form {
    pub(crate) extensions: Extensions,
    pub(crate) fields: Fields,
}

/// The parameters of a URL or the fields of a form, in their order.
#[derive(Debug, Default)]
pub(crate) struct Fields(pub(crate) Vec<(String, String)>);

impl<S: Sync> FromRequest<S> for Form {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let (parts, body) = request.into_parts();
        if !is_own_origin(&parts) {
            let reason = AuthenticationError::Origin.to_string();
            return Err(refuse(StatusCode::FORBIDDEN, code::FORBIDDEN, "Forbidden", &reason));
        }
        if !is_form(&parts.headers) {
            let reason = "unsupported media type; send a form with Content-Type: \
                 application/x-www-form-urlencoded";
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            return Err(refuse(status, code::REFUSED, "Request refused", reason));
        }
        let payload = Payload::from_request(Request::from_parts(parts, body), state).await;
        let Payload { extensions, body, .. } = payload.map_err(IntoResponse::into_response)?;
        Ok(Self { extensions, fields: Fields::parse(&body) })
    }
}

fn is_form(headers: &HeaderMap) -> bool {
    let mut declared = headers.get_all(CONTENT_TYPE).iter();
    let only = declared.next().filter(|_| declared.next().is_none());
    let essence = only.and_then(|value| value.to_str().ok()?.split(';').next());
    !headers.contains_key(CONTENT_ENCODING)
        && essence
            .is_some_and(|one| one.trim().eq_ignore_ascii_case("application/x-www-form-urlencoded"))
}

fn refuse(status: StatusCode, code: i64, message: &'static str, reason: &str) -> Response {
    let data = json!({ "status": status.as_u16(), "reason": reason });
    let error = ErrorObject::new(code, message).with_data(&data);
    respond(status, Reply::error(error, None)).into_response()
}

impl Fields {
    /// The fields of a form or of the query of a URI. Bytes that are not UTF-8 are replaced.
    pub(crate) fn parse(text: &[u8]) -> Self {
        let decoded = |text: &[u8]| {
            let text = text.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte });
            let text: Vec<u8> = text.collect();
            percent_decode(&text).decode_utf8_lossy().into_owned()
        };
        let pairs = text.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty());
        let field = |pair: &[u8]| {
            let end = pair.iter().position(|byte| *byte == b'=').unwrap_or(pair.len());
            (decoded(&pair[..end]), decoded(pair.get(end + 1..).unwrap_or_default()))
        };
        Self(pairs.map(field).collect())
    }

    /// The first value with this name, if it is not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }
}
