//! `[roles.NAME]`: what callers may do.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::problem::{Position, Problems};
use crate::terminal::similar;

/// The operations, databases and rate limit of some callers.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RoleSection {
    #[schemars(with = "Option<Vec<String>>", length(min = 1))]
    tokens: Option<Members>,
    #[schemars(with = "Option<Vec<String>>", length(min = 1))]
    certificates: Option<Members>,
    #[schemars(with = "Option<Vec<String>>", length(min = 1))]
    claims: Option<Members>,
    #[schemars(with = "Vec<String>")]
    operations: Vec<Spanned<String>>,
    #[schemars(with = "Vec<String>")]
    deny: Vec<Spanned<String>>,
    read_only: bool,
    #[schemars(with = "Option<Vec<String>>")]
    databases: Option<Vec<Spanned<String>>>,
    #[schemars(with = "Option<u32>")]
    rate_limit: Option<Spanned<u32>>,
}

/// A list that is not empty, since a role without members is that of all callers.
type Members = Spanned<Vec<Spanned<String>>>;

/// A role of callers. Without `tokens`, `certificates` and `claims`, all callers have it.
#[derive(Debug, Clone)]
pub(crate) struct CallerRole {
    pub(crate) name: String,
    /// Names of `access.tokens`.
    pub(crate) tokens: Vec<String>,
    /// Names in client certificates.
    pub(crate) certificates: Vec<Placed>,
    /// Claims of signed tokens, such as `role:reader`.
    pub(crate) claims: Vec<Placed>,
    /// Patterns of the operations that the role permits.
    pub(crate) operations: Vec<Placed>,
    /// Patterns of exceptions.
    pub(crate) deny: Vec<Placed>,
    pub(crate) read_only: bool,
    /// Names of databases. `None` for all.
    pub(crate) databases: Option<Vec<Placed>>,
    /// Maximum calls per second of each caller.
    pub(crate) rate_limit: Option<u32>,
}

/// A text, and its place in the file.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    pub(crate) text: String,
    pub(crate) position: Position,
}

/// The valid roles of the file. The others are among the problems. `tokens` are the names of tokens.
pub(super) fn read(
    sections: IndexMap<Spanned<String>, RoleSection>,
    tokens: &[&str],
    problems: &mut Problems<'_>,
) -> Vec<CallerRole> {
    let mut roles = Vec::with_capacity(sections.len());
    for (key, section) in sections {
        let (span, name) = (key.span(), key.into_inner());
        if let Err(rule) = check_name(&name) {
            problems.add(&span, format!("invalid name `{name}` in `roles`: {rule}"));
            continue;
        }
        if section.operations.is_empty() {
            let remedy = "such as [\"db.*\"], or [\"*\"] for all";
            problems.add(&span, format!("`roles.{name}` requires `operations`, {remedy}"));
        }
        let members = |list: Option<Members>, key: &str, problems: &mut Problems<'_>| {
            let Some(list) = list else { return Vec::new() };
            if list.get_ref().is_empty() {
                let remedy =
                    "an empty list has no callers; remove the key for all callers, or the role";
                problems.add(&list.span(), format!("`roles.{name}.{key}`: {remedy}"));
            }
            list.into_inner()
        };
        let role_tokens = members(section.tokens, "tokens", problems);
        let certificates = members(section.certificates, "certificates", problems);
        let claims = members(section.claims, "claims", problems);
        for token in &role_tokens {
            let token_name = token.get_ref().as_str();
            if !tokens.contains(&token_name) {
                let message = unknown("token", token_name, "access.tokens", tokens.iter().copied());
                problems.add(&token.span(), format!("`roles.{name}.tokens`: {message}"));
            }
        }
        for claim in &claims {
            if claim_of(claim.get_ref()).is_none() {
                let text = claim.get_ref();
                let message = format!("invalid claim `{text}`; the format is like role:reader");
                problems.add(&claim.span(), format!("`roles.{name}.claims`: {message}"));
            }
        }
        if let Some(limit) = section.rate_limit.as_ref()
            && !(1..=1_000_000).contains(limit.get_ref())
        {
            let message = format!("{} is not in 1..=1000000", limit.get_ref());
            problems.add(&limit.span(), format!("`roles.{name}.rate_limit`: {message}"));
        }
        let placed = |texts: Vec<Spanned<String>>| {
            let placed = |text: Spanned<String>| {
                let position = problems.position(text.span().start);
                Placed { text: text.into_inner(), position }
            };
            texts.into_iter().map(placed).collect()
        };
        roles.push(CallerRole {
            name,
            tokens: role_tokens.into_iter().map(Spanned::into_inner).collect(),
            certificates: placed(certificates),
            claims: placed(claims),
            operations: placed(section.operations),
            deny: placed(section.deny),
            read_only: section.read_only,
            databases: section.databases.map(placed),
            rate_limit: section.rate_limit.map(Spanned::into_inner),
        });
    }
    roles
}

/// Checks the name of a role or a token.
pub(super) fn check_name(name: &str) -> Result<(), &'static str> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_allowed) {
        return Err("a name has 1 to 64 letters, digits, `-` or `_`");
    }
    // Tokens without a name have such names.
    if name.starts_with("bearer-") {
        return Err("names do not begin with `bearer-`");
    }
    Ok(())
}

/// The message for a name that does not exist, with a suggestion, or with all names.
pub(crate) fn unknown<'n>(
    what: &str,
    name: &str,
    place: &str,
    names: impl Iterator<Item = &'n str> + Clone,
) -> String {
    if let Some(similar) = similar(name, names.clone()).first() {
        return format!("unknown {what} `{name}`; did you mean `{similar}`?");
    }
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    match names.is_empty() {
        true => format!("unknown {what} `{name}`; {place} has none"),
        false => format!("unknown {what} `{name}`; {place} has {}", names.join(", ")),
    }
}

/// The name and the value of a claim, such as `role:admin`. A name may be a URL, which contains a colon.
pub(crate) fn claim_of(text: &str) -> Option<(&str, &str)> {
    let (name, value) = match text.split_once(':')? {
        (scheme, path) if path.starts_with("//") => {
            let (path, value) = path.rsplit_once(':')?;
            (&text[..scheme.len() + 1 + path.len()], value)
        }
        named => named,
    };
    let (name, value) = (name.trim(), value.trim());
    (!name.is_empty() && !value.is_empty()).then_some((name, value))
}
