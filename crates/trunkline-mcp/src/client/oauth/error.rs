use std::time::Duration;

use http::StatusCode;
use trunkline::BoxError;
use trunkline::access::jwt::SigningKeyError;
use trunkline::client::TransportError;

/// Why [`OAuth`](super::OAuth) cannot obtain a token. No variant contains a secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OAuthError {
    /// A URL of a server is not used.
    #[error("refused the URL `{url}`: {reason}")]
    Url {
        /// The URL.
        url: String,
        /// The defect.
        reason: String,
    },
    /// A request failed.
    #[error("request to {url} failed")]
    Request {
        /// The URL.
        url: String,
        /// The cause.
        source: TransportError,
    },
    /// A reply took too long.
    #[error("no reply from {url} within {} ms", after.as_millis())]
    Timeout {
        /// The URL.
        url: String,
        /// The deadline.
        after: Duration,
    },
    /// A reply has an unexpected status. Redirects are not followed.
    #[error("{url} returned status {status}")]
    Status {
        /// The URL.
        url: String,
        /// The status.
        status: StatusCode,
    },
    /// A document or a reply does not conform to its specification.
    #[error("invalid reply from {url}: {reason}")]
    Malformed {
        /// The URL.
        url: String,
        /// The defect.
        reason: String,
    },
    /// The metadata describe another resource (RFC 9728, section 3.3).
    #[error("the metadata are those of the resource `{found}`, but the server is `{server}`")]
    Resource {
        /// The URL of the MCP server.
        server: String,
        /// The resource in the metadata.
        found: String,
    },
    /// An issuer is not the expected one (RFC 8414, section 3.3; RFC 9207, section 2.4).
    #[error("the issuer in {place} is `{found}` instead of `{expected}`")]
    Issuer {
        /// Where the issuer was found.
        place: &'static str,
        /// The expected issuer.
        expected: String,
        /// The issuer that was found.
        found: String,
    },
    /// The authorization server requires, but lacks, something that the grant needs.
    #[error("the authorization server `{issuer}` does not support {missing}")]
    Unsupported {
        /// The authorization server.
        issuer: String,
        /// The missing feature.
        missing: &'static str,
    },
    /// The client has no id at the authorization server.
    #[error(
        "no client id for the authorization server `{issuer}`; register a client there and configure its id"
    )]
    NoClient {
        /// The authorization server.
        issuer: String,
    },
    /// The authorization server returned an error (RFC 6749, sections 4.1.2.1 and 5.2; RFC 7591, section 3.2.2).
    #[error("the authorization server refused the {request}: {error}{}", suffix(.description))]
    Refused {
        /// The kind of request.
        request: &'static str,
        /// The code of the error.
        error: String,
        /// The description by the server, which is not trusted.
        description: Option<String>,
    },
    /// The response to an authorization request is invalid. It was discarded.
    #[error("invalid authorization response: {0}")]
    Redirect(&'static str),
    /// The user agent failed, or the user did not respond in time.
    #[error("the user did not authorize the client")]
    UserAgent(#[source] BoxError),
    /// The assertion could not be obtained.
    #[error("cannot obtain an assertion")]
    Assertion(#[source] BoxError),
    /// The client's assertion could not be signed.
    #[error("cannot sign the assertion of the client")]
    Signing(#[from] SigningKeyError),
    /// The tokens could not be loaded or saved.
    #[error("the store of tokens failed")]
    Store(#[source] BoxError),
    /// The challenge is that of another server.
    #[error("the tokens are those of {server}, but {other} requested authorization")]
    OtherServer {
        /// The URL of the MCP server.
        server: String,
        /// The URL of the other server.
        other: String,
    },
    /// The server refused new tokens repeatedly.
    #[error("authorization was attempted {attempts} times within {} s", within.as_secs())]
    TooManyAttempts {
        /// The number of attempts.
        attempts: usize,
        /// The period.
        within: Duration,
    },
    /// The system has no random numbers.
    #[error("no random numbers available")]
    NoRandom,
    /// The refresh of a token was interrupted, since the runtime shut down.
    #[error("refreshing the token was interrupted")]
    Interrupted,
}

/// The errors of token requests (RFC 6749, sections 4.1.2.1 and 5.2).
impl OAuthError {
    /// Whether the grant is expired, revoked, or that of another client. Other errors leave a refresh token valid.
    pub(super) fn is_invalid_grant(&self) -> bool {
        matches!(self, Self::Refused { error, .. } if error == "invalid_grant")
    }

    /// Whether the server does not know the client, or does not let it request tokens.
    pub(super) fn is_invalid_client(&self) -> bool {
        const CODES: [&str; 2] = ["invalid_client", "unauthorized_client"];
        matches!(self, Self::Refused { error, .. } if CODES.contains(&error.as_str()))
    }

    /// Whether the server refused the request, and would refuse it again.
    pub(super) fn is_final(&self) -> bool {
        const TEMPORARY: [&str; 3] = ["temporarily_unavailable", "server_error", "slow_down"];
        match self {
            Self::Refused { error, .. } => !TEMPORARY.contains(&error.as_str()),
            Self::Status { status, .. } => is_refusal(*status),
            _ => false,
        }
    }
}

/// Whether a status refuses the request itself. A later request may succeed after other errors.
pub(super) fn is_refusal(status: StatusCode) -> bool {
    let is_temporary = matches!(
        status,
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS
    );
    status.is_client_error() && !is_temporary
}

fn suffix(description: &Option<String>) -> String {
    description.as_ref().map(|text| format!(" ({text})")).unwrap_or_default()
}

/// A text of a server, for an error message: printable ASCII characters, at most 200.
pub(super) fn printable(text: &str) -> String {
    text.chars().filter(|char| matches!(char, ' '..='~')).take(200).collect()
}
