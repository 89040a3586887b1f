//! Access control: tokens, and rules for methods.

use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use clap::Args;
use trunkline::access::jwt::{Jwt, JwtConfig, Keys};
use trunkline::access::{Principal, ProtectedResource, ResourceUrl, ScopeHierarchy, Scopes};
use trunkline::client::http::{Url, redact_url};
use trunkline::http;
use trunkline::layers::authorize::{DefaultScopes, Requirement, Rules};
use trunkline::layers::rate_limit::Rate;

use super::operation_names::OperationNames;
use super::roles::{self, SUBJECT_OF_ANY_ISSUER};
use super::tls::TlsArgs;
use crate::config::{Config, claim_of};

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
    /// Tokens with names, of the configuration file
    // Hidden, so that the file is used: other users of the machine can read command lines.
    #[arg(long, value_name = "NAME=TOKEN", hide = true)]
    named_token: Vec<String>,
    /// Keys of signed tokens (JWT), which are accepted too
    ///
    /// A JSON Web Key Set, as a file or an https URL. Changed keys are used without a restart. Requires --audience or
    /// --resource-url.
    #[arg(long, value_name = "FILE|URL", env = "TRUNKLINE_JWKS", hide_env_values = true)]
    jwks: Option<String>,
    /// Accepted audience (`aud`) of signed tokens; `*` for all
    ///
    /// Repeatable or comma-separated; one match is enough.
    #[arg(long, value_name = "AUDIENCE", env = "TRUNKLINE_AUDIENCE", value_delimiter = ',')]
    audience: Vec<String>,
    /// Accepted issuer (`iss`) of signed tokens [default: any]
    ///
    /// Repeatable or comma-separated; one match is enough.
    #[arg(
        long,
        value_name = "ISSUER",
        env = "TRUNKLINE_ISSUER",
        hide_env_values = true,
        value_delimiter = ','
    )]
    issuer: Vec<String>,
    /// URL of this server for OAuth clients
    ///
    /// The URL that MCP clients connect to, such as https://db.example.com/mcp. It is an accepted audience of signed
    /// tokens, and its host is an accepted host. Clients without a token find the authorization server in the metadata
    /// at /.well-known/oauth-protected-resource (RFC 9728). Requires --jwks and --authorization-server.
    #[arg(long, value_name = "URL", env = "TRUNKLINE_RESOURCE_URL", hide_env_values = true)]
    resource_url: Option<String>,
    /// Authorization server that issues tokens for --resource-url
    ///
    /// Its issuer identifier, exactly as in the claim `iss`, which must be one of these unless --issuer is given.
    /// Repeatable or comma-separated.
    #[arg(
        long,
        value_name = "ISSUER",
        env = "TRUNKLINE_AUTHORIZATION_SERVER",
        hide_env_values = true,
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
    /// Additional claim with the scopes of signed tokens
    ///
    /// For issuers that write permissions to other claims than scope and scp: roles (Entra ID, for applications),
    /// permissions (Auth0), realm_access.roles (Keycloak). A text, separated by spaces, or an array. Repeatable or
    /// comma-separated. Requires --jwks.
    #[arg(long, value_name = "CLAIM", env = "TRUNKLINE_SCOPE_CLAIM", value_delimiter = ',')]
    scope_claim: Vec<String>,
    /// Claim that calls of some methods require
    ///
    /// METHODS is a pattern like `db.*`. The claim is like `role:admin`, `realm_access.roles:admin` or, for a scope,
    /// `scope:read`. Its name may be a URL: in `https://example.com/roles:admin` the value follows the last colon. `sub`
    /// requires exactly one --issuer. Repeatable or comma-separated; all rules that match a method apply. `history=…` is the rule for /history and
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
        self.jwks.is_some() || !self.bearer.is_empty() || !self.named_token.is_empty()
    }

    /// Whether requests must have a token or a client certificate.
    pub(super) fn requires_credentials(&self, tls: &TlsArgs) -> bool {
        self.requires_token() || tls.accepts_certificates()
    }

    /// Whether signed tokens are accepted.
    pub(super) fn accepts_signed(&self) -> bool {
        self.jwks.is_some()
    }

    /// The issuer of all signed tokens that are accepted. `None` if there can be several, or no signed tokens.
    pub(super) fn only_issuer(&self) -> Option<&str> {
        let issuers = self.issuers();
        let first = *issuers.first().filter(|_| self.accepts_signed())?;
        issuers.iter().all(|issuer| *issuer == first).then_some(first)
    }

    /// The accepted issuers of signed tokens. Empty for any.
    fn issuers(&self) -> Vec<&str> {
        let list = if self.issuer.is_empty() { &self.authorization_server } else { &self.issuer };
        entries(list).collect()
    }

    /// The names of tokens, and the tokens.
    fn named_tokens(&self) -> impl Iterator<Item = (&str, &str)> {
        self.named_token.iter().filter_map(|token| token.split_once('='))
    }
}

/// The keys of signed tokens, and where they are from. None without `--jwks`.
#[derive(Default)]
pub(crate) struct SignedKeys(Option<(String, Keys)>);

/// Sets the accepted tokens, and accepts client certificates. Keys are loaded now: without any key, the server does not start. Keys of `known` that are
/// from the same place are loaded already.
pub(crate) async fn guard(
    access: &Access,
    tls: &TlsArgs,
    http: &mut http::HttpConfig,
    known: &SignedKeys,
) -> anyhow::Result<SignedKeys> {
    if tls.accepts_certificates() {
        // Its authorities are the operator's own, like listed tokens.
        let scopes = default_scopes(access)?.all();
        http.authenticators.push(Arc::new(http::ClientCertificates { scopes }));
    }
    let Some(Signed { jwks, config, resource }) = configure(access, http)? else {
        return Ok(SignedKeys::default());
    };
    let loaded = known.0.as_ref().filter(|(place, _)| place == jwks).map(|(_, keys)| keys.clone());
    let keys = match loaded {
        Some(loaded) => loaded,
        None => {
            let keys = keys(jwks)?;
            keys.load().await.with_context(|| not_loaded(jwks))?;
            keys
        }
    };
    http.bearer.allow_signed(Jwt::new(keys.clone(), config));
    if let Some(resource) = &resource {
        http.hosts.allow(resource.url.host());
    }
    http.protected_resource = resource;
    Ok(SignedKeys(Some((jwks.to_owned(), keys))))
}

/// Checks the flags without loading keys.
pub(super) fn check(access: &Access) -> anyhow::Result<()> {
    if let Some(signed) = configure(access, &mut http::HttpConfig::default())? {
        url_of_keys(signed.jwks)?;
    }
    parsed(access).map(drop)
}

/// How signed tokens are verified.
struct Signed<'a> {
    /// The place of the keys.
    jwks: &'a str,
    config: JwtConfig,
    resource: Option<ProtectedResource>,
}

/// Sets the listed tokens, and reads the flags of signed tokens. None without `--jwks`.
fn configure<'a>(
    access: &'a Access,
    http: &mut http::HttpConfig,
) -> anyhow::Result<Option<Signed<'a>>> {
    check_tokens(access)?;
    for (flag, list) in lists(access) {
        check_list(flag, list)?;
    }
    let scopes = default_scopes(access)?;
    let unnamed = access.bearer.iter().map(|token| (principal(token), token.as_str()));
    let named = access.named_tokens().map(|(name, token)| (name.to_owned(), token));
    for (name, token) in unnamed.chain(named) {
        // Listed tokens are the operator's own.
        http.bearer.allow_principal(Principal::new(name).with_scopes(&scopes.all()), token);
    }
    let Some(jwks) = &access.jwks else {
        let settings = [&access.resource_url, &access.read_scope, &access.write_scope];
        let has_lists = lists(access).iter().any(|(_, list)| !list.is_empty());
        ensure!(
            !has_lists && settings.iter().all(|setting| setting.is_none()),
            "--audience, --issuer, --require, --resource-url, --authorization-server, --read-scope, --write-scope and \
             --scope-claim apply to signed tokens: give --jwks, too"
        );
        return Ok(None);
    };
    ensure!(
        !jwks.trim().is_empty(),
        "--jwks is empty: give a file or a URL, or leave out the flag and its variable"
    );
    let resource = resource(access, &scopes)?;
    let config = jwt_settings(access, resource.as_ref(), &scopes)?;
    Ok(Some(Signed { jwks, config, resource }))
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

/// Checks that requests can carry the tokens, and that each is one caller. An empty token usually means that a variable
/// is not set. The messages do not show the tokens.
fn check_tokens(access: &Access) -> anyhow::Result<()> {
    let named: Vec<_> = access.named_tokens().collect();
    let is_visible = |token: &str| token.bytes().all(|byte| byte.is_ascii_graphic());
    let all = access.bearer.iter().map(String::as_str).chain(named.iter().map(|(_, token)| *token));
    for token in all {
        if token.is_empty() || !is_visible(token) {
            bail!(
                "a bearer token is empty or has invalid characters; use visible ASCII characters without blanks"
            );
        }
    }
    for (index, (name, token)) in named.iter().enumerate() {
        if let Some((other, _)) = named[..index].iter().find(|(_, other)| other == token) {
            bail!("the tokens `{other}` and `{name}` are the same: each token has one name");
        }
        ensure!(
            !access.bearer.iter().any(|unnamed| unnamed == token),
            "the token `{name}` is also a token without a name: remove one of them"
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

/// Refuses a list that is given but empty, which usually means that a variable is not set. Ignoring it would allow more
/// than was intended.
pub(crate) fn check_list(flag: &str, list: &[String]) -> anyhow::Result<()> {
    ensure!(
        list.is_empty() || entries(list).next().is_some(),
        "{flag} is empty: give a value, or leave out the flag and its variable"
    );
    Ok(())
}

/// The flags that apply to signed tokens.
fn lists(access: &Access) -> [(&'static str, &[String]); 5] {
    [
        ("--audience", &access.audience),
        ("--issuer", &access.issuer),
        ("--require", &access.require),
        ("--authorization-server", &access.authorization_server),
        ("--scope-claim", &access.scope_claim),
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
    settings.scope_claims = list(&access.scope_claim);
    settings.audiences.extend(list(&access.audience));
    settings.issuers = access.issuers().into_iter().map(str::to_owned).collect();
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
    let Some(url) = url_of_keys(jwks)? else { return Ok(Keys::file(jwks)) };
    if !url.is_https() {
        tracing::warn!(
            url = redact_url(jwks),
            "keys are loaded without TLS and can be replaced on the way: use https"
        );
    }
    Keys::url(url).with_context(|| not_loaded(jwks))
}

/// The URL of the keys. None if they are in a file.
fn url_of_keys(jwks: &str) -> anyhow::Result<Option<Url>> {
    let url = jwks.contains("://").then(|| jwks.parse()).transpose();
    url.with_context(|| not_loaded(jwks))
}

fn not_loaded(jwks: &str) -> String {
    format!("cannot load the keys of --jwks {jwks}")
}

/// The requirements and roles of callers.
pub(crate) fn rules(
    access: &Access,
    config: &Config,
    default_rate: Option<Rate>,
) -> anyhow::Result<Rules> {
    let scopes = default_scopes(access)?;
    let others = scopes.write.clone().or_else(|| scopes.read.clone());
    let default = DefaultScopes { read_only: scopes.read(), others: Scopes::new(others) };
    let required = parsed(access)?.into_iter();
    let rules = required.fold(Rules::new(), |rules, (pattern, one)| rules.require(pattern, one));
    let mut rules = rules;
    for role in config.roles() {
        rules = rules.role(roles::role(role, access.only_issuer())?);
    }
    Ok(rules.default_scopes(default).default_rate(default_rate))
}

/// Checks that each pattern of a rule or a role matches an operation, or something else with a name. A misspelled one
/// would leave operations open to all callers.
pub(crate) fn check_patterns(
    access: &Access,
    config: &Config,
    names: &OperationNames,
) -> anyhow::Result<()> {
    for (pattern, _) in parsed(access)? {
        ensure!(
            names.has_match(pattern),
            "--require {pattern}=…: no method matches; the prefixes are {}",
            names.prefixes.join(", ")
        );
    }
    Ok(roles::check_patterns(config, names)?)
}

fn parsed(access: &Access) -> anyhow::Result<Vec<(&str, Requirement)>> {
    let issuer = access.only_issuer();
    let parse = |text| {
        let (pattern, claim) = rule(text).with_context(|| {
            format!("invalid --require {text}; the format is like db.*=role:admin")
        })?;
        let requirement = roles::requirement(claim, issuer).with_context(|| {
            format!("--require {text}: {SUBJECT_OF_ANY_ISSUER}; give exactly one --issuer")
        })?;
        Ok((pattern, requirement))
    };
    entries(&access.require).map(parse).collect()
}

/// The pattern, and the name and value of the claim.
fn rule(text: &str) -> Option<(&str, (&str, &str))> {
    let (pattern, text) = text.split_once('=')?;
    let pattern = pattern.trim();
    (!pattern.is_empty()).then_some((pattern, claim_of(text)?))
}

/// The entries of a list flag, without empty ones: a variable with an empty value is parsed as one empty entry.
pub(crate) fn entries(list: &[String]) -> impl Iterator<Item = &str> {
    list.iter().map(|entry| entry.trim()).filter(|entry| !entry.is_empty())
}
