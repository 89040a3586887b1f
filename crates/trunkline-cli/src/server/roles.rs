//! The roles of callers, and the names that they and saved queries refer to.

use trunkline::layers::authorize::{Pattern, Requirement, Role, claim, principal, scope, signed};
use trunkline::layers::rate_limit::Rate;
use trunkline_sql::DatabaseName;

use super::operation_names::OperationNames;
use crate::config::{
    CallerRole, Config, ConfigError, Placed, Problem, QueryDatabase, claim_of, unknown,
};
use crate::terminal::similar;

/// A role, for the layers of calls.
pub(super) fn role(config: &CallerRole) -> Role {
    let texts = |placed: &[Placed]| placed.iter().map(|one| one.text.clone()).collect::<Vec<_>>();
    let patterns =
        |placed: &[Placed]| texts(placed).iter().map(|text| Pattern::new(text)).collect();
    let tokens = config.tokens.iter().map(principal);
    // Claims were parsed with the file. Listed tokens have all scopes, but no claims.
    let claims = config.claims.iter().filter_map(|claim| requirement(&claim.text));
    let claims = claims.map(|claim| signed().and(claim));
    let mut role = Role::new(&config.name, []);
    role.members = tokens.chain(claims).reduce(Requirement::or);
    role.operations = patterns(&config.operations);
    role.deny = patterns(&config.deny);
    role.read_only = config.read_only;
    role.databases = config.databases.as_deref().map(texts);
    role.rate = config.rate_limit.map(rate);
    role
}

/// The requirement of a claim such as `role:admin`, or of a scope.
pub(super) fn requirement(text: &str) -> Option<Requirement> {
    let (name, value) = claim_of(text)?;
    Some(if name == "scope" { scope(value) } else { claim(name, value) })
}

/// A rate limit in calls per second, with bursts of twice as many.
pub(super) fn rate(calls: u32) -> Rate {
    Rate { calls, burst: calls.saturating_mul(2), ..Rate::default() }
}

/// Checks the names of databases, and claims without signed tokens.
pub(super) fn check(
    config: &Config,
    databases: &[DatabaseName],
    accepts_signed: bool,
) -> Result<(), ConfigError> {
    let mut problems = Vec::new();
    for role in config.roles() {
        let mut add = |placed: &Placed, key: &str, message: &str| {
            let message = format!("`roles.{}.{key}`: {message}", role.name);
            problems.push(Problem { position: placed.position, message });
        };
        for name in role.databases.iter().flatten() {
            if let Some(message) = unknown_database(&name.text, databases) {
                add(name, "databases", &message);
            }
        }
        if let Some(claim) = role.claims.first().filter(|_| !accepts_signed) {
            add(claim, "claims", "claims apply to signed tokens: set access.jwks, too");
        }
    }
    for QueryDatabase { query, database } in config.query_databases() {
        if let Some(message) = unknown_database(&database.text, databases) {
            let message = format!("`queries.{query}.database`: {message}");
            problems.push(Problem { position: database.position, message });
        }
    }
    config.check(problems)
}

/// The message about a database that is not among the served ones.
fn unknown_database(name: &str, databases: &[DatabaseName]) -> Option<String> {
    let names = databases.iter().map(DatabaseName::as_str);
    match names.clone().any(|known| known.eq_ignore_ascii_case(name)) {
        true => None,
        false => Some(unknown("database", name, "the server", names)),
    }
}

/// Checks that each pattern matches an operation.
pub(super) fn check_patterns(config: &Config, names: &OperationNames) -> Result<(), ConfigError> {
    let mut problems = Vec::new();
    for role in config.roles() {
        for (key, patterns) in [("operations", &role.operations), ("deny", &role.deny)] {
            for Placed { text, position } in
                patterns.iter().filter(|one| !names.has_match(&one.text))
            {
                let remedy = match similar_pattern(text, names) {
                    Some(pattern) => format!("did you mean `{pattern}`?"),
                    None => format!("the prefixes are {}", names.prefixes.join(", ")),
                };
                let message =
                    format!("`roles.{}.{key}`: no operation matches `{text}`; {remedy}", role.name);
                problems.push(Problem { position: *position, message });
            }
        }
    }
    config.check(problems)
}

/// An operation, or the operations with a prefix, that a pattern may have been meant to be.
fn similar_pattern(pattern: &str, names: &OperationNames) -> Option<String> {
    let Some(prefix) = pattern.strip_suffix(".*") else {
        return similar(pattern, names.iter()).first().map(ToString::to_string);
    };
    let prefixes = names.prefixes.iter().map(|prefix| prefix.trim_end_matches('.'));
    similar(prefix, prefixes).first().map(|prefix| format!("{prefix}.*"))
}
