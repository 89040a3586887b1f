//! Token requests and their replies (RFC 6749, section 5).

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::client_id::{RegisteredClient, Registration, SecretMethod, unix_time};
use super::error::OAuthError;
use super::fetch::{Document, Fetcher};
use super::form::Form;
use super::reply;
use super::scopes::Scopes;
use super::secret::Secret;

/// Everything that is known about the authorization for one MCP server: the tokens, and the client that was registered
/// dynamically. `Debug` omits secrets.
///
/// A [`TokenStore`](super::TokenStore) serialises it. The serialised form contains secrets, and is an implementation
/// detail.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Credentials {
    pub(super) tokens: Option<Tokens>,
    pub(super) registration: Option<Registration>,
    /// The issuer of the registered clients that are configured without one.
    pub(super) issuer: Option<String>,
}

/// Tokens, bound to the authorization server that issued them and to the resource that they are for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Tokens {
    #[serde(flatten)]
    pub(super) target: Target,
    pub(super) client_id: String,
    pub(super) access: Secret,
    pub(super) refresh: Option<Secret>,
    /// In seconds since 1970.
    expires_at: Option<u64>,
    /// The scopes that were requested or granted.
    pub(super) scopes: Scopes,
}

/// The destination of token requests.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Target {
    pub(super) issuer: String,
    pub(super) resource: String,
    pub(super) token_endpoint: String,
    pub(super) secret_method: SecretMethod,
}

#[derive(Deserialize)]
struct TokenReply {
    access_token: Secret,
    token_type: String,
    #[serde(default, deserialize_with = "reply::seconds")]
    expires_in: Option<u64>,
    #[serde(default, deserialize_with = "reply::text")]
    refresh_token: Option<Secret>,
    #[serde(default, deserialize_with = "reply::scopes")]
    scope: Scopes,
}

/// The maximum length of a token in bytes.
const MAX_TOKEN: usize = 32 << 10;

impl Target {
    /// Requests tokens with a grant. The resource (RFC 8707) is added.
    pub(super) async fn request(
        self,
        fetcher: &Fetcher,
        client: RegisteredClient,
        grant: Form,
        scopes: &Scopes,
    ) -> Result<Tokens, OAuthError> {
        let form = grant.with("resource", &self.resource);
        let message = client.token_request(form, &self.issuer, self.secret_method)?;
        let reply = fetcher.post(&self.token_endpoint, message).await?;
        self.tokens(&reply, client.id, scopes)
    }

    fn tokens(
        self,
        reply: &Document,
        client_id: String,
        scopes: &Scopes,
    ) -> Result<Tokens, OAuthError> {
        let found: TokenReply = reply::read("token request", reply)?;
        let malformed = |reason: &str| OAuthError::Malformed {
            url: reply.url.clone(),
            reason: reason.to_owned(),
        };
        if !found.token_type.eq_ignore_ascii_case("bearer") {
            return Err(malformed("`token_type` is not `Bearer`"));
        }
        for token in [Some(&found.access_token), found.refresh_token.as_ref()].into_iter().flatten()
        {
            let token = token.expose().as_bytes();
            if token.is_empty()
                || token.len() > MAX_TOKEN
                || !token.iter().all(u8::is_ascii_graphic)
            {
                return Err(malformed("a token is empty, too long, or not visible ASCII"));
            }
        }
        let lifetime = found.expires_in.map(Duration::from_secs);
        let expires_at = lifetime.and_then(|lifetime| SystemTime::now().checked_add(lifetime));
        Ok(Tokens {
            target: self,
            client_id,
            access: found.access_token,
            refresh: found.refresh_token,
            expires_at: expires_at.map(unix_time),
            scopes: scopes.clone().union(&found.scope),
        })
    }
}

impl Tokens {
    /// Refreshes the tokens (RFC 6749, section 6). The refresh token stays if it is not replaced.
    pub(super) async fn refresh(
        &self,
        refresh: &Secret,
        fetcher: &Fetcher,
        client: RegisteredClient,
    ) -> Result<Self, OAuthError> {
        let form = Form::default().with("grant_type", "refresh_token");
        let form = form.with("refresh_token", refresh.expose());
        let mut tokens = self.target.clone().request(fetcher, client, form, &self.scopes).await?;
        tokens.refresh.get_or_insert_with(|| refresh.clone());
        Ok(tokens)
    }

    /// Whether they were issued to this client.
    pub(super) fn are_of(&self, client: &Registration) -> bool {
        self.target.issuer == client.issuer && self.client_id == client.client().id
    }

    /// Whether the access token expires within `margin`. Without a known lifetime it does not.
    pub(super) fn expire_within(&self, margin: Duration) -> bool {
        let time = SystemTime::now().checked_add(margin).map(unix_time);
        self.expires_at.zip(time).is_some_and(|(expiry, time)| expiry <= time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::StatusCode;

    fn target() -> Target {
        let [issuer, resource, token_endpoint] =
            ["https://as", "https://mcp/a", "https://as/token"].map(str::to_owned);
        let secret_method = SecretMethod::Basic;
        Target { issuer, resource, token_endpoint, secret_method }
    }

    #[track_caller]
    fn check(status: u16, body: &str, expected: Result<(bool, bool, &str), &str>) {
        let status = StatusCode::from_u16(status).unwrap();
        let reply =
            Document { url: "https://as/token".to_owned(), status, body: body.as_bytes().to_vec() };
        let found = target().tokens(&reply, "c".to_owned(), &Scopes::from("a b"));
        match (found, expected) {
            (Ok(found), Ok((has_refresh, expires, scopes))) => {
                let minute = Duration::from_secs(61);
                assert_eq!(found.refresh.is_some(), has_refresh, "{body}");
                assert_eq!(found.expire_within(minute), expires, "{body}");
                assert_eq!(found.scopes, Scopes::from(scopes), "{body}");
                assert!(!format!("{found:?}").contains("hidden"), "{found:?}");
            }
            (Err(error), Err(expected)) => {
                let error = error.to_string();
                assert!(error.contains(expected) && !error.contains("hidden"), "{error}");
            }
            (found, _) => panic!("{body}: {found:?}"),
        }
    }

    #[test]
    fn stored_tokens_have_the_members_of_their_target() {
        let stored = serde_json::json!({
            "issuer": "https://as", "resource": "https://mcp/a", "token_endpoint": "https://as/token",
            "secret_method": "client_secret_basic", "client_id": "c", "access": "hidden", "refresh": null,
            "expires_at": 7, "scopes": "a b",
        });
        let tokens: Tokens = serde_json::from_value(stored.clone()).unwrap();
        assert_eq!(serde_json::to_value(tokens).unwrap(), stored);
    }

    #[test]
    fn validates_replies() {
        let with =
            |rest: &str| format!(r#"{{"access_token": "hidden", "token_type": "bearer"{rest}}}"#);
        check(200, &with(""), Ok((false, false, "a b")));
        check(
            200,
            &with(r#", "expires_in": 60, "refresh_token": "hidden", "scope": "a c""#),
            Ok((true, true, "a b c")),
        );
        check(200, &with(r#", "expires_in": 18446744073709551615"#), Ok((false, false, "a b")));
        check(
            200,
            &with(r#", "expires_in": null, "refresh_token": null"#),
            Ok((false, false, "a b")),
        );

        check(200, r#"{"access_token": "hidden"}"#, Err("unexpected JSON"));
        check(200, r#"{"access_token": "hidden", "token_type": "mac"}"#, Err("`token_type`"));
        check(200, r#"{"access_token": "", "token_type": "Bearer"}"#, Err("a token is empty"));
        check(200, r#"{"access_token": "a hidden", "token_type": "Bearer"}"#, Err("visible ASCII"));
        check(200, "hidden", Err("unexpected JSON"));
        check(
            400,
            r#"{"error": "invalid_grant", "error_description": "expired\u0007"}"#,
            Err("refused the token request: invalid_grant (expired)"),
        );
        check(500, r#"{"error": "hidden"}"#, Err("status 500"));
        check(302, "", Err("status 302"));
        check(404, "<html>hidden", Err("status 404"));
    }
}
