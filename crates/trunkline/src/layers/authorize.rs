//! Authorization of calls by rules.
//!
//! ```
//! # fn main() -> Result<(), trunkline::BuildError> {
//! use trunkline::Router;
//! use trunkline::layers::authorize::{Rules, claim, scope};
//!
//! let rules = Rules::new()
//!     .require("admin.*", claim("role", "admin"))
//!     .require("billing.*", scope("billing").or(claim("role", "admin")));
//! let rpc = Router::new()
//!     .method("admin.stop", || "stopped")
//!     .method("billing.total", || 42)
//!     .method("ping", || "pong")
//!     .authorize(rules)
//!     .build()?;
//! # Ok(())
//! # }
//! ```
//!
//! [`Rules`] apply to all methods of a router, and wrap those that match in an [`AuthorizeLayer`].

use std::sync::Arc;
use std::task::{Context, Poll};

use serde_json::{Map, Value};
use tower::{Layer, Service};

use trunkline_access::Principal;
use trunkline_core::call::Call;
use trunkline_core::error::{ErrorObject, code};
use trunkline_core::operation::Pattern;
use trunkline_core::outcome::Outcome;

use super::future::RefusableFuture;

/// Requirements by method, for [`Router::authorize`](crate::Router::authorize). A method that no pattern
/// matches has no requirements.
#[derive(Debug, Clone, Default)]
#[must_use = "rules apply to the router that they are passed to"]
pub struct Rules(Vec<Rule>);

#[derive(Debug, Clone)]
struct Rule {
    pattern: Pattern,
    requirement: Requirement,
}

impl Rules {
    /// No rules: all callers may call all methods.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a requirement for the methods that match `pattern`. It applies in addition to those of other
    /// patterns that match. A pattern is a name, or a prefix and `*`: `admin.*`, or `*` for all methods.
    pub fn require(mut self, pattern: &str, requirement: Requirement) -> Self {
        self.0.push(Rule { pattern: Pattern::new(pattern), requirement });
        self
    }

    /// The patterns as text.
    pub fn patterns(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|rule| rule.pattern.as_str())
    }

    /// Whether this principal meets all requirements for a name that is not a method. False if there are no
    /// requirements.
    pub(crate) fn admit(&self, name: &str, principal: Option<&Principal>) -> bool {
        let mut matching = self.0.iter().filter(|rule| rule.pattern.matches(name)).peekable();
        let is_met = |rule: &Rule| principal.is_some_and(|one| rule.requirement.is_met_by(one));
        matching.peek().is_some() && matching.all(is_met)
    }

    /// The layer with the requirements of a method, if it has any.
    pub(crate) fn layer_for(&self, method: &str) -> Option<AuthorizeLayer> {
        let matching = self.0.iter().filter(|rule| rule.pattern.matches(method));
        let requirements: Vec<_> = matching.map(|rule| rule.requirement.clone()).collect();
        (!requirements.is_empty()).then(|| AuthorizeLayer::all(requirements))
    }
}

/// A condition that the principal of a call must meet.
#[derive(Debug, Clone, PartialEq)]
pub struct Requirement(Kind);

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Authenticated,
    Name(String),
    Subject { issuer: String, name: String },
    Claim { path: String, value: Value },
    Scope(String),
    Any(Vec<Requirement>),
    All(Vec<Requirement>),
}

/// The claim at `path` is `value`, or an array that holds it.
///
/// Dots in a path separate the names of nested objects: `realm_access.roles`. A claim whose own name
/// contains dots is found, too.
pub fn claim(path: impl Into<String>, value: impl Into<Value>) -> Requirement {
    Requirement(Kind::Claim { path: path.into(), value: value.into() })
}

/// The token has this scope: its claim `scope` or `scp` is a text or an array that contains it.
pub fn scope(scope: impl Into<String>) -> Requirement {
    Requirement(Kind::Scope(scope.into()))
}

/// The principal has this name and no issuer. For the subject of a signed token, see [`subject`].
pub fn principal(name: impl Into<String>) -> Requirement {
    Requirement(Kind::Name(name.into()))
}

/// The principal is the subject `name` of a signed token of this issuer: its claims `sub` and `iss`. The
/// issuer of a token without `iss` is empty.
pub fn subject(issuer: impl Into<String>, name: impl Into<String>) -> Requirement {
    Requirement(Kind::Subject { issuer: issuer.into(), name: name.into() })
}

/// The caller is authenticated, as any principal.
#[must_use]
pub fn authenticated() -> Requirement {
    Requirement(Kind::Authenticated)
}

impl Requirement {
    /// Either requirement is enough.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(Kind::Any(vec![self, other]))
    }

    /// Both requirements must be met.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(Kind::All(vec![self, other]))
    }

    fn is_met_by(&self, principal: &Principal) -> bool {
        match &self.0 {
            Kind::Authenticated => true,
            Kind::Name(name) => is_called(principal, None, name),
            Kind::Subject { issuer, name } => is_called(principal, Some(issuer), name),
            Kind::Claim { path, value } => {
                find(principal.claims(), path).is_some_and(|found| is_or_holds(found, value))
            }
            Kind::Scope(scope) => {
                let claims = ["scope", "scp"].map(|name| principal.claims().get(name));
                claims.into_iter().flatten().any(|found| has_word(found, scope))
            }
            Kind::Any(requirements) => {
                requirements.iter().any(|requirement| requirement.is_met_by(principal))
            }
            Kind::All(requirements) => {
                requirements.iter().all(|requirement| requirement.is_met_by(principal))
            }
        }
    }
}

/// False for a token without a subject: an empty name may be in the rules by mistake.
fn is_called(principal: &Principal, issuer: Option<&str>, name: &str) -> bool {
    principal.has_name() && principal.issuer() == issuer && principal.name() == name
}

/// The value at a path. The longest name that exists is tried first.
fn find<'a>(claims: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    if let Some(value) = claims.get(path) {
        return Some(value);
    }
    path.rmatch_indices('.').find_map(|(dot, _)| {
        let inner = claims.get(&path[..dot])?.as_object()?;
        find(inner, &path[dot + 1..])
    })
}

fn is_or_holds(found: &Value, value: &Value) -> bool {
    found == value || found.as_array().is_some_and(|values| values.contains(value))
}

fn has_word(found: &Value, word: &str) -> bool {
    match found {
        Value::String(words) => words.split(' ').any(|found| found == word && !word.is_empty()),
        Value::Array(words) => words.iter().any(|found| found == word),
        _ => false,
    }
}

/// Requires something of the callers of the methods that it wraps.
///
/// It wraps methods that are registered before it. [`Rules`] apply to those that are registered later,
/// too.
#[derive(Debug, Clone)]
pub struct AuthorizeLayer {
    requirements: Arc<[Requirement]>,
}

impl AuthorizeLayer {
    /// Requires this of each call.
    #[must_use]
    pub fn new(requirement: Requirement) -> Self {
        Self { requirements: Arc::new([requirement]) }
    }

    fn all(requirements: Vec<Requirement>) -> Self {
        Self { requirements: requirements.into() }
    }
}

impl<S> Layer<S> for AuthorizeLayer {
    type Service = Authorize<S>;

    fn layer(&self, inner: S) -> Authorize<S> {
        Authorize { inner, requirements: Arc::clone(&self.requirements) }
    }
}

/// Refuses calls whose [`Principal`] does not meet all requirements with -32008, and calls without a
/// principal with -32007. The reply does not name the requirements.
#[derive(Debug, Clone)]
pub struct Authorize<S> {
    inner: S,
    requirements: Arc<[Requirement]>,
}

impl<S> Service<Call> for Authorize<S>
where
    S: Service<Call, Response = Outcome>,
{
    type Response = Outcome;
    type Error = S::Error;
    type Future = RefusableFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        match check(&self.requirements, &call) {
            Ok(()) => RefusableFuture::running(self.inner.call(call)),
            Err(error) => RefusableFuture::refused(error),
        }
    }
}

fn check(requirements: &[Requirement], call: &Call) -> Result<(), ErrorObject> {
    let Some(principal) = Principal::of(call.extensions()) else {
        return Err(ErrorObject::new(code::UNAUTHENTICATED, "Unauthenticated"));
    };
    if requirements.iter().all(|requirement| requirement.is_met_by(principal)) {
        return Ok(());
    }
    let reason = "the caller may not call this method";
    let error = ErrorObject::new(code::FORBIDDEN, "Forbidden");
    Err(error.with_data(&serde_json::json!({ "reason": reason })))
}
