//! Who may call a server, and what.

use anyhow::{Context, bail, ensure};
use clap::Args;
use trunkline::access::jwt::{Jwt, JwtConfig, Keys};
use trunkline::client::http::Url;
use trunkline::history::endpoint::Readers;
use trunkline::http;
use trunkline::layers::authorize::{Requirement, Rules, claim, scope};

/// The flags of access control.
#[derive(Args)]
pub(crate) struct Access {
    /// A token that requests must carry as `Authorization: Bearer TOKEN`. Repeats; the variable
    /// holds one token. Prefer it: other users of the machine can read command lines.
    // Never a list: half of a token that contains the separator would be accepted.
    #[arg(long, value_name = "TOKEN", env = "TRUNKLINE_BEARER", hide_env_values = true)]
    bearer: Vec<String>,
    /// Let in requests with signed tokens (JWT): the JSON Web Key Set that they are checked with, as
    /// a file or an https URL. Changed keys are used without a restart. Needs --audience.
    #[arg(long, value_name = "FILE|URL", env = "TRUNKLINE_JWKS")]
    jwks: Option<String>,
    /// An accepted audience (`aud`) of signed tokens; `*` accepts all. Repeatable or comma-separated;
    /// one match is enough.
    #[arg(long, value_name = "AUDIENCE", env = "TRUNKLINE_AUDIENCE", value_delimiter = ',')]
    audience: Vec<String>,
    /// An accepted issuer (`iss`) of signed tokens. Repeatable or comma-separated; one match is enough.
    #[arg(long, value_name = "ISSUER", env = "TRUNKLINE_ISSUER", value_delimiter = ',')]
    issuer: Vec<String>,
    /// The claim that the token of a call needs, for methods that match a pattern like `db.*`: a value of a
    /// claim like `role:admin` or `realm_access.roles:admin`, or a scope like `scope:read`. A claim may be
    /// named by a URL: in `https://example.com/roles:admin` the value follows the last colon. Repeatable or
    /// comma-separated; all rules that match a method apply. `history=…` is the rule for /history and /logs,
    /// which without it only holders of listed tokens can read, and no one if there are rules for methods.
    /// Needs --jwks.
    #[arg(
        long,
        value_name = "METHODS=CLAIM:VALUE",
        env = "TRUNKLINE_REQUIRE",
        value_delimiter = ','
    )]
    require: Vec<String>,
}

/// Sets the accepted tokens, and returns whether a token is required. Keys are read now: a server that could
/// accept no token does not start.
pub(crate) async fn guard(access: &Access, http: &mut http::HttpConfig) -> anyhow::Result<bool> {
    check_tokens(&access.bearer)?;
    check_lists(access)?;
    access.bearer.iter().for_each(|token| http.bearer.allow_as(principal(token), token.as_str()));
    let Some(jwks) = &access.jwks else {
        if lists(access).iter().any(|(_, list)| !list.is_empty()) {
            bail!("--audience, --issuer and --require are about signed tokens: give --jwks, too");
        }
        return Ok(!access.bearer.is_empty());
    };
    let failed = || format!("--jwks {jwks}: there are no keys to check tokens with");
    let keys = keys(jwks).with_context(failed)?;
    let settings = jwt_settings(access)?;
    keys.load().await.with_context(failed)?;
    http.bearer.allow_signed(Jwt::new(keys, settings));
    Ok(true)
}

/// A token that no request can carry protects nothing, or lets nobody in. An empty one mostly means
/// that a variable is not set which should be. The message must not show what may be a secret.
fn check_tokens(tokens: &[String]) -> anyhow::Result<()> {
    let is_visible = |token: &String| token.bytes().all(|byte| byte.is_ascii_graphic());
    if tokens.iter().any(|token| token.is_empty() || !is_visible(token)) {
        bail!(
            "a bearer token is empty, or has characters that no request can carry; \
             use visible ASCII characters, without blanks"
        );
    }
    Ok(())
}

/// Whom a listed token stands for. Records and conversations outlive the server: they must not be another's
/// because the list has changed meanwhile, as they would if tokens were numbered.
fn principal(token: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, token.as_bytes());
    let beginning = digest.as_ref().iter().take(4);
    beginning.fold("bearer-".to_owned(), |name, byte| format!("{name}{byte:02x}"))
}

/// A list that is given and holds nothing is a check that somebody wanted, and mostly a variable that
/// is not set which should be: without it, more would be let in.
fn check_lists(access: &Access) -> anyhow::Result<()> {
    for (flag, list) in lists(access) {
        ensure!(
            list.is_empty() || entries(list).next().is_some(),
            "{flag} is empty: give a value, or leave out the flag and its variable"
        );
    }
    Ok(())
}

/// What signed tokens are asked for.
fn lists(access: &Access) -> [(&'static str, &[String]); 3] {
    [("--audience", &access.audience), ("--issuer", &access.issuer), ("--require", &access.require)]
}

fn jwt_settings(access: &Access) -> anyhow::Result<JwtConfig> {
    let list = |list: &[String]| entries(list).map(str::to_owned).collect::<Vec<_>>();
    let mut settings = JwtConfig::default();
    (settings.issuers, settings.audiences) = (list(&access.issuer), list(&access.audience));
    // Issuers sign for many services with the same keys. Each of those services could call this one
    // with the tokens that it is sent (RFC 8725, section 3.9).
    if settings.audiences.is_empty() {
        bail!(
            "--jwks needs --audience: its issuer may sign tokens for other services, too, and they \
             would all be let in; give the audience that yours name, or * for any"
        );
    }
    if settings.audiences.iter().any(|audience| audience == "*") {
        settings.audiences.clear();
    }
    Ok(settings)
}

fn keys(jwks: &str) -> anyhow::Result<Keys> {
    ensure!(!jwks.trim().is_empty(), "it is empty; give a file or a URL");
    if !jwks.contains("://") {
        return Ok(Keys::file(jwks));
    }
    let url: Url = jwks.parse()?;
    if !url.is_https() {
        tracing::warn!(%url, "whoever is on the way to this URL can replace the keys: use https");
    }
    Ok(Keys::url(url)?)
}

/// What calls of which methods require, those of the agent aside; the names of methods begin so.
pub(crate) fn rules(access: &Access, beginnings: &[String]) -> anyhow::Result<Rules> {
    // Of patterns that are for the agent, those that are not for it alone.
    let is_shared = |part: &str| beginnings.iter().any(|beginning| beginning.starts_with(part));
    rules_of(access, |pattern| match pattern.strip_suffix('*') {
        _ if pattern == HISTORY || pattern.starts_with(AGENT) => false,
        Some(part) if AGENT.starts_with(part) => is_shared(part),
        _ => true,
    })
}

/// What calls of the agent's methods require, which are a service of their own: also by patterns that
/// are for all.
pub(crate) fn agent_rules(access: &Access) -> anyhow::Result<Rules> {
    rules_of(access, |pattern| {
        let beginning = pattern.strip_suffix('*');
        pattern.starts_with(AGENT) || beginning.is_some_and(|begins| AGENT.starts_with(begins))
    })
}

fn rules_of(access: &Access, is_wanted: impl Fn(&str) -> bool) -> anyhow::Result<Rules> {
    let rules = parsed(access)?.into_iter().filter(|(pattern, _)| is_wanted(pattern));
    Ok(rules.fold(Rules::new(), |rules, (pattern, required)| rules.require(pattern, required)))
}

/// Who may read the history. Where rules hold for methods, it is not for those who may not call them.
pub(crate) fn readers(access: &Access) -> anyhow::Result<Readers> {
    let rules = parsed(access)?.into_iter();
    let rules = rules.fold(Rules::new(), |rules, (pattern, needed)| rules.require(pattern, needed));
    let has_rules = rules.patterns().next().is_some();
    Ok(if has_rules { Readers::Rules(rules) } else { Readers::Listed })
}

/// What the agent's methods begin with.
const AGENT: &str = "agent.";

/// What rules call the history, which is no method.
const HISTORY: &str = "history";

fn parsed(access: &Access) -> anyhow::Result<Vec<(&str, Requirement)>> {
    let parse =
        |text| rule(text).with_context(|| format!("--require {text} is not like db.*=role:admin"));
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

/// A claim's name and value. Names that issuers add are mostly URLs, which have a colon in them.
fn claim_of(text: &str) -> Option<(&str, &str)> {
    match text.split_once(':')? {
        (scheme, path) if path.starts_with("//") => {
            let (path, value) = path.rsplit_once(':')?;
            Some((&text[..scheme.len() + 1 + path.len()], value))
        }
        named => Some(named),
    }
}

/// The entries of a list flag. A variable that is set to an empty text is a list with one empty entry, which
/// would admit callers with an empty name.
pub(crate) fn entries(list: &[String]) -> impl Iterator<Item = &str> {
    list.iter().map(|entry| entry.trim()).filter(|entry| !entry.is_empty())
}
