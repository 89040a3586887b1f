//! The checks of a call before all work for it: rate limits and rules.

use std::iter::once;
use std::sync::Arc;

use trunkline_access::{PolicySnapshot, Principal};
use trunkline_core::call::{Call, CallFuture, Description};
use trunkline_core::error::ErrorObject;
#[cfg(feature = "audit")]
use trunkline_core::error::code;
use trunkline_core::extensions::Extensions;
use trunkline_core::operation::SourceLocation;
use trunkline_core::outcome::Outcome;

use super::requirement::{self, Requirement};
use super::rules::{Rules, SharedRules, Target, declared_scopes};
#[cfg(feature = "audit")]
use crate::layers::audit::AuditLayer;
use crate::layers::layered::{CallLayer, CallService, layer};
use crate::layers::rate_limit::RateLimitLayer;

/// A condition of the calls of a router.
#[derive(Debug, Clone)]
pub(crate) enum Guard {
    Rate(RateLimitLayer),
    /// With the place where they were added.
    Fixed(Arc<Rules>, SourceLocation),
    /// Rules that may be replaced.
    Shared(SharedRules),
}

/// The guards of an operation. An extension of its description.
#[derive(Debug, Clone, Default)]
struct Guards(Vec<(Guard, Target)>);

impl Guard {
    /// Adds the guard to an operation, for calls of a method of this name.
    pub(crate) fn add_to(&self, name: &str, description: &mut Description) {
        let target = Target::new(name, description);
        if matches!(self, Self::Fixed(rules, _) if !rules.is_restricting(&target)) {
            return;
        }
        let mut guards = description.extensions.get::<Guards>().cloned().unwrap_or_default();
        guards.0.push((self.clone(), target));
        description.extensions.insert(guards);
    }

    fn rules(&self) -> Option<Arc<Rules>> {
        match self {
            Self::Rate(_) => None,
            Self::Fixed(rules, _) => Some(Arc::clone(rules)),
            Self::Shared(rules) => Some(rules.current()),
        }
    }

    fn check(&self, target: &Target, call: &mut Call) -> Result<(), ErrorObject> {
        let current = match self {
            Self::Rate(limit) => return limit.check(call),
            Self::Fixed(rules, _) => return rules.check(target, call),
            Self::Shared(rules) => rules.current(),
        };
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

/// Whether callers of an operation must currently meet requirements of [`Rules`], have a role or have
/// scopes.
#[must_use]
pub fn is_restricted(description: &Description) -> bool {
    required_scopes(description).is_some()
        || guards(description)
            .iter()
            .any(|(guard, target)| guard.rules().is_some_and(|rules| rules.is_restricting(target)))
}

/// Whether callers of an operation may be [restricted](is_restricted), now or after its rules are replaced.
#[must_use]
pub fn can_be_restricted(description: &Description) -> bool {
    required_scopes(description).is_some()
        || guards(description).iter().any(|(guard, _)| !matches!(guard, Guard::Rate(_)))
}

/// Whether the list of operations for a caller contains this one: a caller that may not call it does not see it.
///
/// A caller without a principal sees all operations that need no role, and one with a signed token those for which it
/// lacks only scopes: a call is answered with a challenge, from which the client learns what to authenticate with.
#[must_use]
pub fn is_visible_to(description: &Description, principal: Option<&Principal>) -> bool {
    requirement::are_visible(&required_scopes(description), principal)
        && guards(description).iter().all(|(guard, target)| {
            guard.rules().is_none_or(|rules| rules.is_visible(target, principal))
        })
}

fn guards(description: &Description) -> &[(Guard, Target)] {
    description.extensions.get().map_or(&[], |Guards(guards)| guards)
}

/// The declared scopes of an operation, if there are any.
fn required_scopes(description: &Description) -> Option<Requirement> {
    let scopes = declared_scopes(description).filter(|scopes| !scopes.is_empty())?;
    Some(Requirement::scopes_of(scopes.clone()))
}

/// Refuses the calls of an operation, or of unknown methods, that do not meet the conditions of their router: those over
/// the rate limit with -32010, those without a principal with -32007, and those whose principal does not meet all
/// requirements with -32008. The reply names the required scopes if the call lacks nothing else.
///
/// Rate limits are checked first, so that refused calls count. The refusals of rules are in the audit log.
#[derive(Debug, Clone)]
pub(crate) struct AdmissionLayer(Arc<Admission>);

#[derive(Debug)]
struct Admission {
    guards: Vec<(Guard, Subject)>,
    /// The declared scopes of the operation. Calls over stdio without a principal need none.
    scopes: Option<Requirement>,
}

/// The calls that a guard is for.
#[derive(Debug, Clone)]
enum Subject {
    Operation(Target),
    /// Of unknown methods whose names begin with this.
    Unknown {
        prefix: String,
    },
}

impl AdmissionLayer {
    /// The layer around an operation, if it has conditions.
    pub(crate) fn of(description: &Description) -> Option<Self> {
        let guards = guards(description).iter().cloned();
        let guards = guards.map(|(guard, target)| (guard, Subject::Operation(target)));
        Self::with(guards.collect(), required_scopes(description))
    }

    /// The layer around unknown methods, with the prefixes of the names that guards are for.
    pub(crate) fn of_unknown(guards: &[(String, Guard)]) -> Option<Self> {
        let guards = guards.iter().cloned();
        let guards = guards.map(|(prefix, guard)| (guard, Subject::Unknown { prefix }));
        Self::with(guards.collect(), None)
    }

    fn with(mut guards: Vec<(Guard, Subject)>, scopes: Option<Requirement>) -> Option<Self> {
        guards.sort_by_key(|(guard, _)| !matches!(guard, Guard::Rate(_)));
        let is_open = guards.is_empty() && scopes.is_none();
        (!is_open).then(|| Self(Arc::new(Admission { guards, scopes })))
    }
}

layer!(AdmissionLayer);

impl CallLayer for AdmissionLayer {
    fn call<S: CallService>(&self, mut call: Call, inner: &mut S) -> CallFuture<S::Error> {
        match self.0.check(&mut call) {
            Ok(()) => inner.run(call),
            Err(error) => refuse(&call, error),
        }
    }
}

impl Admission {
    fn check(&self, call: &mut Call) -> Result<(), ErrorObject> {
        for (guard, subject) in &self.guards {
            match subject {
                Subject::Operation(target) => guard.check(target, call)?,
                Subject::Unknown { prefix } => {
                    let target = call.method().strip_prefix(prefix.as_str()).map(Target::unknown);
                    target.map_or(Ok(()), |target| guard.check(&target, call))?;
                }
            }
        }
        let extensions = call.extensions();
        match (&self.scopes, Principal::of(extensions)) {
            (Some(_), None) if is_stdio(extensions) => Ok(()),
            (Some(scopes), principal) => requirement::check(once(scopes), principal),
            (None, _) => Ok(()),
        }
    }
}

/// Replies with the refusal, after it is in the audit log.
fn refuse<E: Send + 'static>(call: &Call, error: ErrorObject) -> CallFuture<E> {
    #[cfg(feature = "audit")]
    if error.code() != code::RATE_LIMITED
        && let Some(logged) = AuditLayer::log_refusal(call, error.code())
    {
        return CallFuture::boxed(async move {
            logged.await;
            Ok(Outcome::error(error))
        });
    }
    #[cfg(not(feature = "audit"))]
    let _ = call;
    CallFuture::value(Ok(Outcome::error(error)))
}

/// Whether the call came over stdin of this process.
fn is_stdio(extensions: &Extensions) -> bool {
    ["stdio", "mcp-stdio"].contains(&extensions.endpoint())
}
