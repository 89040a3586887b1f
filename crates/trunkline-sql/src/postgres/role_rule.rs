//! The roles of callers.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::model::caller::Caller;
use crate::model::error::Error;

/// A rule that maps a claim of the callers' tokens to roles, which their transactions set with `SET LOCAL ROLE`. The
/// policies of row-level security then apply to the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleRule {
    /// The name of the claim. Its value is a text, or a list that contains exactly one of the values of `roles`.
    pub claim: String,
    /// The roles by the values of the claim. Callers with other values are refused.
    pub roles: BTreeMap<String, String>,
    /// The role of callers without the claim. They are refused if it is `None`.
    pub default: Option<String>,
}

impl RoleRule {
    /// A rule for a claim whose values are names of roles.
    pub fn new<R: Into<String>>(
        claim: impl Into<String>,
        roles: impl IntoIterator<Item = R>,
    ) -> Self {
        let same = |role: R| -> (String, String) {
            let role = role.into();
            (role.clone(), role)
        };
        Self { claim: claim.into(), roles: roles.into_iter().map(same).collect(), default: None }
    }

    /// All roles of the rule.
    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.roles.values().chain(&self.default).map(String::as_str)
    }

    /// The role of a caller.
    pub(super) fn role_of(&self, caller: &Caller) -> Result<&str, Error> {
        let claim = self.claim.escape_debug();
        let refused = |reason: String| Err(Error::UnknownRole { reason });
        if caller.is_operator() {
            return self.all().next().map_or_else(|| refused("the rule has no roles".into()), Ok);
        }
        let found: Vec<&String> = match caller.claim(&self.claim) {
            None => {
                let missing = || refused(format!("the token has no claim `{claim}`"));
                return self.default.as_deref().map_or_else(missing, Ok);
            }
            Some(Json::String(value)) => self.roles.get(value).into_iter().collect(),
            Some(Json::Array(values)) => {
                values.iter().filter_map(|value| self.roles.get(value.as_str()?)).collect()
            }
            Some(_) => Vec::new(),
        };
        match found.as_slice() {
            [role] => Ok(role),
            [] => refused(format!("the value of the claim `{claim}` is not allowed")),
            _ => refused(format!("the claim `{claim}` has several of the allowed values")),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::RoleRule;
    use crate::model::caller::Caller;

    #[track_caller]
    fn check(default: Option<&str>, claims: &Value, expected: Result<&str, &str>) {
        let mut rule = RoleRule::new("role", ["reader", "editor"]);
        rule.roles.insert("ada".to_owned(), "editor".to_owned());
        rule.default = default.map(str::to_owned);
        let caller = Caller::client(claims.as_object().unwrap().clone());
        match (rule.role_of(&caller), expected) {
            (Ok(role), Ok(expected)) => assert_eq!(role, expected, "{claims}"),
            (Err(error), Err(expected)) => {
                assert!(error.to_string().contains(expected), "{claims}: {error}");
            }
            (found, _) => panic!("{claims}: {found:?}"),
        }
    }

    #[test]
    fn roles_of_claims() {
        for (default, claims, expected) in [
            (None, json!({"role": "reader"}), Ok("reader")),
            (None, json!({"role": "ada"}), Ok("editor")),
            (None, json!({"role": ["other", "editor", 7]}), Ok("editor")),
            (Some("public"), json!({}), Ok("public")),
            (Some("public"), json!({"role": null}), Ok("public")),
            (None, json!({"sub": "reader"}), Err("has no claim `role`")),
            (Some("public"), json!({"role": "postgres"}), Err("is not allowed")),
            (Some("public"), json!({"role": "Reader"}), Err("is not allowed")),
            (Some("public"), json!({"role": "public"}), Err("is not allowed")),
            (Some("public"), json!({"role": ""}), Err("is not allowed")),
            (None, json!({"role": true}), Err("is not allowed")),
            (None, json!({"role": []}), Err("is not allowed")),
            (None, json!({"role": ["reader", "editor"]}), Err("several")),
        ] {
            check(default, &claims, expected);
        }
    }
}
