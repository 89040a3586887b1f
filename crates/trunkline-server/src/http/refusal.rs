//! Requests that HTTP refuses before they are read as JSON-RPC.

use std::borrow::Cow;

use http::header::{ACCEPT_ENCODING, CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, Method, Response, StatusCode};
use serde_json::json;
use trunkline_core::error::{ErrorObject, code};
use trunkline_core::format::Format;
use trunkline_core::limits::OutOfMemory;

use super::reply_body::ReplyBody;

/// Why a request is refused. Its reply has the HTTP status *and* a JSON-RPC error object, so that
/// both an HTTP client and a JSON-RPC client understand it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    Path,
    /// The path has other methods.
    Method(Method),
    Malformed(&'static str),
    /// Where the next request of the connection starts is in doubt.
    Framing(&'static str),
    Host(String),
    Origin(String),
    NoCredentials,
    /// The token is not accepted; why, if the client may know.
    WrongCredentials(Option<&'static str>),
    /// There is nothing to check tokens with.
    #[cfg(feature = "jwt")]
    NoKeys,
    Expectation,
    Coding,
    /// The path has these formats.
    MediaType(&'static [Format]),
    TooLarge {
        limit: usize,
    },
    BodyTimeout,
    BrokenBody,
    TransferCoding,
    /// The server holds too much for its clients.
    OutOfMemory(OutOfMemory),
    /// The request has run, and its reply exceeds the memory budget.
    ReplyDropped(OutOfMemory),
}

impl From<OutOfMemory> for Refusal {
    fn from(error: OutOfMemory) -> Self {
        Self::OutOfMemory(error)
    }
}

impl Refusal {
    /// The response with this body.
    pub(super) fn response(&self, body: Vec<u8>, format: Format) -> Response<ReplyBody> {
        let mut response = Response::new(ReplyBody::from(body));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(format.content_type()));
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
            Self::Host(_) | Self::Origin(_) => StatusCode::FORBIDDEN,
            Self::NoCredentials | Self::WrongCredentials(_) => StatusCode::UNAUTHORIZED,
            Self::Expectation => StatusCode::EXPECTATION_FAILED,
            Self::Coding | Self::MediaType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::TransferCoding => StatusCode::NOT_IMPLEMENTED,
            #[cfg(feature = "jwt")]
            Self::NoKeys => StatusCode::SERVICE_UNAVAILABLE,
            Self::OutOfMemory(_) | Self::ReplyDropped(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn code(&self) -> i64 {
        match self {
            Self::NoCredentials | Self::WrongCredentials(_) => code::UNAUTHENTICATED,
            Self::Host(_) | Self::Origin(_) => code::FORBIDDEN,
            Self::OutOfMemory(_) => code::BUSY,
            Self::ReplyDropped(_) => code::REPLY_TOO_LARGE,
            _ => code::REFUSED,
        }
    }

    fn message(&self) -> &'static str {
        match self {
            Self::NoCredentials | Self::WrongCredentials(_) => "Unauthenticated",
            Self::Host(_) | Self::Origin(_) => "Forbidden",
            Self::OutOfMemory(_) => "Server is busy",
            Self::ReplyDropped(_) => "Reply too large",
            _ => "Request refused",
        }
    }

    fn reason(&self) -> Cow<'static, str> {
        match self {
            Self::Path => "nothing is served at this path".into(),
            Self::Method(method) => {
                format!("this path does not serve {method}: the Allow header lists its methods")
                    .into()
            }
            Self::Malformed(reason) | Self::Framing(reason) => (*reason).into(),
            Self::Host(host) => {
                format!("this server is not called \"{host}\": its operator can allow the host")
                    .into()
            }
            Self::Origin(origin) => format!(
                "pages of {origin} may not call this server: its operator can allow the origin"
            )
            .into(),
            Self::NoCredentials => "send a token as Authorization: Bearer TOKEN".into(),
            Self::WrongCredentials(why) => why.unwrap_or("the token is not valid").into(),
            #[cfg(feature = "jwt")]
            Self::NoKeys => "tokens cannot be checked at the moment: try again later".into(),
            Self::Expectation => "the only expectation understood is 100-continue".into(),
            Self::Coding => "send the body without a Content-Encoding".into(),
            Self::MediaType([Format::Json]) => {
                "send JSON in UTF-8 with Content-Type: application/json".into()
            }
            Self::MediaType(formats) => {
                let types: Vec<&str> = formats.iter().map(|format| format.media_type()).collect();
                format!("send text in UTF-8 with Content-Type: {}", types.join(" or ")).into()
            }
            Self::TooLarge { limit } => format!("a body has at most {limit} bytes").into(),
            Self::BodyTimeout => "the body did not arrive in time".into(),
            Self::BrokenBody => "the body's framing is broken".into(),
            Self::TransferCoding => "the only Transfer-Encoding understood is chunked".into(),
            Self::OutOfMemory(error) => format!("{error}; nothing was run").into(),
            Self::ReplyDropped(error) => {
                format!("{error}; the request was run, and its reply dropped").into()
            }
        }
    }

    /// The header that the status requires or invites.
    fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        match self {
            Self::NoCredentials => Some((WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
            Self::WrongCredentials(why) => Some((WWW_AUTHENTICATE, invalid_token(*why))),
            Self::Coding => Some((ACCEPT_ENCODING, HeaderValue::from_static("identity"))),
            Self::OutOfMemory(_) => Some((RETRY_AFTER, HeaderValue::from_static("1"))),
            _ => None,
        }
    }

    /// Whether what is left of the body makes the connection useless.
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
    let told = format!("Bearer error=\"invalid_token\", error_description=\"{why}\"");
    HeaderValue::try_from(told).unwrap_or(plain)
}
