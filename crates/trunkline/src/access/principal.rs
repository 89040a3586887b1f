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
#[derive(Clone, PartialEq)]
pub struct Principal {
    name: Arc<str>,
    claims: Arc<Map<String, Value>>,
}

impl Principal {
    /// A principal of whom nothing but a name is known.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), claims: Arc::default() }
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
