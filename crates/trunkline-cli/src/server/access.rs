//! Access control: tokens, and rules for methods.

use anyhow::{Context, bail, ensure};
use clap::Args;
use trunkline::access::jwt::{Jwt, JwtConfig, Keys};
use trunkline::access::{Principal, ProtectedResource, ResourceUrl, ScopeHierarchy, Scopes};
use trunkline::client::http::Url;
use trunkline::history::endpoint::Readers;
use trunkline::http;
use trunkline::layers::authorize::{DefaultScopes, Requirement, Rules, claim, scope};

/// The flags of access control.
#[derive(Args)]
#[command(next_help_heading = "Access")]
pub(crate) struct Access {
    /// Token that requests must carry
    ///
    /// Sent as `Authorization: Bearer TOKEN`. Repeatable; the variable holds one token. Prefer the variable: other
    /// users of the machine can read command lines.
    // Never a list: half of a token that contains the separator would be accepted.
    #[arg(long, value_name = "TOKEN", env = "TRUNKLINE_BEARER", hide_env_values = true)]
    bearer: Vec<String>,
    /// Keys of signed tokens (JWT), which are accepted too
    ///
    /// A JSON Web Key Set, as a file or an https URL. Changed keys are used without a restart. Requires --audience or
    /// --resource-url.
    #[arg(long, value_name = "FILE|URL", env = "TRUNKLINE_JWKS")]
    jwks: Option<String>,
    /// Accepted audience (`aud`) of signed tokens; `*` for all
    ///
    /// Repeatable or comma-separated; one match is enough.
    #[arg(long, value_name = "AUDIENCE", env = "TRUNKLINE_AUDIENCE", value_delimiter = ',')]
    audience: Vec<String>,
    /// Accepted issuer (`iss`) of signed tokens [default: any]
    ///
    /// Repeatable or comma-separated; one match is enough.
    #[arg(long, value_name = "ISSUER", env = "TRUNKLINE_ISSUER", value_delimiter = ',')]
    issuer: Vec<String>,
    /// URL of this server for OAuth clients
    ///
    /// The URL that MCP clients connect to, such as https://db.example.com/mcp. It is an accepted audience of signed tokens, and its host is an accepted
    /// host. Clients without a token find the authorization server in the metadata at
    /// /.well-known/oauth-protected-resource (RFC 9728). Requires --jwks and --authorization-server.
    #[arg(long, value_name = "URL", env = "TRUNKLINE_RESOURCE_URL")]
    resource_url: Option<String>,
    /// Authorization server that issues tokens for --resource-url
    ///
    /// Its issuer identifier, exactly as in the claim `iss`, which must be one of these unless --issuer is given.
    /// Repeatable or comma-separated.
    #[arg(
        long,
        value_name = "ISSUER",
        env = "TRUNKLINE_AUTHORIZATION_SERVER",
        value_delimiter = ','
    )]
    authorization_server: Vec<String>,
    /// Scope for read-only methods [default: none]
    ///
    /// Signed tokens must have it, such as trunkline:read. Requires --jwks.
    #[arg(long, value_name = "SCOPE", env = "TRUNKLINE_READ_SCOPE")]
    read_scope: Option<String>,
    /// Scope for other methods [default: --read-scope]
    ///
    /// Signed tokens must have it, such as trunkline:write. It includes --read-scope. Requires --jwks.
    #[arg(long, value_name = "SCOPE", env = "TRUNKLINE_WRITE_SCOPE")]
    write_scope: Option<String>,
    /// Claim that calls of some methods require
    ///
    /// METHODS is a pattern like `db.*`. The claim is like `role:admin`, `realm_access.roles:admin` or, for a scope,
    /// `scope:read`. Its name may be a URL: in `https://example.com/roles:admin` the value follows the last colon.
    /// Repeatable or comma-separated; all rules that match a method apply. `history=…` is the rule for /history and
    /// /logs; without it, only holders of --bearer tokens can read them, and no one if there are rules for methods.
    /// Requires --jwks.
    #[arg(
        long,
        value_name = "METHODS=CLAIM:VALUE",
        env = "TRUNKLINE_REQUIRE",
        value_delimiter = ','
    )]
    require: Vec<String>,
}

impl Access {
    /// Whether requests must carry a token.
    pub(super) fn requires_token(&self) -> bool {
        self.jwks.is_some() || !self.bearer.is_empty()
    }
}

/// Sets the accepted tokens. Keys are loaded now: without any key, the server does not start.
pub(crate) async fn guard(access: &Access, http: &mut http::HttpConfig) -> anyhow::Result<()> {
    check_tokens(&access.bearer)?;
    check_lists(access)?;
    let scopes = default_scopes(access)?;
    for token in &access.bearer {
        // Listed tokens are the operator's own.
        let principal = Principal::new(principal(token)).with_scopes(&scopes.all());
        http.bearer.allow_principal(principal, token.as_str());
    }
    let Some(jwks) = &access.jwks else {
        let settings = [&access.resource_url, &access.read_scope, &access.write_scope];
        let has_lists = lists(access).iter().any(|(_, list)| !list.is_empty());
        ensure!(
            !has_lists && settings.iter().all(|setting| setting.is_none()),
            "--audience, --issuer, --require, --resource-url, --authorization-server, --read-scope and --write-scope \
             apply to signed tokens: give --jwks, too"
        );
        return Ok(());
    };
    let failed = || format!("cannot load the keys of --jwks {jwks}");
    let keys = keys(jwks).with_context(failed)?;
    let resource = resource(access, &scopes)?;
    let settings = jwt_settings(access, resource.as_ref(), &scopes)?;
    keys.load().await.with_context(failed)?;
    http.bearer.allow_signed(Jwt::new(keys, settings));
    if let Some(resource) = &resource {
        http.hosts.allow(resource.url.host());
    }
    http.protected_resource = resource;
    Ok(())
}

/// This server as an OAuth resource.
fn resource(access: &Access, scopes: &ProductScopes) -> anyhow::Result<Option<ProtectedResource>> {
    let servers: Vec<&str> = entries(&access.authorization_server).collect();
    let Some(url) = &access.resource_url else {
        ensure!(
            servers.is_empty(),
            "--authorization-server requires --resource-url: give the URL of this server, such as \
             https://db.example.com/mcp"
        );
        return Ok(None);
    };
    ensure!(
        !servers.is_empty(),
        "--resource-url requires --authorization-server: give the issuer of the tokens, such as \
         https://login.example.com"
    );
    let confidential = |flag: &str, text: &str| -> anyhow::Result<ResourceUrl> {
        let url: ResourceUrl = text.parse().with_context(|| format!("invalid {flag} {text}"))?;
        ensure!(url.is_confidential(), "invalid {flag} {text}: use https");
        Ok(url)
    };
    let url = confidential("--resource-url", url)?;
    for server in &servers {
        // An issuer may end with a slash, which belongs to its identifier.
        confidential("--authorization-server", server.trim_end_matches('/'))?;
    }
    let mut resource = ProtectedResource::new(url, servers);
    resource.name = Some("Trunkline".to_owned());
    resource.scopes_supported = scopes.all();
    resource.initial_scopes = scopes.read();
    Ok(Some(resource))
}

/// The scopes of methods, unless they are not required.
struct ProductScopes {
    read: Option<String>,
    write: Option<String>,
}

impl ProductScopes {
    fn read(&self) -> Scopes {
        Scopes::new(self.read.clone())
    }

    fn all(&self) -> Scopes {
        Scopes::new(self.read.iter().chain(&self.write).cloned())
    }

    /// The scope of writing includes that of reading.
    fn hierarchy(&self) -> ScopeHierarchy {
        ScopeHierarchy::new(self.write.clone().zip(self.read.clone()))
    }
}

fn default_scopes(access: &Access) -> anyhow::Result<ProductScopes> {
    let flags = [("--read-scope", &access.read_scope), ("--write-scope", &access.write_scope)];
    for (flag, scope) in flags {
        ensure!(
            scope.as_ref().is_none_or(|scope| Scopes::is_valid(scope)),
            "{flag} is not a scope: use one word without blanks and quotation marks, or leave out the flag and its \
             variable"
        );
    }
    Ok(ProductScopes { read: access.read_scope.clone(), write: access.write_scope.clone() })
}

/// Checks that requests can carry the tokens. An empty token usually means that a variable is not set. The message
/// does not show the token.
fn check_tokens(tokens: &[String]) -> anyhow::Result<()> {
    let is_visible = |token: &String| token.bytes().all(|byte| byte.is_ascii_graphic());
    if tokens.iter().any(|token| token.is_empty() || !is_visible(token)) {
        bail!(
            "a bearer token is empty or has invalid characters; use visible ASCII characters without blanks"
        );
    }
    Ok(())
}

/// The principal of a listed token: a digest, so that records and conversations keep their owner when the list of
/// tokens changes.
fn principal(token: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, token.as_bytes());
    let prefix = digest.as_ref().iter().take(4);
    prefix.fold("bearer-".to_owned(), |name, byte| format!("{name}{byte:02x}"))
}

/// Checks that no list is given but empty, which usually means that a variable is not set. Ignoring it would admit more
/// callers.
fn check_lists(access: &Access) -> anyhow::Result<()> {
    for (flag, list) in lists(access) {
        ensure!(
            list.is_empty() || entries(list).next().is_some(),
            "{flag} is empty: give a value, or leave out the flag and its variable"
        );
    }
    Ok(())
}

/// The flags that apply to signed tokens.
fn lists(access: &Access) -> [(&'static str, &[String]); 4] {
    [
        ("--audience", &access.audience),
        ("--issuer", &access.issuer),
        ("--require", &access.require),
        ("--authorization-server", &access.authorization_server),
    ]
}

fn jwt_settings(
    access: &Access,
    resource: Option<&ProtectedResource>,
    scopes: &ProductScopes,
) -> anyhow::Result<JwtConfig> {
    let list = |list: &[String]| entries(list).map(str::to_owned).collect::<Vec<_>>();
    let mut settings = resource.map_or_else(JwtConfig::default, JwtConfig::for_resource);
    settings.scope_hierarchy = scopes.hierarchy();
    settings.audiences.extend(list(&access.audience));
    if !access.issuer.is_empty() {
        settings.issuers = list(&access.issuer);
    }
    // Issuers sign tokens for many services with the same keys. Each of those services could use the tokens that it
    // receives here (RFC 8725, section 3.9).
    if settings.audiences.is_empty() {
        bail!(
            "--jwks requires --audience: the issuer may sign tokens for other services, too; give the audience \
             of your tokens, or * to accept any"
        );
    }
    let accepts_any = settings.audiences.iter().any(|audience| audience == "*");
    ensure!(
        !accepts_any || resource.is_none(),
        "--audience * contradicts --resource-url, which accepts only tokens for this server: leave out one of them"
    );
    if accepts_any {
        settings.audiences.clear();
    }
    Ok(settings)
}

fn keys(jwks: &str) -> anyhow::Result<Keys> {
    ensure!(!jwks.trim().is_empty(), "the value is empty; give a file or a URL");
    if !jwks.contains("://") {
        return Ok(Keys::file(jwks));
    }
    let url: Url = jwks.parse()?;
    if !url.is_https() {
        tracing::warn!(%url, "keys are loaded without TLS and can be replaced on the way: use https");
    }
    Ok(Keys::url(url)?)
}

/// The rules for all methods except those of the agent. `prefixes` are the prefixes of their names.
pub(crate) fn rules(access: &Access, prefixes: &[String]) -> anyhow::Result<Rules> {
    // Whether a pattern that matches methods of the agent also matches others.
    let is_shared = |part: &str| prefixes.iter().any(|prefix| prefix.starts_with(part));
    rules_of(access, |pattern| match pattern.strip_suffix('*') {
        _ if pattern == HISTORY || pattern.starts_with(AGENT) => false,
        Some(part) if AGENT.starts_with(part) => is_shared(part),
        _ => true,
    })
}

/// The rules for the agent's methods, including patterns that match all methods.
pub(crate) fn agent_rules(access: &Access) -> anyhow::Result<Rules> {
    rules_of(access, |pattern| {
        let prefix = pattern.strip_suffix('*');
        pattern.starts_with(AGENT) || prefix.is_some_and(|prefix| AGENT.starts_with(prefix))
    })
}

fn rules_of(access: &Access, is_included: impl Fn(&str) -> bool) -> anyhow::Result<Rules> {
    let scopes = default_scopes(access)?;
    let others = scopes.write.clone().or_else(|| scopes.read.clone());
    let default = DefaultScopes { read_only: scopes.read(), others: Scopes::new(others) };
    let rules = parsed(access)?.into_iter().filter(|(pattern, _)| is_included(pattern));
    let rules = rules.fold(Rules::new(), |rules, (pattern, needed)| rules.require(pattern, needed));
    Ok(rules.default_scopes(default))
}

/// The callers that may read the history. With rules for methods, only those that a rule for the history admits.
pub(crate) fn readers(access: &Access) -> anyhow::Result<Readers> {
    let rules = parsed(access)?.into_iter();
    let rules = rules.fold(Rules::new(), |rules, (pattern, needed)| rules.require(pattern, needed));
    let has_rules = rules.patterns().next().is_some();
    Ok(if has_rules { Readers::Rules(rules) } else { Readers::Listed })
}

/// The prefix of the agent's methods.
const AGENT: &str = "agent.";

/// The pattern of the rule for the history.
const HISTORY: &str = "history";

fn parsed(access: &Access) -> anyhow::Result<Vec<(&str, Requirement)>> {
    let parse = |text| {
        rule(text).with_context(|| {
            format!("invalid --require {text}; the format is like db.*=role:admin")
        })
    };
    entries(&access.require).map(parse).collect()
}

fn rule(text: &str) -> Option<(&str, Requirement)> {
    let (pattern, claim_value) = text.split_once('=')?;
    let (name, value) = claim_of(claim_value)?;
    let [pattern, name, value] = [pattern, name, value].map(str::trim);
    if [pattern, name, value].contains(&"") {
        return None;
    }
    let requirement = if name == "scope" { scope(value) } else { claim(name, value) };
    Some((pattern, requirement))
}

/// The name and the value of a claim. A name may be a URL, which contains a colon.
fn claim_of(text: &str) -> Option<(&str, &str)> {
    match text.split_once(':')? {
        (scheme, path) if path.starts_with("//") => {
            let (path, value) = path.rsplit_once(':')?;
            Some((&text[..scheme.len() + 1 + path.len()], value))
        }
        named => Some(named),
    }
}

/// The entries of a list flag, without empty ones: a variable with an empty value is parsed as one empty entry.
pub(crate) fn entries(list: &[String]) -> impl Iterator<Item = &str> {
    list.iter().map(|entry| entry.trim()).filter(|entry| !entry.is_empty())
}
