//! The layer around an operation.

use std::sync::Arc;

use trunkline_access::{PolicySnapshot, Principal};
use trunkline_core::call::{Call, CallFuture, Description};
use trunkline_core::error::ErrorObject;
use trunkline_core::extensions::Extensions;
use trunkline_core::outcome::Outcome;

use super::requirement::{self, Requirement};
use super::rules::{Rules, SharedRules, Target, declared_scopes};
use crate::layers::layered::{CallLayer, CallService, layer};

/// Requires something of the callers of the methods that it wraps.
///
/// It refuses calls whose [`Principal`] does not meet all requirements with -32008, and calls without a principal with
/// -32007. The reply names the required scopes if the call lacks nothing else.
///
/// It wraps methods that are registered before it. [`Rules`] apply to those that are registered later,
/// too.
#[derive(Debug, Clone)]
pub struct AuthorizeLayer {
    policy: Arc<Policy>,
}

/// The conditions of the calls of an operation.
#[derive(Debug)]
enum Policy {
    Fixed {
        requirements: Vec<Requirement>,
        anonymous: Anonymous,
    },
    /// Those of rules that may be replaced.
    Shared {
        rules: SharedRules,
        target: Target,
    },
}

/// The treatment of calls without a principal.
#[derive(Debug, PartialEq)]
enum Anonymous {
    Refused,
    /// Only calls over stdio are accepted.
    Local,
}

/// The policies of an operation. An extension of its description.
#[derive(Debug, Clone, Default)]
struct Policies(Vec<Arc<Policy>>);

/// Whether callers of an operation must currently meet requirements of [`Rules`], have a role or have
/// scopes.
#[must_use]
pub fn is_restricted(description: &Description) -> bool {
    let policies = description.extensions.get::<Policies>();
    policies.is_some_and(|Policies(policies)| policies.iter().any(|policy| policy.is_restricting()))
}

/// Whether callers of an operation may be [restricted](is_restricted), now or after its rules are replaced.
#[must_use]
pub fn can_be_restricted(description: &Description) -> bool {
    description.extensions.get::<Policies>().is_some()
}

/// Whether the list of operations for a caller contains this one: a caller that may not call it does not see it.
///
/// A caller without a principal sees all operations that need no role, and one with a signed token those for which it
/// lacks only scopes: a call is answered with a challenge, from which the client learns what to authenticate with.
/// Requirements of an [`AuthorizeLayer`] that was added as a layer are not considered.
#[must_use]
pub fn is_visible_to(description: &Description, principal: Option<&Principal>) -> bool {
    let Some(Policies(policies)) = description.extensions.get() else { return true };
    policies.iter().all(|policy| match &**policy {
        Policy::Fixed { requirements, .. } => requirement::are_visible(requirements, principal),
        Policy::Shared { rules, target } => rules.current().is_visible(target, principal),
    })
}

/// Checks a call as the [`Rules`] and the declared scopes of its operation will do inside of all layers.
///
/// # Errors
/// The refusal. Requirements of an [`AuthorizeLayer`] that was added as a layer are not considered.
#[cfg(feature = "audit")]
pub(crate) fn check(call: &mut Call) -> Result<(), ErrorObject> {
    let Some(operation) = call.operation().cloned() else { return Ok(()) };
    let policies: Option<&Policies> = operation.description().extensions.get();
    policies.map_or(Ok(()), |Policies(policies)| {
        policies.iter().try_for_each(|policy| policy.check(call))
    })
}

impl AuthorizeLayer {
    /// Requires this of each call.
    #[must_use]
    pub fn new(requirement: Requirement) -> Self {
        Self::all(vec![requirement], Anonymous::Refused)
    }

    /// Requires what the current rules require of each call.
    fn of_shared(rules: SharedRules, target: Target) -> Self {
        Self { policy: Arc::new(Policy::Shared { rules, target }) }
    }

    /// Requires the declared scopes of an operation, if there are any.
    pub(crate) fn declared(description: &Description) -> Option<Self> {
        let scopes = declared_scopes(description).filter(|scopes| !scopes.is_empty())?;
        Some(Self::all(vec![Requirement::scopes_of(scopes.clone())], Anonymous::Local))
    }

    /// Adds the requirements to the extensions of the description of an operation.
    pub(crate) fn describe(&self, extensions: &mut Extensions) {
        let mut policies = extensions.get::<Policies>().cloned().unwrap_or_default();
        policies.0.push(Arc::clone(&self.policy));
        extensions.insert(policies);
    }

    fn all(requirements: Vec<Requirement>, anonymous: Anonymous) -> Self {
        Self { policy: Arc::new(Policy::Fixed { requirements, anonymous }) }
    }
}

impl Rules {
    /// The layer with the conditions of an operation, if there are any besides its declared scopes.
    pub(crate) fn layer_for(
        &self,
        name: &str,
        description: Option<&Description>,
    ) -> Option<AuthorizeLayer> {
        let target = Target::new(name, description);
        if self.requires_role(&target) {
            return Some(AuthorizeLayer::of_shared(self.clone().into(), target));
        }
        let requirements: Vec<_> = self.requirements(&target).cloned().collect();
        (!requirements.is_empty()).then(|| AuthorizeLayer::all(requirements, Anonymous::Refused))
    }
}

impl SharedRules {
    /// The layer with the current conditions of an operation.
    pub(crate) fn layer_for(
        &self,
        name: &str,
        description: Option<&Description>,
    ) -> AuthorizeLayer {
        AuthorizeLayer::of_shared(self.clone(), Target::new(name, description))
    }
}

layer!(AuthorizeLayer);

impl CallLayer for AuthorizeLayer {
    fn call<S: CallService>(&self, mut call: Call, inner: &mut S) -> CallFuture<S::Error> {
        match self.policy.check(&mut call) {
            Ok(()) => inner.run(call),
            Err(error) => CallFuture::value(Ok(Outcome::error(error))),
        }
    }
}

impl Policy {
    fn check(&self, call: &mut Call) -> Result<(), ErrorObject> {
        match self {
            Self::Fixed { requirements, anonymous } => {
                let extensions = call.extensions();
                let principal = Principal::of(extensions);
                let is_local = *anonymous == Anonymous::Local && is_stdio(extensions);
                if principal.is_none() && is_local {
                    return Ok(());
                }
                requirement::check(requirements.iter(), principal)
            }
            Self::Shared { rules, target } => {
                let current = rules.current();
                let of_request =
                    PolicySnapshot::of(call.extensions()).and_then(PolicySnapshot::get::<Rules>);
                current.check(target, call)?;
                // The rules were replaced after the request was authenticated. Neither of them may be evaded.
                match of_request.filter(|rules| !Arc::ptr_eq(rules, &current)) {
                    Some(rules) => rules.check(target, call),
                    None => Ok(()),
                }
            }
        }
    }

    fn is_restricting(&self) -> bool {
        match self {
            Self::Fixed { .. } => true,
            Self::Shared { rules, target } => rules.current().is_restricting(target),
        }
    }
}

/// Whether the call came over stdin of this process.
fn is_stdio(extensions: &Extensions) -> bool {
    ["stdio", "mcp-stdio"].contains(&extensions.endpoint())
}
