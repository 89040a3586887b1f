//! Who calls, by the token that a request carries (RFC 6750).

use trunkline_access::Principal;
#[cfg(feature = "jwt")]
use trunkline_access::jwt::{Checked, Checking, TokenError};

use super::config::HttpConfig;
use super::fields::Field;
use super::refusal::Refusal;

/// The sender of a request that was let in.
pub(super) enum Caller {
    /// No token is needed.
    Anyone,
    Known(Principal),
    /// The keys that the token may be signed with are being fetched.
    #[cfg(feature = "jwt")]
    Awaited(Checking),
}

#[cfg(feature = "jwt")]
impl Caller {
    /// The principal of the token, if one is required.
    pub(super) async fn principal(self) -> Result<Option<Principal>, Refusal> {
        match self {
            Self::Anyone => Ok(None),
            Self::Known(principal) => Ok(Some(principal)),
            Self::Awaited(checking) => checking.await.map(Some).map_err(|error| refusal(&error)),
        }
    }
}

/// Passes requests whose `Authorization` has a token that the settings accept. Only the header is read: targets and bodies
/// end up in logs.
pub(super) fn check(field: Field<'_>, settings: &HttpConfig) -> Result<Caller, Refusal> {
    if settings.bearer.is_empty() {
        return Ok(Caller::Anyone);
    }
    let Some(value) = field.first.filter(|_| !field.is_repeated) else {
        return Err(Refusal::NoCredentials);
    };
    let token = bearer(value.as_bytes()).ok_or(Refusal::NoCredentials)?;
    if let Some(principal) = settings.bearer.principal(token) {
        return Ok(Caller::Known(principal.clone()));
    }
    #[cfg(feature = "jwt")]
    if let Some(jwt) = settings.bearer.signed() {
        return match jwt.check(token) {
            Checked::Now(checked) => checked.map(Caller::Known).map_err(|error| refusal(&error)),
            Checked::Later(checking) => Ok(Caller::Awaited(checking)),
        };
    }
    Err(Refusal::WrongCredentials(None))
}

/// The token of `Bearer token`; the scheme's case does not matter (RFC 9110, section 11.1).
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked("Bearer ".len())?;
    let token = token.trim_ascii();
    // An empty token, should one be listed by mistake, opens nothing.
    (scheme.eq_ignore_ascii_case(b"Bearer ") && !token.is_empty()).then_some(token)
}

/// A client is told what it can mend, and nothing of what would be accepted.
#[cfg(feature = "jwt")]
fn refusal(error: &TokenError) -> Refusal {
    tracing::debug!(%error, "a token was refused");
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
