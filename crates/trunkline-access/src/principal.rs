use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use trunkline_core::call::Call;
use trunkline_core::error::{ErrorObject, code};
use trunkline_core::extensions::Extensions;
use trunkline_core::extract::{FromCall, OptionalFromCall};

/// Who has made a call: the name that a token stands for, and what the token says of it. Cloning is
/// cheap.
///
/// As an extractor, it refuses calls that came without credentials with -32007; take an
/// `Option<Principal>` where they may.
///
/// Names that are listed and subjects of signed tokens are apart: whoever an issuer calls `root` is
/// not the `root` of the list. So are the subjects of two issuers. A signed token without a subject is
/// identified by itself, see [`anonymous`](Self::anonymous).
#[derive(Clone, PartialEq)]
pub struct Principal {
    name: Arc<str>,
    source: Source,
    claims: Arc<Map<String, Value>>,
}

/// Who has given the name.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Source {
    Listed,
    Signed {
        issuer: Arc<str>,
    },
    /// The name identifies a token, not a subject.
    Anonymous {
        issuer: Arc<str>,
    },
}

/// What tells principals apart, for counting what they do.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity<'a> {
    source: &'a Source,
    name: &'a str,
}

impl Principal {
    /// A principal under a name that this server has given, of whom nothing else is known.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), source: Source::Listed, claims: Arc::default() }
    }

    /// The subject of a token that this issuer has signed. The issuer is empty where the token has none;
    /// for a token without a subject, use [`anonymous`](Self::anonymous).
    pub fn signed(issuer: impl Into<Arc<str>>, subject: impl Into<Arc<str>>) -> Self {
        let source = Source::Signed { issuer: issuer.into() };
        Self { name: subject.into(), source, claims: Arc::default() }
    }

    /// The bearer of a token that this issuer has signed and that has no subject. `token` identifies the
    /// token, and must not reveal it: [`Jwt`](super::jwt) uses `jti:` and the claim `jti`, or else
    /// `sha256:` and the digest of the token in hexadecimal.
    ///
    /// Two such tokens are two principals, and none of them is a [subject](Self::signed) of that name.
    pub fn anonymous(issuer: impl Into<Arc<str>>, token: impl Into<Arc<str>>) -> Self {
        let source = Source::Anonymous { issuer: issuer.into() };
        Self { name: token.into(), source, claims: Arc::default() }
    }

    /// The same principal with what its token says.
    #[must_use]
    pub fn with_claims(mut self, claims: Map<String, Value>) -> Self {
        self.claims = Arc::new(claims);
        self
    }

    /// The name: of a JWT its subject, or the [identifier of the token](Self::anonymous) if it has none;
    /// of a static token that under which it is listed.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Who has given the name: of a JWT its issuer (empty if it has none), of a static token nobody.
    #[must_use]
    pub fn issuer(&self) -> Option<&str> {
        match &self.source {
            Source::Listed => None,
            Source::Signed { issuer } | Source::Anonymous { issuer } => Some(issuer),
        }
    }

    /// A key for what a service stores for its callers: equal for tokens of one principal, different for
    /// all others. `None` if the name is empty.
    ///
    /// ```
    /// # use trunkline::access::Principal;
    /// let issuer = "https://login.example.com";
    /// let key = |principal: Principal| principal.owner_key();
    /// assert_ne!(key(Principal::new("ada")), key(Principal::signed(issuer, "ada")));
    /// assert_ne!(key(Principal::anonymous(issuer, "jti:1")), key(Principal::signed(issuer, "jti:1")));
    /// assert_eq!(key(Principal::new("")), None);
    /// ```
    #[must_use]
    pub fn owner_key(&self) -> Option<String> {
        let Identity { source, name } = self.identity()?;
        let key = match source {
            Source::Listed => json!([null, name]),
            Source::Signed { issuer } => json!([**issuer, name]),
            Source::Anonymous { issuer } => json!([**issuer, null, name]),
        };
        Some(key.to_string())
    }

    /// Nothing where there is no name: many may be without one.
    pub fn identity(&self) -> Option<Identity<'_>> {
        let name = self.name();
        (!name.is_empty()).then_some(Identity { source: &self.source, name })
    }

    /// Whether the name is that of a listed token, or the subject of a signed one.
    pub fn has_name(&self) -> bool {
        !self.name.is_empty() && !matches!(self.source, Source::Anonymous { .. })
    }

    /// What the token says. Of a static token, nothing.
    #[must_use]
    pub fn claims(&self) -> &Map<String, Value> {
        &self.claims
    }

    /// Who has made a call, for layers.
    #[must_use]
    pub fn of(extensions: &Extensions) -> Option<&Self> {
        extensions.get()
    }
}

impl<S> FromCall<S> for Principal {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        let unknown = || ErrorObject::new(code::UNAUTHENTICATED, "Unauthenticated");
        Self::of(call.extensions()).cloned().ok_or_else(unknown)
    }
}

impl<S> OptionalFromCall<S> for Principal {
    fn from_call(call: &mut Call, _state: &S) -> Result<Option<Self>, ErrorObject> {
        Ok(Self::of(call.extensions()).cloned())
    }
}

/// Shows no claims: they may be personal.
impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Principal").field(&self.name).finish()
    }
}
