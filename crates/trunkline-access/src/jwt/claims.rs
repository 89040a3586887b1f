//! Claims (RFC 7519, section 4.1) and their validation.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::token::{TokenError, json};
use crate::resource::{is_same, is_same_issuer};
use crate::{Principal, ProtectedResource, ScopeHierarchy};

/// The requirements for tokens. `Default` accepts all issuers and audiences: set them if the keys also
/// sign tokens for other servers.
#[derive(Debug, Clone)]
pub struct JwtConfig {
    /// The accepted audiences, one of which `aud` must contain. URLs are compared in their
    /// [canonical form](crate::ResourceUrl), other audiences exactly. Default: empty, `aud` is not checked.
    pub audiences: Vec<String>,
    /// The accepted issuers, one of which `iss` must equal, except for a slash at the end of a URL. The issuer of the
    /// principal is the accepted one. Default: empty, `iss` is not checked.
    pub issuers: Vec<String>,
    /// The maximum clock skew between the issuer and this server. Default 60 s.
    pub leeway: Duration,
    /// The maximum size of a token, in bytes. Default 16 KiB.
    pub max_bytes: usize,
    /// The scopes that broader ones include. Default: none.
    pub scope_hierarchy: ScopeHierarchy,
    /// The claims whose values are [scopes](Principal::has_scope), in addition to `scope` and `scp`, such as `roles` of
    /// Entra ID and `permissions` of Auth0. Default: none.
    pub scope_claims: Vec<String>,
}

impl JwtConfig {
    /// The requirements of a resource: its URL is the audience, and its authorization servers are the issuers.
    #[must_use]
    pub fn for_resource(resource: &ProtectedResource) -> Self {
        Self {
            audiences: vec![resource.url.to_string()],
            issuers: resource.authorization_servers.clone(),
            ..Self::default()
        }
    }
}

impl Default for JwtConfig {
    fn default() -> Self {
        Self {
            audiences: Vec::new(),
            issuers: Vec::new(),
            leeway: Duration::from_secs(60),
            max_bytes: 16 << 10,
            scope_hierarchy: ScopeHierarchy::default(),
            scope_claims: Vec::new(),
        }
    }
}

#[derive(Deserialize)]
struct Registered {
    exp: Option<f64>,
    nbf: Option<f64>,
    iat: Option<f64>,
    iss: Option<String>,
    aud: Option<Audience>,
    sub: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

impl Audience {
    fn names(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Many(names) => names,
        }
    }
}

/// The principal of a token, if its claims are valid at `now`.
pub(super) fn check(
    token: &[u8],
    claims: &[u8],
    settings: &JwtConfig,
    now: SystemTime,
) -> Result<Principal, TokenError> {
    let claims: Map<String, Value> = json(claims)?;
    let registered = Registered::deserialize(&claims).map_err(|_| TokenError::Malformed)?;
    registered.check_times(settings.leeway, now)?;
    let JwtConfig { issuers, audiences, .. } = settings;
    let issuer = registered.iss.unwrap_or_default();
    let issuer = match issuers.iter().find(|accepted| is_same_issuer(accepted, &issuer)) {
        // Two spellings are one principal.
        Some(accepted) => accepted.clone(),
        None if issuers.is_empty() => issuer,
        None => return Err(TokenError::Issuer),
    };
    let named = registered.aud.as_ref().map_or(&[][..], Audience::names);
    let is_accepted = |name: &String| audiences.iter().any(|audience| is_same(audience, name));
    if !audiences.is_empty() && !named.iter().any(is_accepted) {
        return Err(TokenError::Audience);
    }
    let principal = match registered.sub.filter(|subject| !subject.is_empty()) {
        Some(subject) => Principal::signed(issuer, subject),
        None => Principal::anonymous(issuer, identifier(token, &claims)),
    };
    let principal = principal.with_claims(claims).with_scope_claims(&settings.scope_claims);
    Ok(principal.with_scope_hierarchy(settings.scope_hierarchy.clone()))
}

/// The identifier of a token. The digest includes the signature, since the rest can be guessed.
fn identifier(token: &[u8], claims: &Map<String, Value>) -> String {
    let id = claims.get("jti").and_then(Value::as_str).filter(|id| !id.is_empty());
    match id {
        Some(id) => format!("jti:{id}"),
        None => {
            let digest = ring::digest::digest(&ring::digest::SHA256, token);
            let hex = |text: String, byte: &u8| format!("{text}{byte:02x}");
            digest.as_ref().iter().fold("sha256:".to_owned(), hex)
        }
    }
}

impl Registered {
    fn check_times(&self, leeway: Duration, now: SystemTime) -> Result<(), TokenError> {
        // A clock before 1970 is wrong; it counts as 1970.
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let leeway = leeway.as_secs_f64();
        let expiry = self.exp.ok_or(TokenError::NoExpiry)?;
        if now >= expiry + leeway {
            return Err(TokenError::Expired);
        }
        if self.nbf.is_some_and(|start| now + leeway < start) {
            return Err(TokenError::NotYetValid);
        }
        if self.iat.is_some_and(|issued| now + leeway < issued) {
            return Err(TokenError::IssuedInFuture);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Checks the time limits to the second. The integration tests check the other claims.
    #[test]
    fn validates_times() {
        let now = 1_000_000;
        let rows = [
            ("expires now", json!({"exp": now}), Ok(())),
            ("expired within the leeway", json!({"exp": now - 59}), Ok(())),
            ("expired by the leeway", json!({"exp": now - 60}), Err(TokenError::Expired)),
            ("half a second left", json!({"exp": (now - 60) as f64 + 0.5}), Ok(())),
            ("negative", json!({"exp": -1}), Err(TokenError::Expired)),
            ("far in the future", json!({"exp": 1e300}), Ok(())),
            ("valid within the leeway", json!({"exp": now + 90, "nbf": now + 60}), Ok(())),
            (
                "valid after the leeway",
                json!({"exp": now + 90, "nbf": now + 61}),
                Err(TokenError::NotYetValid),
            ),
            ("issued within the leeway", json!({"exp": now + 90, "iat": now + 60}), Ok(())),
            (
                "issued after the leeway",
                json!({"exp": now + 90, "iat": now + 61}),
                Err(TokenError::IssuedInFuture),
            ),
        ];
        for (name, claims, expected) in rows {
            check_at(name, &claims, now, expected);
        }
    }

    #[track_caller]
    fn check_at(name: &str, claims: &Value, now: u64, expected: Result<(), TokenError>) {
        let now = UNIX_EPOCH + Duration::from_secs(now);
        let checked = check(b"token", claims.to_string().as_bytes(), &JwtConfig::default(), now);
        assert_eq!(checked.map(|_| ()), expected, "{name}");
    }
}
