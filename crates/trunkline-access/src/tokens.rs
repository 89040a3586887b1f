use std::fmt;

use subtle::ConstantTimeEq;

#[cfg(feature = "jwt")]
use super::jwt::Jwt;
use super::principal::Principal;

/// The accepted bearer tokens: listed tokens, each with its [`Principal`], and signed tokens.
#[derive(Clone, Default)]
pub struct Tokens {
    listed: Vec<Token>,
    #[cfg(feature = "jwt")]
    signed: Option<Jwt>,
}

#[derive(Clone)]
struct Token {
    text: Box<str>,
    principal: Principal,
}

impl Tokens {
    /// Adds a token without a name. The principal of the first listed token is named `bearer-1`, and so
    /// on, skipping names that are in use. Data stored per caller needs names that stay the same when the
    /// list changes: use [`allow_as`](Self::allow_as).
    pub fn allow(&mut self, token: impl Into<Box<str>>) {
        let mut names = (self.listed.len() + 1..).map(|number| format!("bearer-{number}"));
        let is_free =
            |name: &String| self.listed.iter().all(|token| token.principal.name() != name);
        let name = names.find(is_free).unwrap_or_default();
        self.allow_as(name, token);
    }

    /// Adds a token of the principal with this name. A principal may have several tokens.
    pub fn allow_as(&mut self, name: impl Into<String>, token: impl Into<Box<str>>) {
        self.allow_principal(Principal::new(name.into()), token);
    }

    /// Adds a token of this principal, for example of one with [scopes](Principal::with_scopes).
    pub fn allow_principal(&mut self, principal: Principal, token: impl Into<Box<str>>) {
        self.listed.push(Token { text: token.into(), principal });
    }

    /// Accepts signed tokens that `jwt` verifies.
    #[cfg(feature = "jwt")]
    pub fn allow_signed(&mut self, jwt: Jwt) {
        self.signed = Some(jwt);
    }

    /// The verifier of signed tokens, if they are accepted.
    #[cfg(feature = "jwt")]
    pub fn signed(&self) -> Option<&Jwt> {
        self.signed.as_ref()
    }

    /// Whether no token is accepted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        #[cfg(feature = "jwt")]
        if self.signed.is_some() {
            return false;
        }
        self.listed.is_empty()
    }

    /// The principal of a listed token. Compares all tokens in constant time: it does not depend on how much
    /// of a token matches.
    pub fn principal(&self, token: &[u8]) -> Option<&Principal> {
        let mut found = None;
        for listed in &self.listed {
            if bool::from(listed.text.as_bytes().ct_eq(token)) {
                found = Some(&listed.principal);
            }
        }
        found
    }
}

#[cfg(feature = "jwt")]
impl From<Jwt> for Tokens {
    fn from(jwt: Jwt) -> Self {
        Self { signed: Some(jwt), ..Self::default() }
    }
}

/// Omits the tokens.
impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tokens({})", self.listed.len())
    }
}
