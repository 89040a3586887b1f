use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::call::Call;
use crate::error::{ErrorObject, code};
use crate::extensions::Extensions;
use crate::extract::FromCall;

/// Who has made a call: the name that a token stands for, and what the token says of it. Cloning is
/// cheap.
///
/// As an extractor, it refuses calls that came without credentials with -32007; take an
/// `Option<Principal>` where they may.
///
/// Names that are listed and subjects of signed tokens are apart: whoever an issuer calls `root` is
/// not the `root` of the list. So are the subjects of two issuers.
#[derive(Clone, PartialEq)]
pub struct Principal {
    name: Arc<str>,
    source: Source,
    claims: Arc<Map<String, Value>>,
}

/// Who has given the name.
#[derive(Clone, PartialEq)]
enum Source {
    Listed,
    Signed { issuer: Arc<str> },
}

/// What tells principals apart, for counting what they do.
#[derive(Clone, Copy, Hash)]
pub(crate) struct Identity<'a> {
    issuer: Option<&'a str>,
    name: &'a str,
}

impl Principal {
    /// A principal under a name that this server has given, of whom nothing else is known.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), source: Source::Listed, claims: Arc::default() }
    }

    /// The subject of a token that this issuer has signed. Both are empty where the token does not
    /// tell.
    pub fn signed(issuer: impl Into<Arc<str>>, subject: impl Into<Arc<str>>) -> Self {
        let source = Source::Signed { issuer: issuer.into() };
        Self { name: subject.into(), source, claims: Arc::default() }
    }

    /// The same principal with what its token says.
    #[must_use]
    pub fn with_claims(mut self, claims: Map<String, Value>) -> Self {
        self.claims = Arc::new(claims);
        self
    }

    /// The name: of a JWT its subject (empty if it has none), of a static token that under which it
    /// is listed.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Who has given the name: of a JWT its issuer (empty if it has none), of a static token nobody.
    #[must_use]
    pub fn issuer(&self) -> Option<&str> {
        match &self.source {
            Source::Listed => None,
            Source::Signed { issuer } => Some(issuer),
        }
    }

    /// Nothing where there is no name: many may be without one.
    pub(crate) fn identity(&self) -> Option<Identity<'_>> {
        let name = self.name();
        (!name.is_empty()).then(|| Identity { issuer: self.issuer(), name })
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

impl<S> FromCall<S> for Option<Principal> {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        Ok(Principal::of(call.extensions()).cloned())
    }
}

/// Shows no claims: they may be personal.
impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Principal").field(&self.name).finish()
    }
}
