//! Authentication by the bearer token of a request (RFC 6750).

use http::header::AUTHORIZATION;
use http::request::Parts;
use trunkline_access::Tokens;
#[cfg(feature = "jwt")]
use trunkline_access::jwt::{TokenError, Verification};

use super::authenticate::{Authentication, AuthenticationError, Authenticator};

/// Accepts requests whose `Authorization` header has an accepted token. Tokens elsewhere are ignored: request
/// targets and bodies end up in logs. So are headers of other schemes, and repeated ones.
impl Authenticator for Tokens {
    fn authenticate(&self, request: &Parts) -> Option<Authentication> {
        let mut values = request.headers.get_all(AUTHORIZATION).iter();
        let value = values.next().filter(|_| values.next().is_none())?;
        let token = bearer(value.as_bytes())?;
        if let Some(principal) = self.principal(token) {
            return Some(Authentication::value(Ok(principal.clone())));
        }
        #[cfg(feature = "jwt")]
        if let Some(jwt) = self.signed() {
            return Some(match jwt.check(token) {
                Verification::Ready(result) => {
                    Authentication::value(result.map_err(|error| refusal(&error)))
                }
                Verification::Pending(pending) => {
                    Authentication::boxed(
                        async move { pending.await.map_err(|error| refusal(&error)) },
                    )
                }
            });
        }
        Some(Authentication::value(Err(AuthenticationError::Invalid(None))))
    }

    fn remedy(&self) -> &'static str {
        "send `Authorization: Bearer TOKEN`"
    }
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
fn refusal(error: &TokenError) -> AuthenticationError {
    tracing::debug!(%error, "token refused");
    AuthenticationError::Invalid(match error {
        TokenError::NoKeys => return AuthenticationError::Unavailable,
        TokenError::Expired => Some("the token has expired"),
        TokenError::NotYetValid => Some("the token is not valid yet"),
        TokenError::TooLarge { .. } | TokenError::Malformed => Some("the token is malformed"),
        _ => None,
    })
}
