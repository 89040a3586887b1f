//! Refusals of HTTP requests before they are parsed as JSON-RPC.

use std::borrow::Cow;

use http::header::{ACCEPT_ENCODING, CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, Method, Response, StatusCode};
use serde_json::json;
use trunkline_core::error::{ErrorObject, code};
use trunkline_core::format::Format;
use trunkline_core::limits::OutOfMemory;

use super::authenticate::AuthenticationError;
use super::reply_body::{ReplyBody, content_type};

/// The reason for refusing a request. The reply has an HTTP status *and* a JSON-RPC error object, for both kinds
/// of clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    Path,
    /// The path does not support the method.
    Method(Method),
    Malformed(&'static str),
    /// The framing is ambiguous, so the start of the next request is unknown.
    Framing(&'static str),
    Host(String),
    Origin(String),
    /// The remedies are those of the authenticators.
    NoCredentials(Vec<&'static str>),
    Credentials(AuthenticationError),
    Expectation,
    Coding,
    /// The path supports these formats.
    MediaType(&'static [Format]),
    TooLarge {
        limit: usize,
    },
    BodyTimeout,
    BrokenBody,
    TransferCoding,
    /// The memory budget is exhausted.
    OutOfMemory(OutOfMemory),
    /// The request has run, but its reply exceeds the memory budget.
    ReplyDropped(OutOfMemory),
}

impl From<OutOfMemory> for Refusal {
    fn from(error: OutOfMemory) -> Self {
        Self::OutOfMemory(error)
    }
}

impl From<AuthenticationError> for Refusal {
    fn from(error: AuthenticationError) -> Self {
        Self::Credentials(error)
    }
}

impl Refusal {
    /// The response with this body.
    pub(super) fn response(&self, body: Vec<u8>, format: Format) -> Response<ReplyBody> {
        let mut response = Response::new(ReplyBody::from(body));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, content_type(format));
        if let Some((name, value)) = self.header() {
            headers.insert(name, value);
        }
        if self.closes() {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    pub(super) fn error(&self) -> ErrorObject {
        let data = json!({ "status": self.status().as_u16(), "reason": self.reason() });
        ErrorObject::new(self.code(), self.message()).with_data(&data)
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::Path => StatusCode::NOT_FOUND,
            Self::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::Malformed(_) | Self::Framing(_) | Self::BrokenBody => StatusCode::BAD_REQUEST,
            Self::Host(_) | Self::Origin(_) | Self::Credentials(AuthenticationError::Origin) => {
                StatusCode::FORBIDDEN
            }
            Self::NoCredentials(_) | Self::Credentials(AuthenticationError::Invalid(_)) => {
                StatusCode::UNAUTHORIZED
            }
            Self::Expectation => StatusCode::EXPECTATION_FAILED,
            Self::Coding | Self::MediaType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::TransferCoding => StatusCode::NOT_IMPLEMENTED,
            Self::OutOfMemory(_)
            | Self::ReplyDropped(_)
            | Self::Credentials(AuthenticationError::Unavailable) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
        }
    }

    fn code(&self) -> i64 {
        match (self, self.status()) {
            (_, StatusCode::UNAUTHORIZED) => code::UNAUTHENTICATED,
            (_, StatusCode::FORBIDDEN) => code::FORBIDDEN,
            (Self::OutOfMemory(_), _) => code::BUSY,
            (Self::ReplyDropped(_), _) => code::REPLY_TOO_LARGE,
            _ => code::REFUSED,
        }
    }

    fn message(&self) -> &'static str {
        match self.code() {
            code::UNAUTHENTICATED => "Unauthenticated",
            code::FORBIDDEN => "Forbidden",
            code::BUSY => "Server is busy",
            code::REPLY_TOO_LARGE => "Reply too large",
            _ => "Request refused",
        }
    }

    fn reason(&self) -> Cow<'static, str> {
        match self {
            Self::Path => "path not found".into(),
            Self::Method(method) => {
                format!("path does not support {method}; see the Allow header").into()
            }
            Self::Malformed(reason) | Self::Framing(reason) => (*reason).into(),
            Self::Host(host) => {
                format!("host `{host}` is not allowed; the operator of the server can allow it")
                    .into()
            }
            Self::Origin(origin) => {
                format!("origin `{origin}` is not allowed; the operator of the server can allow it")
                    .into()
            }
            Self::NoCredentials(remedies) => {
                format!("missing credentials; {}", remedies.join(", or ")).into()
            }
            Self::Credentials(error) => error.to_string().into(),
            Self::Expectation => "unsupported expectation; only 100-continue is supported".into(),
            Self::Coding => "unsupported Content-Encoding; send the body uncompressed".into(),
            Self::MediaType([Format::Json]) => {
                "unsupported media type; send JSON in UTF-8 with Content-Type: application/json"
                    .into()
            }
            Self::MediaType(formats) => {
                let types: Vec<&str> = formats.iter().map(|format| format.media_type()).collect();
                let types = types.join(" or ");
                format!("unsupported media type; send text in UTF-8 with Content-Type: {types}")
                    .into()
            }
            Self::TooLarge { limit } => format!("body exceeds {limit} bytes").into(),
            Self::BodyTimeout => "body did not arrive in time".into(),
            Self::BrokenBody => "invalid framing of the body".into(),
            Self::TransferCoding => {
                "unsupported Transfer-Encoding; only chunked is supported".into()
            }
            Self::OutOfMemory(error) => format!("{error}; nothing was run").into(),
            Self::ReplyDropped(error) => {
                format!("{error}; the request was run, but its reply was dropped").into()
            }
        }
    }

    /// The header associated with the status.
    fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        match self {
            Self::NoCredentials(_) => Some((WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
            Self::Credentials(AuthenticationError::Invalid(why)) => {
                Some((WWW_AUTHENTICATE, invalid_token(*why)))
            }
            Self::Coding => Some((ACCEPT_ENCODING, HeaderValue::from_static("identity"))),
            Self::OutOfMemory(_) => Some((RETRY_AFTER, HeaderValue::from_static("1"))),
            _ => None,
        }
    }

    /// Whether the connection must be closed because of unread data.
    fn closes(&self) -> bool {
        matches!(
            self,
            Self::TooLarge { .. }
                | Self::BodyTimeout
                | Self::BrokenBody
                | Self::Framing(_)
                | Self::TransferCoding
                | Self::OutOfMemory(_)
        )
    }
}

/// RFC 6750, section 3.
fn invalid_token(why: Option<&'static str>) -> HeaderValue {
    let plain = HeaderValue::from_static("Bearer error=\"invalid_token\"");
    let Some(why) = why else {
        return plain;
    };
    let challenge = format!("Bearer error=\"invalid_token\", error_description=\"{why}\"");
    HeaderValue::try_from(challenge).unwrap_or(plain)
}
