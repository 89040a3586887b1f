//! Rules: the requirements of methods, and roles.

use std::sync::{Arc, PoisonError, RwLock};

use serde_json::json;
use trunkline_access::{PolicySnapshot, Principal, Scopes};
use trunkline_core::call::{Call, Description, Effect};
use trunkline_core::error::{ErrorObject, code};
use trunkline_core::extensions::Extensions;
use trunkline_core::operation::{DISCOVER, Operation, Pattern};

use super::requirement::{self, Requirement};
use super::role::{Role, RoleTarget};
use crate::layers::rate_limit::Rate;

/// Requirements by method, for [`Router::authorize`](crate::Router::authorize). A method that no pattern
/// matches has no requirements, except for scopes. An unknown method has the requirements of a known one that declares
/// neither scopes nor an effect.
#[derive(Debug, Clone, Default)]
#[must_use = "rules apply to the router that they are passed to"]
pub struct Rules {
    rules: Vec<Rule>,
    read_only: Option<Requirement>,
    others: Option<Requirement>,
    roles: Vec<Role>,
    default_rate: Option<Rate>,
}

/// Rules that can be replaced while services use them. Clones share the rules.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use trunkline::Router;
/// use trunkline::layers::authorize::{Role, Rules, SharedRules, authenticated};
///
/// let rules = SharedRules::default();
/// let rpc = Router::new().method("ping", || "pong").authorize_shared(&rules).build()?;
/// assert_eq!(rpc.call::<String>("ping", &[(); 0]).await?, "pong");
///
/// rules.replace(Rules::new().require("ping", authenticated()));
/// assert!(rpc.call::<String>("ping", &[(); 0]).await.is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct SharedRules(Arc<RwLock<Arc<Rules>>>);

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

    /// Adds a role. With roles, callers may call only the methods that one of their roles permits, and must meet the
    /// requirements of those. `rpc.discover` needs no role.
    pub fn role(mut self, role: Role) -> Self {
        self.roles.push(role);
        self
    }

    /// Sets the scopes for methods that do not declare their own. Default: none. `rpc.discover` requires none.
    pub fn default_scopes(mut self, scopes: DefaultScopes) -> Self {
        let requirement =
            |scopes: Scopes| (!scopes.is_empty()).then(|| Requirement::scopes_of(scopes));
        let DefaultScopes { read_only, others } = scopes;
        (self.read_only, self.others) = (requirement(read_only), requirement(others));
        self
    }

    /// The patterns of requirements as text.
    pub fn patterns(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().map(|rule| rule.pattern.as_str())
    }

    /// The roles.
    #[must_use]
    pub fn roles(&self) -> &[Role] {
        &self.roles
    }

    /// Sets the rate limit of callers whose roles have none. Default: none.
    pub fn default_rate(mut self, rate: Option<Rate>) -> Self {
        self.default_rate = rate;
        self
    }

    /// The rate limit of a caller: the highest one of its roles, or the default one. For
    /// [`RateLimitLayer::by_caller`](crate::layers::RateLimitLayer::by_caller).
    #[must_use]
    pub fn rate(&self, principal: Option<&Principal>) -> Option<Rate> {
        let rates = self.roles_of(principal).filter_map(|role| role.rate);
        rates.min_by_key(|rate| rate.per / rate.calls.max(1)).or(self.default_rate)
    }

    /// Whether a role of a caller permits a database. True without roles.
    #[must_use]
    pub fn permits_database(&self, database: &str, principal: Option<&Principal>) -> bool {
        self.roles.is_empty()
            || self.roles_of(principal).any(|role| role.permits_database(Some(database)))
    }

    /// Whether a caller may use something that is not a method, such as `history`, by its name in patterns. `None`
    /// without roles and without a requirement whose pattern matches.
    #[must_use]
    pub fn admits(&self, name: &str, principal: Option<&Principal>) -> Option<bool> {
        let mut matching = self.rules.iter().filter(|rule| rule.pattern.matches(name)).peekable();
        if self.roles.is_empty() && matching.peek().is_none() {
            return None;
        }
        let is_met = |rule: &Rule| principal.is_some_and(|one| rule.requirement.is_met_by(one));
        let has_role = || self.roles_of(principal).any(|role| role.permits(name));
        Some(matching.all(is_met) && (self.roles.is_empty() || has_role()))
    }

    /// Whether calls of the operation must meet conditions.
    pub(super) fn is_restricting(&self, target: &Target) -> bool {
        !self.roles.is_empty() && target.role.is_some()
            || self.requirements(target).next().is_some()
    }

    /// Whether a caller sees the operation in lists.
    pub(super) fn is_visible(&self, target: &Target, principal: Option<&Principal>) -> bool {
        let has_role = || match &target.role {
            Some(role) => role.is_visible(&target.name, self.roles_of(principal)),
            None => true,
        };
        requirement::are_visible(self.requirements(target), principal)
            && (self.roles.is_empty() || has_role())
    }

    /// Checks a call of the operation.
    pub(super) fn check(&self, target: &Target, call: &mut Call) -> Result<(), ErrorObject> {
        let principal = Principal::of(call.extensions());
        requirement::check(self.requirements(target), principal)?;
        match &target.role {
            Some(role) if !self.roles.is_empty() => {
                let principal = principal.cloned();
                role.check(&target.name, self.roles_of(principal.as_ref()), call)
            }
            _ => Ok(()),
        }
    }

    fn roles_of(&self, principal: Option<&Principal>) -> impl Iterator<Item = &Role> {
        self.roles.iter().filter(move |role| role.has(principal))
    }

    /// The requirements of the operation. Declared scopes are among them if another one exists.
    fn requirements<'r>(
        &'r self,
        target: &'r Target,
    ) -> impl Iterator<Item = &'r Requirement> + Clone {
        let matching = self.rules.iter().filter(|rule| rule.pattern.matches(&target.name));
        let scopes = match &target.scopes {
            // A refusal by a rule names the declared scopes, too.
            TargetScopes::Declared(scopes) => {
                scopes.as_ref().filter(|_| matching.clone().next().is_some())
            }
            TargetScopes::ReadOnly => self.read_only.as_ref(),
            TargetScopes::Others => self.others.as_ref(),
            TargetScopes::Exempt => None,
        };
        matching.map(|rule| &rule.requirement).chain(scopes)
    }
}

impl SharedRules {
    /// The current rules.
    #[must_use]
    pub fn current(&self) -> Arc<Rules> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the rules, for calls that have not been checked yet. Those of requests that were authenticated
    /// [with other rules](Self::policy) are checked with both.
    ///
    /// Patterns are not compared with the names of methods: a misspelt name leaves methods unprotected.
    pub fn replace(&self, rules: impl Into<Arc<Rules>>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = rules.into();
    }
}

impl SharedRules {
    /// The current rules, for [`HttpConfig::policy`](crate::http::HttpConfig::policy).
    #[must_use]
    pub fn policy(&self) -> PolicySnapshot {
        PolicySnapshot::new(self.current())
    }

    /// Checks that the sender of a request or call may use something that is not a method and affects all callers, such
    /// as a reload, by its name in patterns. Without roles and requirements for the name, all but the holders of signed
    /// tokens may, since an issuer may sign tokens for many callers.
    ///
    /// # Errors
    /// -32008 for other senders.
    pub fn check_permission(&self, name: &str, sender: &Extensions) -> Result<(), ErrorObject> {
        let principal = Principal::of(sender);
        let of_request = PolicySnapshot::of(sender).and_then(PolicySnapshot::get::<Rules>);
        let is_permitted = |rules: Arc<Rules>| {
            let is_signed = principal.is_some_and(|principal| principal.issuer().is_some());
            rules.admits(name, principal).unwrap_or(!is_signed)
        };
        // Neither the rules of the request nor those that have replaced them may be evaded.
        if of_request.into_iter().chain([self.current()]).all(is_permitted) {
            return Ok(());
        }
        let reason = format!("no role of the caller permits `{name}`");
        let error = ErrorObject::new(code::FORBIDDEN, "Forbidden");
        Err(error.with_data(&json!({ "reason": reason })))
    }
}

impl From<Rules> for SharedRules {
    fn from(rules: Rules) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(rules))))
    }
}

/// An operation, as far as rules refer to it.
#[derive(Debug, Clone)]
pub(super) struct Target {
    name: String,
    scopes: TargetScopes,
    /// None if no role is needed.
    role: Option<RoleTarget>,
}

/// The required scopes of an operation.
#[derive(Debug, Clone)]
enum TargetScopes {
    Declared(Option<Requirement>),
    ReadOnly,
    Others,
    Exempt,
}

impl Target {
    /// An operation under this name.
    pub(super) fn new(name: &str, description: &Description) -> Self {
        let name = name.to_owned();
        if name == DISCOVER {
            return Self { name, scopes: TargetScopes::Exempt, role: None };
        }
        let scopes = match declared_scopes(description) {
            Some(scopes) => {
                let required = Some(scopes.clone()).filter(|scopes| !scopes.is_empty());
                TargetScopes::Declared(required.map(Requirement::scopes_of))
            }
            None if description.effect == Some(Effect::ReadOnly) => TargetScopes::ReadOnly,
            None => TargetScopes::Others,
        };
        Self { name, scopes, role: Some(RoleTarget::of(description)) }
    }

    /// An unknown method. It has the conditions of an operation that declares nothing, so that callers cannot find out
    /// which methods exist.
    pub(super) fn unknown(name: &str) -> Self {
        let (scopes, role) = (TargetScopes::Others, Some(RoleTarget::UNKNOWN));
        Self { name: name.to_owned(), scopes, role }
    }
}
