//! Static bearer tokens (RFC 6750).

use std::fmt;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use subtle::{Choice, ConstantTimeEq};

use super::refusal::Refusal;

/// The tokens that open the door; without any, it stands open.
#[derive(Clone, Default)]
pub struct Tokens(Vec<Box<str>>);

impl Tokens {
    /// Adds a token.
    pub fn allow(&mut self, token: impl Into<Box<str>>) {
        self.0.push(token.into());
    }

    /// Whether there is no token, so that all requests pass.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn check(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        if self.0.is_empty() {
            return Ok(());
        }
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else {
            return Err(Refusal::NoCredentials);
        };
        let token = bearer(value.as_bytes()).ok_or(Refusal::NoCredentials)?;
        // Every token is compared, in a time that does not tell which one came close.
        let matches = |listed: &str| listed.as_bytes().ct_eq(token);
        let found = self.0.iter().fold(Choice::from(0), |found, listed| found | matches(listed));
        if bool::from(found) { Ok(()) } else { Err(Refusal::WrongCredentials) }
    }
}

/// The token of `Bearer token`; the scheme's case does not matter (RFC 9110, section 11.1).
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked("Bearer ".len())?;
    let token = token.trim_ascii();
    // An empty token, should one be listed by mistake, opens nothing.
    (scheme.eq_ignore_ascii_case(b"Bearer ") && !token.is_empty()).then_some(token)
}

/// Shows no token.
impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tokens({})", self.0.len())
    }
}
