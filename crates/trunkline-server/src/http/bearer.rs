//! Authentication by the bearer token of a request (RFC 6750).

use http::HeaderValue;
#[cfg(feature = "jwt")]
use trunkline_access::jwt::{PendingVerification, TokenError, Verification};
use trunkline_access::{Principal, Tokens};

use super::config::HttpConfig;
use super::fields::Field;
use super::refusal::Refusal;

/// The caller of an accepted request.
pub(super) enum Caller {
    /// No token is required.
    Anonymous,
    Known(Principal),
    /// The keys for the token are being fetched.
    #[cfg(feature = "jwt")]
    Pending(PendingVerification),
}

impl Caller {
    /// The principal of the token, if one is required.
    #[cfg_attr(
        not(feature = "jwt"),
        expect(clippy::unused_async, reason = "only the keys of signed tokens are fetched")
    )]
    pub(super) async fn principal(self) -> Result<Option<Principal>, Refusal> {
        match self {
            Self::Anonymous => Ok(None),
            Self::Known(principal) => Ok(Some(principal)),
            #[cfg(feature = "jwt")]
            Self::Pending(pending) => pending.await.map(Some).map_err(|error| refusal(&error)),
        }
    }
}

/// Accepts requests whose `Authorization` header has an accepted token. Tokens elsewhere are ignored: request
/// targets and bodies end up in logs.
pub(super) fn check(field: Field<'_>, settings: &HttpConfig) -> Result<Caller, Refusal> {
    if settings.bearer.is_empty() {
        return Ok(Caller::Anonymous);
    }
    let Some(value) = field.first.filter(|_| !field.is_repeated) else {
        return Err(Refusal::NoCredentials);
    };
    check_value(value, &settings.bearer)
}

/// Accepts the value of an `Authorization` header with one of the tokens.
pub(super) fn check_value(value: &HeaderValue, tokens: &Tokens) -> Result<Caller, Refusal> {
    let token = bearer(value.as_bytes()).ok_or(Refusal::NoCredentials)?;
    if let Some(principal) = tokens.principal(token) {
        return Ok(Caller::Known(principal.clone()));
    }
    #[cfg(feature = "jwt")]
    if let Some(jwt) = tokens.signed() {
        return match jwt.check(token) {
            Verification::Ready(result) => {
                result.map(Caller::Known).map_err(|error| refusal(&error))
            }
            Verification::Pending(pending) => Ok(Caller::Pending(pending)),
        };
    }
    Err(Refusal::WrongCredentials(None))
}

/// The token of `Bearer token`; the scheme's case does not matter (RFC 9110, section 11.1).
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked("Bearer ".len())?;
    let token = token.trim_ascii();
    // An empty token that is listed by mistake grants no access.
    (scheme.eq_ignore_ascii_case(b"Bearer ") && !token.is_empty()).then_some(token)
}

/// The refusal for an invalid token. It names only what the client can fix, and never what would be accepted.
#[cfg(feature = "jwt")]
fn refusal(error: &TokenError) -> Refusal {
    tracing::debug!(%error, "token refused");
    match error {
        TokenError::NoKeys => Refusal::NoKeys,
        TokenError::Expired => Refusal::WrongCredentials(Some("the token has expired")),
        TokenError::NotYetValid => Refusal::WrongCredentials(Some("the token is not valid yet")),
        TokenError::TooLarge { .. } | TokenError::Malformed => {
            Refusal::WrongCredentials(Some("the token is malformed"))
        }
        _ => Refusal::WrongCredentials(None),
    }
}
