//! The roles of callers, and the names that they and saved queries refer to.

use anyhow::Context;
use trunkline::Pattern;
use trunkline::http::ClientCertificates;
use trunkline::layers::authorize::{Requirement, Role, claim, principal, scope, signed, subject};
use trunkline::layers::rate_limit::Rate;
use trunkline_sql::DatabaseName;

use super::open_database::Requested;
use super::operation_names::OperationNames;
use crate::config::{
    CallerRole, Config, ConfigError, Placed, Problem, QueryDatabase, claim_of, unknown,
};
use crate::terminal::similar;

/// The problem of a rule for the claim `sub`.
pub(super) const SUBJECT_OF_ANY_ISSUER: &str =
    "`sub` identifies a caller only among the tokens of one issuer";

/// Its remedy in the configuration file.
const ONE_ISSUER: &str = "set access.issuers to exactly one issuer";

/// A role, for the layers of calls. `only_issuer` is that of all signed tokens.
pub(super) fn role(config: &CallerRole, only_issuer: Option<&str>) -> anyhow::Result<Role> {
    let texts = |placed: &[Placed]| placed.iter().map(|one| one.text.clone()).collect::<Vec<_>>();
    let patterns =
        |placed: &[Placed]| texts(placed).iter().map(|text| Pattern::new(text)).collect();
    let tokens = config.tokens.iter().map(principal);
    let certificates = config.certificates.iter();
    let certificates =
        certificates.map(|name| principal(ClientCertificates::principal_name(&name.text)));
    let claim = |claim: &Placed| {
        let requirement = claim_of(&claim.text).and_then(|claim| requirement(claim, only_issuer));
        // Listed tokens have all scopes, but no claims.
        let requirement = requirement.map(|requirement| signed().and(requirement));
        // Without it, a role could be that of all callers.
        requirement.with_context(|| format!("invalid claim `{}` of a role", claim.text))
    };
    let claims = config.claims.iter().map(claim).collect::<anyhow::Result<Vec<_>>>()?;
    let mut role = Role::new(&config.name, []);
    role.members = tokens.chain(certificates).chain(claims).reduce(Requirement::or);
    role.operations = patterns(&config.operations);
    role.deny = patterns(&config.deny);
    role.read_only = config.read_only;
    role.databases = config.databases.as_deref().map(texts);
    role.rate = config.rate_limit.map(rate);
    Ok(role)
}

/// The requirement of a claim with this name and value, or of a scope. `None` for a subject without an issuer.
pub(super) fn requirement(
    (name, value): (&str, &str),
    only_issuer: Option<&str>,
) -> Option<Requirement> {
    match name {
        "scope" => Some(scope(value)),
        "sub" => Some(subject(only_issuer?, value)),
        _ => Some(claim(name, value)),
    }
}

/// A rate limit in calls per second, with bursts of twice as many.
pub(super) fn rate(calls: u32) -> Rate {
    Rate { calls, burst: calls.saturating_mul(2), ..Rate::default() }
}

/// Checks the names of databases, claims without signed tokens, and subjects without an issuer of all signed tokens.
pub(super) fn check(
    config: &Config,
    databases: &[Requested],
    accepts_certificates: bool,
    accepts_signed: bool,
    only_issuer: Option<&str>,
) -> Result<(), ConfigError> {
    let names: Vec<_> = databases.iter().map(|database| &database.name).collect();
    let mut problems = Vec::new();
    for role in config.roles() {
        let mut add = |placed: &Placed, key: &str, message: &str| {
            let message = format!("`roles.{}.{key}`: {message}", role.name);
            problems.push(Problem { position: placed.position, message });
        };
        for name in role.databases.iter().flatten() {
            if let Some(message) = unknown_database(&name.text, &names) {
                add(name, "databases", &message);
            }
        }
        if let Some(name) = role.certificates.first().filter(|_| !accepts_certificates) {
            add(
                name,
                "certificates",
                "client certificates are not accepted: set server.tls.client_ca, too",
            );
        }
        if !accepts_signed {
            if let Some(claim) = role.claims.first() {
                add(claim, "claims", "claims apply to signed tokens: set access.jwks, too");
            }
            continue;
        }
        for claim in &role.claims {
            let named = claim_of(&claim.text);
            if named.is_some_and(|named| requirement(named, only_issuer).is_none()) {
                add(claim, "claims", &format!("{SUBJECT_OF_ANY_ISSUER}; {ONE_ISSUER}"));
            }
        }
    }
    for database in databases {
        if let Some(position) = database.subject_rule().filter(|_| only_issuer.is_none()) {
            let message = match accepts_signed {
                true => format!("{SUBJECT_OF_ANY_ISSUER}; {ONE_ISSUER}"),
                false => "`sub` is a claim of signed tokens: set access.jwks and access.issuers, or use the claim \
                          `token`, the name of a listed token"
                    .to_owned(),
            };
            let message = format!("`databases.{}.role`: {message}", database.name);
            problems.push(Problem { position, message });
        }
    }
    for QueryDatabase { query, database } in config.query_databases() {
        if let Some(message) = unknown_database(&database.text, &names) {
            let message = format!("`queries.{query}.database`: {message}");
            problems.push(Problem { position: database.position, message });
        }
    }
    config.check(problems)
}

/// The message about a database that is not among the served ones.
fn unknown_database(name: &str, databases: &[&DatabaseName]) -> Option<String> {
    let names = databases.iter().map(|name| name.as_str());
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
