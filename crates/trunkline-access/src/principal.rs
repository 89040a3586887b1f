use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use trunkline_core::call::Call;
use trunkline_core::error::{ErrorObject, code};
use trunkline_core::extensions::Extensions;
use trunkline_core::extract::{FromCall, OptionalFromCall};

use super::scopes::{ScopeHierarchy, Scopes};

/// The authenticated caller: a name and the claims of its token. Cloning is cheap.
///
/// As an extractor, it refuses calls without credentials with -32007; extract an
/// `Option<Principal>` to accept them.
///
/// Names of listed tokens and subjects of signed tokens are separate namespaces: the `root` of an issuer
/// is not the `root` of the list. The same holds for subjects of different issuers. A signed token without
/// a subject is its own principal, see [`anonymous`](Self::anonymous).
#[derive(Clone, PartialEq)]
pub struct Principal {
    name: Arc<str>,
    source: Source,
    claims: Arc<Map<String, Value>>,
    hierarchy: ScopeHierarchy,
    /// The scopes in other claims than those of the standard.
    other_scopes: Arc<[String]>,
}

/// The origin of the name.
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

/// A hashable key that is unique per principal, for example for rate limits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity<'a> {
    source: &'a Source,
    name: &'a str,
}

impl Principal {
    /// A principal with a name configured on this server, and without claims.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self::with_source(name.into(), Source::Listed)
    }

    /// The subject of a token signed by this issuer. The issuer is empty if the token has no `iss`.
    /// For a token without a subject, use [`anonymous`](Self::anonymous).
    pub fn signed(issuer: impl Into<Arc<str>>, subject: impl Into<Arc<str>>) -> Self {
        Self::with_source(subject.into(), Source::Signed { issuer: issuer.into() })
    }

    /// The bearer of a token signed by this issuer that has no subject. `token` identifies the token and
    /// must not reveal it: [`Jwt`](super::jwt) uses `jti:` followed by the claim `jti`, or else `sha256:`
    /// followed by the digest of the token in hexadecimal.
    ///
    /// Two such tokens are two principals, and neither equals a [subject](Self::signed) of the same name.
    pub fn anonymous(issuer: impl Into<Arc<str>>, token: impl Into<Arc<str>>) -> Self {
        Self::with_source(token.into(), Source::Anonymous { issuer: issuer.into() })
    }

    fn with_source(name: Arc<str>, source: Source) -> Self {
        let (claims, hierarchy, other_scopes) = Default::default();
        Self { name, source, claims, hierarchy, other_scopes }
    }

    /// Sets the claims of the token.
    #[must_use]
    pub fn with_claims(mut self, claims: Map<String, Value>) -> Self {
        self.claims = Arc::new(claims);
        self
    }

    /// Sets the scopes: the claim `scope`. The principal of a listed token has none by default.
    #[must_use]
    pub fn with_scopes(mut self, scopes: &Scopes) -> Self {
        let claims = Arc::make_mut(&mut self.claims);
        claims.remove(SCOPE_CLAIMS[1]);
        claims.insert(SCOPE_CLAIMS[0].to_owned(), scopes.to_string().into());
        self
    }

    /// Adds the values of these claims to the [scopes](Self::has_scope). Dots separate the names of nested objects:
    /// `realm_access.roles`; a claim whose own name contains dots is found, too. Default: none.
    #[must_use]
    pub fn with_scope_claims(mut self, claims: &[String]) -> Self {
        for path in claims {
            let found = find(&self.claims, path).into_iter().flat_map(texts);
            let found: Vec<String> = found.map(str::to_owned).collect();
            self.other_scopes = self.other_scopes.iter().cloned().chain(found).collect();
        }
        self
    }

    /// Sets the scopes that broader ones include. Default: none.
    #[must_use]
    pub fn with_scope_hierarchy(mut self, hierarchy: ScopeHierarchy) -> Self {
        self.hierarchy = hierarchy;
        self
    }

    /// Whether the principal has this scope, or a [broader](ScopeHierarchy) one: the claim `scope` or `scp`, or one of
    /// [others](Self::with_scope_claims), is a text or an array that contains it.
    #[must_use]
    pub fn has_scope(&self, scope: &str) -> bool {
        let claims = SCOPE_CLAIMS.map(|name| self.claims.get(name));
        // An empty scope may be required by mistake.
        !scope.is_empty()
            && self.hierarchy.grants(scope, |scope| {
                claims.into_iter().flatten().any(|claim| texts(claim).any(|found| found == scope))
                    || self.other_scopes.iter().any(|found| found == scope)
            })
    }

    /// The name: the subject of a JWT, or the [identifier of the token](Self::anonymous) without a
    /// subject; for a listed token, its configured name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The issuer of a JWT, empty if the token has no `iss`. `None` for a listed token.
    #[must_use]
    pub fn issuer(&self) -> Option<&str> {
        match &self.source {
            Source::Listed => None,
            Source::Signed { issuer } | Source::Anonymous { issuer } => Some(issuer),
        }
    }

    /// A key for data that a service stores per caller: equal for all tokens of one principal, and
    /// different for all other principals. `None` if the name is empty.
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

    /// The key of this principal in memory. `None` if the name is empty, since several callers may share it.
    pub fn identity(&self) -> Option<Identity<'_>> {
        let name = self.name();
        (!name.is_empty()).then_some(Identity { source: &self.source, name })
    }

    /// Whether the name is that of a listed token or the subject of a signed one.
    pub fn has_name(&self) -> bool {
        !self.name.is_empty() && !matches!(self.source, Source::Anonymous { .. })
    }

    /// The claims of the token. Empty for a listed token without [scopes](Self::with_scopes).
    #[must_use]
    pub fn claims(&self) -> &Map<String, Value> {
        &self.claims
    }

    /// The principal of a call, for layers.
    #[must_use]
    pub fn of(extensions: &Extensions) -> Option<&Self> {
        extensions.get()
    }
}

/// The claims with scopes: that of RFC 8693, section 4.2, and the one of other issuers.
const SCOPE_CLAIMS: [&str; 2] = ["scope", "scp"];

/// The scopes in a claim: a text, separated by spaces, or an array of texts.
fn texts(claim: &Value) -> impl Iterator<Item = &str> {
    let (text, array) = match claim {
        Value::String(text) => (Some(text), None),
        Value::Array(array) => (None, Some(array)),
        _ => (None, None),
    };
    let in_text = text.into_iter().flat_map(|text| text.split(' '));
    in_text.chain(array.into_iter().flatten().filter_map(Value::as_str))
}

/// The claim with this name, or at this path.
fn find<'c>(claims: &'c Map<String, Value>, path: &str) -> Option<&'c Value> {
    if let Some(claim) = claims.get(path) {
        return Some(claim);
    }
    path.match_indices('.').find_map(|(dot, _)| {
        let inner = claims.get(&path[..dot])?.as_object()?;
        find(inner, &path[dot + 1..])
    })
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

/// Omits the claims, which may be personal data.
impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Principal").field(&self.name).finish()
    }
}
