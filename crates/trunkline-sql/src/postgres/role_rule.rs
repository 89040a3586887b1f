//! The roles of callers.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::model::caller::Caller;
use crate::model::error::Error;

/// A rule that maps a claim of the callers' tokens to roles, which their transactions set with `SET LOCAL ROLE`. The
/// policies of row-level security then apply to the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleRule {
    /// The name of the claim. Its value is a text, or a list that contains exactly one of the values of `roles`. The
    /// name of a listed token is the claim `token`.
    pub claim: String,
    /// The issuer of the claim. Tokens of other issuers are refused if they have the claim. `None` for any issuer, which
    /// is safe for `sub` only if the server accepts a single one: equal subjects of two issuers are different callers.
    pub issuer: Option<String>,
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
        let roles = roles.into_iter().map(same).collect();
        Self { claim: claim.into(), issuer: None, roles, default: None }
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
        let Some(value) = caller.claim(&self.claim) else {
            let missing = || refused(format!("the token has no claim `{claim}`"));
            return self.default.as_deref().map_or_else(missing, Ok);
        };
        if let Some(issuer) = &self.issuer
            && caller.claim("iss").and_then(Json::as_str) != Some(issuer)
        {
            return refused(format!("the claim `{claim}` is not of the required issuer"));
        }
        let found: Vec<&String> = match value {
            Json::String(value) => self.roles.get(value).into_iter().collect(),
            Json::Array(values) => {
                values.iter().filter_map(|value| self.roles.get(value.as_str()?)).collect()
            }
            _ => Vec::new(),
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

    fn rule(claim: &str) -> RoleRule {
        let mut rule = RoleRule::new(claim, ["reader", "editor"]);
        rule.roles.insert("ada".to_owned(), "editor".to_owned());
        rule
    }

    #[track_caller]
    fn check(rule: &RoleRule, claims: &Value, expected: Result<&str, &str>) {
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
            let rule = RoleRule { default: default.map(str::to_owned), ..rule("role") };
            check(&rule, &claims, expected);
        }
    }

    #[test]
    fn roles_of_the_subjects_of_one_issuer() {
        let rule = RoleRule {
            issuer: Some("a".to_owned()),
            default: Some("public".to_owned()),
            ..rule("sub")
        };
        for (claims, expected) in [
            (json!({"iss": "a", "sub": "ada"}), Ok("editor")),
            (json!({"iss": "a"}), Ok("public")),
            (json!({"token": "ada"}), Ok("public")),
            (json!({"iss": "a", "sub": "bob"}), Err("is not allowed")),
            (json!({"iss": "b", "sub": "ada"}), Err("is not of the required issuer")),
            (json!({"iss": ["a"], "sub": "ada"}), Err("is not of the required issuer")),
            (json!({"sub": "ada"}), Err("is not of the required issuer")),
        ] {
            check(&rule, &claims, expected);
        }
    }
}
