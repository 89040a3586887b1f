use std::fmt;

use subtle::ConstantTimeEq;

use super::principal::Principal;

/// Tokens that open a door, each with the [`Principal`] that it stands for.
#[derive(Clone, Default)]
pub struct Tokens(Vec<Token>);

#[derive(Clone)]
struct Token {
    text: Box<str>,
    principal: Principal,
}

impl Tokens {
    /// Adds a token without a name. The principal of the first token listed is called `bearer-1`,
    /// and so on, without the names that are taken. What outlives the service, such as what a caller has
    /// stored, needs names that stay when the list changes: [`allow_as`](Self::allow_as).
    pub fn allow(&mut self, token: impl Into<Box<str>>) {
        let mut names = (self.0.len() + 1..).map(|number| format!("bearer-{number}"));
        let is_free = |name: &String| self.0.iter().all(|token| token.principal.name() != name);
        let name = names.find(is_free).unwrap_or_default();
        self.allow_as(name, token);
    }

    /// Adds the token of the principal with this name. One principal may have several.
    pub fn allow_as(&mut self, name: impl Into<String>, token: impl Into<Box<str>>) {
        let principal = Principal::new(name.into());
        self.0.push(Token { text: token.into(), principal });
    }

    /// Whether there is no token.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whom a token stands for. All tokens are compared, in a time that does not tell which one came
    /// close.
    pub fn principal(&self, token: &[u8]) -> Option<&Principal> {
        let mut found = None;
        for listed in &self.0 {
            if bool::from(listed.text.as_bytes().ct_eq(token)) {
                found = Some(&listed.principal);
            }
        }
        found
    }
}

/// Shows no token.
impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tokens({})", self.0.len())
    }
}
