//! The metadata of a protected resource (RFC 9728), and its parameters in challenges.

use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, ALLOW,
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, WWW_AUTHENTICATE,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use trunkline_access::{ProtectedResource, Scopes};
use trunkline_core::format::Format;

use super::endpoint::Endpoint;
use super::refusal::Refusal;
use super::reply_body::ReplyBody;

/// The metadata as served, and the parameters that refer to it.
#[derive(Clone)]
pub(super) struct ResourceMetadata {
    paths: Vec<String>,
    document: Bytes,
    /// The parameter `resource_metadata`.
    location: String,
    /// The parameter `scope` of a challenge to a caller without a valid token.
    scope: Option<String>,
}

/// Clients may use the metadata for an hour.
const CACHED: HeaderValue = HeaderValue::from_static("max-age=3600");

impl ResourceMetadata {
    pub(super) fn new(resource: &ProtectedResource) -> Self {
        Self {
            paths: resource.metadata_paths(),
            document: resource.metadata().into(),
            location: format!("resource_metadata=\"{}\"", resource.url.metadata_url()),
            scope: scope_parameter(resource.initial_scopes.iter()),
        }
    }

    /// Whether clients look for metadata at this path. An authorization server may be looked for at the host of its
    /// resource.
    pub(super) fn is_discovery(path: &str) -> bool {
        const NAMES: [&str; 3] =
            ["oauth-protected-resource", "oauth-authorization-server", "openid-configuration"];
        path.strip_prefix("/.well-known/").is_some_and(|rest| {
            let is_below = |name: &&str| rest.strip_prefix(name).map(|rest| rest.starts_with('/'));
            NAMES.iter().any(|name| rest == *name || is_below(name) == Some(true))
        })
    }

    /// Allows pages of any origin to read a response: metadata is public, and has no credentials.
    pub(super) fn share(headers: &mut HeaderMap) {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    }

    /// The response to a request for the metadata. `None` for another path.
    pub(super) fn response(&self, parts: &Parts) -> Option<Response<ReplyBody>> {
        let (method, path) = (&parts.method, parts.uri.path());
        let path = path.strip_suffix('/').unwrap_or(path);
        let preflight = parts.headers.get(ACCESS_CONTROL_REQUEST_METHOD);
        if method == Method::OPTIONS && preflight.is_some() {
            return Some(preflight_response(&parts.headers));
        }
        let is_known = self.paths.iter().any(|known| known == path);
        is_known.then(|| self.document(method))
    }

    fn document(&self, method: &Method) -> Response<ReplyBody> {
        if method != Method::GET && method != Method::HEAD {
            let mut response =
                Endpoint::CALLS.refuse(&Refusal::Method(method.clone()), Format::Json);
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        let length = HeaderValue::from(self.document.len());
        let body = if method == Method::HEAD { Bytes::new() } else { self.document.clone() };
        let mut response = Response::new(ReplyBody::from(body));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(Format::Json.content_type()));
        headers.insert(CONTENT_LENGTH, length);
        headers.insert(CACHE_CONTROL, CACHED);
        response
    }

    /// Adds the location of the metadata to the challenge of a refused caller, and to a 401 the scopes to request,
    /// unless it names some.
    pub(super) fn complete_challenge(&self, status: StatusCode, headers: &mut HeaderMap) {
        let is_unauthorized = status == StatusCode::UNAUTHORIZED;
        if !is_unauthorized && status != StatusCode::FORBIDDEN {
            return;
        }
        let Some(challenge) = headers.get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok())
        else {
            return;
        };
        let separator = match challenge.strip_prefix("Bearer") {
            Some("") => " ",
            Some(parameters) if parameters.starts_with(' ') => ", ",
            _ => return,
        };
        let mut completed = format!("{challenge}{separator}{}", self.location);
        let scope =
            self.scope.as_ref().filter(|_| is_unauthorized && !challenge.contains("scope="));
        if let Some(scope) = scope {
            completed.push_str(", ");
            completed.push_str(scope);
        }
        if let Ok(completed) = HeaderValue::try_from(completed) {
            headers.insert(WWW_AUTHENTICATE, completed);
        }
    }
}

/// Permits GET and HEAD with any header: clients of MCP send the revision.
fn preflight_response(requested: &HeaderMap) -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::from(Bytes::new()));
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, HEAD"));
    if let Some(names) = requested.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, names.clone());
    }
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}

/// The parameter `scope` of a challenge (RFC 6750, section 3). Omits invalid scopes, which no token has.
pub(super) fn scope_parameter<'a>(scopes: impl Iterator<Item = &'a str>) -> Option<String> {
    let valid = Scopes::new(scopes.filter(|scope| Scopes::is_valid(scope)));
    (!valid.is_empty()).then(|| format!("scope=\"{valid}\""))
}
