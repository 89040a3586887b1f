//! Conditions that the principal of a call must meet.

use serde_json::{Map, Value, json};
use trunkline_access::{Principal, Scopes};
use trunkline_core::error::{ErrorObject, code};

/// A condition that the principal of a call must meet.
#[derive(Debug, Clone, PartialEq)]
pub struct Requirement(Kind);

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Authenticated,
    Signed,
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
///
/// For the claim `sub`, use [`subject`]: equal subjects of two issuers are different callers.
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

/// The caller has a signed token, and is not the principal of a listed one.
#[must_use]
pub fn signed() -> Requirement {
    Requirement(Kind::Signed)
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

    /// The principal has these scopes.
    pub(super) fn scopes_of(scopes: Scopes) -> Self {
        Self(Kind::Scopes(scopes))
    }

    pub(super) fn is_met_by(&self, principal: &Principal) -> bool {
        match &self.0 {
            Kind::Authenticated => true,
            Kind::Signed => principal.issuer().is_some(),
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
    pub(super) fn scopes(&self) -> Option<Scopes> {
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

/// Refuses calls whose principal does not meet all requirements with -32008, and calls without a principal with -32007.
/// The error names the required scopes, so that a client can request all of them at once, if the call lacks nothing
/// else.
pub(super) fn check<'r>(
    requirements: impl Iterator<Item = &'r Requirement> + Clone,
    principal: Option<&Principal>,
) -> Result<(), ErrorObject> {
    let scopes = || union(requirements.clone().filter_map(Requirement::scopes));
    let Some(principal) = principal else {
        return match requirements.clone().next() {
            Some(_) => Err(unauthenticated(&scopes())),
            None => Ok(()),
        };
    };
    let mut unmet = requirements.clone().filter(|requirement| !requirement.is_met_by(principal));
    let Some(first) = unmet.next() else { return Ok(()) };
    let lacks_scopes_only =
        std::iter::once(first).chain(unmet).all(|requirement| requirement.scopes().is_some());
    let scopes = if lacks_scopes_only { scopes() } else { Scopes::default() };
    Err(forbidden(principal, &scopes))
}

/// Whether a caller sees an operation with these requirements. A caller without a principal, and one with a signed
/// token that lacks only scopes, can authenticate with other credentials.
pub(super) fn are_visible<'r>(
    requirements: impl IntoIterator<Item = &'r Requirement>,
    principal: Option<&Principal>,
) -> bool {
    let Some(principal) = principal else { return true };
    let is_signed = principal.issuer().is_some();
    requirements.into_iter().all(|requirement| {
        requirement.is_met_by(principal) || (is_signed && requirement.scopes().is_some())
    })
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
