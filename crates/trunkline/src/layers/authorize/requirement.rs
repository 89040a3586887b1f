//! What a principal must be, or have.

use serde_json::{Map, Value};

use crate::access::Principal;

/// What the principal of a call must be, or have.
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
/// A path leads through objects with dots: `realm_access.roles`. A claim whose own name has dots in
/// it is found, too.
pub fn claim(path: impl Into<String>, value: impl Into<Value>) -> Requirement {
    Requirement(Kind::Claim { path: path.into(), value: value.into() })
}

/// The token has this scope: a word of its claim `scope` or `scp`, which may be arrays as well.
pub fn scope(scope: impl Into<String>) -> Requirement {
    Requirement(Kind::Scope(scope.into()))
}

/// The principal is listed under this name. The subject of a signed token is not, whatever it is
/// called: for that, see [`subject`].
pub fn principal(name: impl Into<String>) -> Requirement {
    Requirement(Kind::Name(name.into()))
}

/// The principal is the subject of this name in a token of this issuer: its claims `sub` and `iss`.
/// Of a token without an issuer, that is the empty one.
pub fn subject(issuer: impl Into<String>, name: impl Into<String>) -> Requirement {
    Requirement(Kind::Subject { issuer: issuer.into(), name: name.into() })
}

/// The call came with credentials, whosever they are.
#[must_use]
pub fn authenticated() -> Requirement {
    Requirement(Kind::Authenticated)
}

impl Requirement {
    /// This one or another.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(Kind::Any(vec![self, other]))
    }

    /// Both this one and another.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(Kind::All(vec![self, other]))
    }

    pub(super) fn is_met_by(&self, principal: &Principal) -> bool {
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

/// A token without a subject has no such name, and an empty one may be listed by mistake.
fn is_called(principal: &Principal, issuer: Option<&str>, name: &str) -> bool {
    principal.has_name() && principal.issuer() == issuer && principal.name() == name
}

/// The value at a path. The longest name that is there goes first.
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
