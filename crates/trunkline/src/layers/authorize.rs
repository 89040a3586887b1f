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
//!
//! An operation can declare the scopes that its callers need:
//!
//! ```
//! use trunkline::layers::authorize::ScopedOperation;
//! use trunkline::{Operation, Router};
//!
//! let delete = Operation::new("files.delete", || "deleted").scopes(["files:write"]);
//! let router: Router = Router::new().operation(delete);
//! ```

use std::sync::Arc;
use std::task::{Context, Poll};

use serde_json::{Map, Value, json};
use tower::{Layer, Service};

use trunkline_access::{Principal, Scopes};
use trunkline_core::call::{Call, Description, Effect};
use trunkline_core::error::{ErrorObject, code};
use trunkline_core::extensions::Extensions;
use trunkline_core::operation::{Operation, Pattern};
use trunkline_core::outcome::Outcome;

use super::future::RefusableFuture;

/// Requirements by method, for [`Router::authorize`](crate::Router::authorize). A method that no pattern
/// matches has no requirements, except for scopes.
#[derive(Debug, Clone, Default)]
#[must_use = "rules apply to the router that they are passed to"]
pub struct Rules {
    rules: Vec<Rule>,
    default_scopes: DefaultScopes,
}

/// The scopes for methods that do not [declare](ScopedOperation::scopes) their own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DefaultScopes {
    /// For methods whose declared effect is [read-only](Effect::ReadOnly). Default: none.
    pub read_only: Scopes,
    /// For all other methods. Default: none.
    pub others: Scopes,
}

/// The scopes that an operation declares.
#[derive(Debug)]
struct DeclaredScopes(Scopes);

/// Declares the scopes that callers of an operation need.
///
/// Calls without one of them are refused over every protocol, in addition to [`Rules`]. The error names all of them
/// (`data.scopes`), and so does the `WWW-Authenticate` header over HTTP, so that OAuth clients can request them. Calls
/// over stdio that have no principal are accepted: the parent process has all rights of the server.
pub trait ScopedOperation: Sized {
    /// Sets the required scopes, instead of the [default ones](Rules::default_scopes). All of them are required; an
    /// empty list requires none.
    #[must_use]
    fn scopes<I>(self, scopes: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>;
}

impl<S> ScopedOperation for Operation<S> {
    fn scopes<I>(self, scopes: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        self.extension(DeclaredScopes(Scopes::new(scopes)))
    }
}

/// The scopes that an operation declares, if any.
#[must_use]
pub fn declared_scopes(description: &Description) -> Option<&Scopes> {
    description.extensions.get().map(|DeclaredScopes(scopes)| scopes)
}

/// Whether callers of an operation must meet requirements of [`Rules`] or have scopes.
#[must_use]
pub fn is_restricted(description: &Description) -> bool {
    description.extensions.get::<Policies>().is_some()
}

/// Whether the list of operations for a caller contains this one: a caller that may not call it does not see it.
///
/// A caller without a principal sees all operations, and one with a signed token those for which it lacks only scopes:
/// a call is answered with a challenge, from which the client learns what to authenticate with. Requirements of an
/// [`AuthorizeLayer`] that was added as a layer are not considered.
#[must_use]
pub fn is_visible_to(description: &Description, principal: Option<&Principal>) -> bool {
    let Some(principal) = principal else { return true };
    let Some(Policies(policies)) = description.extensions.get() else { return true };
    let is_signed = principal.issuer().is_some();
    let mut requirements = policies.iter().flat_map(|policy| &policy.requirements);
    requirements.all(|requirement| {
        requirement.is_met_by(principal) || (is_signed && requirement.scopes().is_some())
    })
}

/// The requirements of an operation. An extension of its description.
#[derive(Debug, Clone, Default)]
struct Policies(Vec<Arc<Policy>>);

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
        self.rules.push(Rule { pattern: Pattern::new(pattern), requirement });
        self
    }

    /// Sets the scopes for methods that do not declare their own. Default: none. `rpc.discover` requires none.
    pub fn default_scopes(mut self, scopes: DefaultScopes) -> Self {
        self.default_scopes = scopes;
        self
    }

    /// The patterns as text.
    pub fn patterns(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().map(|rule| rule.pattern.as_str())
    }

    /// Whether this principal meets all requirements for a name that is not a method. False if there are no
    /// requirements.
    pub(crate) fn admit(&self, name: &str, principal: Option<&Principal>) -> bool {
        let mut matching = self.rules.iter().filter(|rule| rule.pattern.matches(name)).peekable();
        let is_met = |rule: &Rule| principal.is_some_and(|one| rule.requirement.is_met_by(one));
        matching.peek().is_some() && matching.all(is_met)
    }

    /// The layer with the requirements of an operation, if there are any besides its declared scopes.
    pub(crate) fn layer_for(
        &self,
        name: &str,
        description: Option<&Description>,
    ) -> Option<AuthorizeLayer> {
        let matching = self.rules.iter().filter(|rule| rule.pattern.matches(name));
        let mut requirements: Vec<_> = matching.map(|rule| rule.requirement.clone()).collect();
        let declared = description.and_then(declared_scopes);
        let scopes = match description {
            // A refusal by a rule names the declared scopes, too.
            _ if declared.is_some() => declared.filter(|_| !requirements.is_empty()),
            Some(description) if description.effect == Some(Effect::ReadOnly) => {
                Some(&self.default_scopes.read_only)
            }
            Some(_) => Some(&self.default_scopes.others),
            None => None,
        };
        let scopes = scopes.filter(|scopes| !scopes.is_empty()).cloned();
        requirements.extend(scopes.map(|scopes| Requirement(Kind::Scopes(scopes))));
        (!requirements.is_empty()).then(|| AuthorizeLayer::all(requirements, Anonymous::Refused))
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
    Scopes(Scopes),
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

/// The principal [has this scope](Principal::has_scope): the claim `scope` or `scp` of its token contains it.
pub fn scope(scope: impl Into<String>) -> Requirement {
    Requirement(Kind::Scopes(Scopes::new([scope])))
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
            Kind::Scopes(scopes) => scopes.iter().all(|scope| principal.has_scope(scope)),
            Kind::Any(requirements) => {
                requirements.iter().any(|requirement| requirement.is_met_by(principal))
            }
            Kind::All(requirements) => {
                requirements.iter().all(|requirement| requirement.is_met_by(principal))
            }
        }
    }

    /// The required scopes, if nothing else is required.
    fn scopes(&self) -> Option<Scopes> {
        match &self.0 {
            Kind::Scopes(scopes) => Some(scopes.clone()),
            Kind::All(requirements) => {
                let scopes: Option<Vec<Scopes>> = requirements.iter().map(Self::scopes).collect();
                Some(union(scopes?))
            }
            _ => None,
        }
    }
}

fn union(sets: impl IntoIterator<Item = Scopes>) -> Scopes {
    let mut union = Scopes::default();
    for set in sets {
        union.extend(set.iter().map(str::to_owned));
    }
    union
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

/// Requires something of the callers of the methods that it wraps.
///
/// It wraps methods that are registered before it. [`Rules`] apply to those that are registered later,
/// too.
#[derive(Debug, Clone)]
pub struct AuthorizeLayer {
    policy: Arc<Policy>,
}

#[derive(Debug)]
struct Policy {
    requirements: Vec<Requirement>,
    anonymous: Anonymous,
}

/// The treatment of calls without a principal.
#[derive(Debug, PartialEq)]
enum Anonymous {
    Refused,
    /// Only calls over stdio are accepted.
    Local,
}

impl AuthorizeLayer {
    /// Requires this of each call.
    #[must_use]
    pub fn new(requirement: Requirement) -> Self {
        Self::all(vec![requirement], Anonymous::Refused)
    }

    /// Requires the declared scopes of an operation, if there are any.
    pub(crate) fn declared(description: &Description) -> Option<Self> {
        let scopes = declared_scopes(description).filter(|scopes| !scopes.is_empty())?;
        Some(Self::all(vec![Requirement(Kind::Scopes(scopes.clone()))], Anonymous::Local))
    }

    /// Adds the requirements to the extensions of the description of an operation.
    pub(crate) fn describe(&self, extensions: &mut Extensions) {
        let mut policies = extensions.get::<Policies>().cloned().unwrap_or_default();
        policies.0.push(Arc::clone(&self.policy));
        extensions.insert(policies);
    }

    fn all(requirements: Vec<Requirement>, anonymous: Anonymous) -> Self {
        Self { policy: Arc::new(Policy { requirements, anonymous }) }
    }
}

impl<S> Layer<S> for AuthorizeLayer {
    type Service = Authorize<S>;

    fn layer(&self, inner: S) -> Authorize<S> {
        Authorize { inner, policy: Arc::clone(&self.policy) }
    }
}

/// Refuses calls whose [`Principal`] does not meet all requirements with -32008, and calls without a
/// principal with -32007. The reply names the required scopes if the call lacks nothing else.
#[derive(Debug, Clone)]
pub struct Authorize<S> {
    inner: S,
    policy: Arc<Policy>,
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
        match self.policy.check(call.extensions()) {
            Ok(()) => RefusableFuture::running(self.inner.call(call)),
            Err(error) => RefusableFuture::refused(error),
        }
    }
}

impl Policy {
    fn check(&self, extensions: &Extensions) -> Result<(), ErrorObject> {
        let Some(principal) = Principal::of(extensions) else {
            if self.anonymous == Anonymous::Local && is_stdio(extensions) {
                return Ok(());
            }
            return Err(unauthenticated(&self.scopes()));
        };
        let mut unmet =
            self.requirements.iter().filter(|requirement| !requirement.is_met_by(principal));
        let Some(first) = unmet.next() else { return Ok(()) };
        let lacks_scopes_only =
            std::iter::once(first).chain(unmet).all(|requirement| requirement.scopes().is_some());
        let scopes = if lacks_scopes_only { self.scopes() } else { Scopes::default() };
        Err(forbidden(principal, &scopes))
    }

    /// All required scopes, so that a client can request them at once.
    fn scopes(&self) -> Scopes {
        union(self.requirements.iter().filter_map(Requirement::scopes))
    }
}

/// Whether the call came over stdin of this process.
fn is_stdio(extensions: &Extensions) -> bool {
    ["stdio", "mcp-stdio"].contains(&extensions.endpoint())
}

fn unauthenticated(scopes: &Scopes) -> ErrorObject {
    let error = ErrorObject::new(code::UNAUTHENTICATED, "Unauthenticated");
    if scopes.is_empty() {
        return error;
    }
    error.with_data(&json!({ "scopes": scopes.iter().collect::<Vec<_>>() }))
}

/// The refusal of a principal, which names the required scopes unless they are empty.
fn forbidden(principal: &Principal, scopes: &Scopes) -> ErrorObject {
    let error = ErrorObject::new(code::FORBIDDEN, "Forbidden");
    if scopes.is_empty() {
        return error.with_data(&json!({ "reason": "the caller may not call this method" }));
    }
    let missing = scopes.iter().filter(|scope| !principal.has_scope(scope));
    let missing: Vec<String> = missing.map(|scope| format!("`{scope}`")).collect();
    let reason = format!("the token lacks the scope {}", missing.join(" and "));
    error.with_data(&json!({ "reason": reason, "scopes": scopes.iter().collect::<Vec<_>>() }))
}
