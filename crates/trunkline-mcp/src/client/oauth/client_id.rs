//! The client at an authorization server: its id and its authentication (RFC 6749, section 2.3).

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::HeaderValue;
use serde::{Deserialize, Serialize};
use serde_json::json;
use trunkline::access::jwt::SigningKey;

use super::error::OAuthError;
use super::fetch::{Fetcher, Message};
use super::form::Form;
use super::metadata::ServerMetadata;
use super::pkce;
use super::reply;
use super::secret::Secret;
use crate::percent::encode;

/// A client that is registered at an authorization server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RegisteredClient {
    /// The issuer of the authorization server. Without it, the first authorization server that the MCP server names is
    /// used, and no other one later.
    pub issuer: Option<String>,
    /// The client id.
    pub id: String,
    /// The authentication at the token endpoint. Default: none, as for public clients.
    pub authentication: ClientAuthentication,
}

/// The authentication of a client at the token endpoint.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum ClientAuthentication {
    /// None: a public client.
    #[default]
    None,
    /// A client secret, sent with `client_secret_basic`, or `client_secret_post` if the authorization server supports only
    /// that.
    Secret(Secret),
    /// A client secret in the header `Authorization`.
    SecretBasic(Secret),
    /// A client secret in the body.
    SecretPost(Secret),
    /// An assertion signed with a private key (RFC 7523), whose audience is the issuer.
    PrivateKeyJwt(Arc<SigningKey>),
}

/// A client that was registered dynamically.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Registration {
    pub(super) issuer: String,
    pub(super) redirect_uri: String,
    id: String,
    secret: Option<Secret>,
    method: Option<String>,
    /// In seconds since 1970.
    secret_expires_at: Option<u64>,
}

/// The reply of a registration endpoint (RFC 7591, section 3.2.1).
#[derive(Deserialize)]
struct Registered {
    client_id: String,
    #[serde(default, deserialize_with = "reply::text")]
    client_secret: Option<Secret>,
    #[serde(default, deserialize_with = "reply::seconds")]
    client_secret_expires_at: Option<u64>,
    #[serde(default, deserialize_with = "reply::text")]
    token_endpoint_auth_method: Option<String>,
}

const BASIC: &str = "client_secret_basic";
const POST: &str = "client_secret_post";

impl RegisteredClient {
    /// A public client with this id, at any authorization server.
    pub fn new(id: impl Into<String>) -> Self {
        Self { issuer: None, id: id.into(), authentication: ClientAuthentication::None }
    }

    /// Sets the issuer of the authorization server.
    #[must_use]
    pub fn at(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }

    /// Sets the authentication.
    #[must_use]
    pub fn authenticate(mut self, authentication: ClientAuthentication) -> Self {
        self.authentication = authentication;
        self
    }
}

/// The method for [`ClientAuthentication::Secret`] at an authorization server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum SecretMethod {
    #[serde(rename = "client_secret_basic")]
    Basic,
    #[serde(rename = "client_secret_post")]
    Post,
}

impl SecretMethod {
    pub(super) fn of(server: &ServerMetadata) -> Self {
        let supports = |method| server.supports_authentication(method);
        if supports(POST) && !supports(BASIC) { Self::Post } else { Self::Basic }
    }
}

impl fmt::Debug for ClientAuthentication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Secret(_) => "Secret",
            Self::SecretBasic(_) => "SecretBasic",
            Self::SecretPost(_) => "SecretPost",
            Self::PrivateKeyJwt(_) => "PrivateKeyJwt",
        })
    }
}

impl RegisteredClient {
    /// A token request of this client. `issuer` is the authorization server.
    pub(super) fn token_request(
        &self,
        form: Form,
        issuer: &str,
        method: SecretMethod,
    ) -> Result<Message, OAuthError> {
        use ClientAuthentication::{
            None as Public, PrivateKeyJwt, Secret, SecretBasic, SecretPost,
        };

        const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
        Ok(match (&self.authentication, method) {
            (Public, _) => Message::Form(form.with("client_id", &self.id), None),
            (SecretPost(secret), _) | (Secret(secret), SecretMethod::Post) => {
                let form = form.with("client_id", &self.id).with("client_secret", secret.expose());
                Message::Form(form, None)
            }
            (SecretBasic(secret) | Secret(secret), _) => {
                Message::Form(form, Some(basic(&self.id, secret)))
            }
            (PrivateKeyJwt(key), _) => {
                let assertion = self.assertion(key, issuer)?;
                let form =
                    form.with("client_id", &self.id).with("client_assertion_type", ASSERTION);
                Message::Form(form.with("client_assertion", &assertion), None)
            }
        })
    }

    fn assertion(&self, key: &SigningKey, issuer: &str) -> Result<String, OAuthError> {
        const LIFETIME: Duration = Duration::from_secs(60);
        let now = SystemTime::now();
        Ok(key.sign(&json!({
            "iss": self.id,
            "sub": self.id,
            "aud": issuer,
            "iat": unix_time(now),
            "exp": unix_time(now + LIFETIME),
            "jti": pkce::random()?.expose(),
        }))?)
    }
}

/// Id and secret are encoded as in forms (RFC 6749, section 2.3.1).
fn basic(id: &str, secret: &Secret) -> HeaderValue {
    let credentials = format!("{}:{}", encode(id), encode(secret.expose()));
    let value = format!("Basic {}", BASE64_STANDARD.encode(credentials));
    let mut value = HeaderValue::try_from(value).expect("Base64 is visible ASCII");
    value.set_sensitive(true);
    value
}

impl Registration {
    /// Registers a client (RFC 7591).
    pub(super) async fn request(
        fetcher: &Fetcher,
        server: &ServerMetadata,
        endpoint: &str,
        (name, redirect_uri): (&str, &str),
    ) -> Result<Self, OAuthError> {
        let method = ["none", BASIC, POST]
            .into_iter()
            .find(|method| server.supports_authentication(method))
            .unwrap_or("none");
        let document = json!({
            "client_name": name,
            "redirect_uris": [redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": method,
            "application_type": application_type(redirect_uri),
        });
        let reply = fetcher.post(endpoint, Message::Json(document.to_string())).await?;
        let found: Registered = reply::read("client registration", &reply)?;
        if found.client_id.is_empty() {
            let reason = "`client_id` is empty".to_owned();
            return Err(OAuthError::Malformed { url: reply.url, reason });
        }
        Ok(Self {
            issuer: server.issuer.clone(),
            redirect_uri: redirect_uri.to_owned(),
            id: found.client_id,
            secret: found.client_secret,
            method: found.token_endpoint_auth_method.or_else(|| Some(method.to_owned())),
            secret_expires_at: found.client_secret_expires_at.filter(|time| *time > 0),
        })
    }

    /// Whether the registration is for this authorization server, and not expired.
    pub(super) fn is_valid_at(&self, issuer: &str) -> bool {
        let now = unix_time(SystemTime::now());
        self.issuer == issuer && self.secret_expires_at.is_none_or(|time| time > now)
    }

    pub(super) fn client(&self) -> RegisteredClient {
        let authentication = match (&self.secret, self.method.as_deref()) {
            (None, _) | (_, Some("none")) => ClientAuthentication::None,
            (Some(secret), Some(POST)) => ClientAuthentication::SecretPost(secret.clone()),
            (Some(secret), _) => ClientAuthentication::SecretBasic(secret.clone()),
        };
        RegisteredClient::new(&self.id).authenticate(authentication)
    }
}

/// The `application_type` of OpenID Connect Dynamic Client Registration 1.0, section 2.
fn application_type(redirect_uri: &str) -> &'static str {
    let url = redirect_uri.parse::<trunkline::client::http::Url>();
    let is_web = url.is_ok_and(|url| !super::fetch::is_loopback(url.host()));
    if is_web { "web" } else { "native" }
}

pub(super) fn unix_time(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(methods: Option<&[&str]>) -> ServerMetadata {
        let mut server = ServerMetadata::of_origin("https://as");
        server.token_endpoint_auth_methods_supported =
            methods.map(|methods| methods.iter().map(|method| (*method).to_owned()).collect());
        server
    }

    #[track_caller]
    fn check(client: ClientAuthentication, methods: Option<&[&str]>, expected: (&str, bool)) {
        let client = RegisteredClient::new("a b").authenticate(client);
        let (form, method) = (Form::default().with("x", "y"), SecretMethod::of(&server(methods)));
        let message = client.token_request(form, "https://as", method).unwrap();
        let Message::Form(form, header) = message else { panic!("not a form") };
        let expected_header = expected.1.then(|| "Basic YSUyMGI6YyUzQWQ=".to_owned());
        let header = header.map(|value| value.to_str().unwrap().to_owned());
        assert_eq!((form.into_body().as_str(), header), (expected.0, expected_header));
    }

    #[test]
    fn authenticates_with_supported_methods() {
        use ClientAuthentication::{Secret as Any, SecretBasic, SecretPost};
        let secret = || Secret::from("c:d");
        let (public, post) = ("x=y&client_id=a%20b", "x=y&client_id=a%20b&client_secret=c%3Ad");
        check(ClientAuthentication::None, None, (public, false));
        check(Any(secret()), None, ("x=y", true));
        check(Any(secret()), Some(&["none"]), ("x=y", true));
        check(Any(secret()), Some(&[POST]), (post, false));
        check(Any(secret()), Some(&[POST, BASIC]), ("x=y", true));
        check(SecretPost(secret()), Some(&[BASIC]), (post, false));
        check(SecretBasic(secret()), Some(&[POST]), ("x=y", true));
    }

    #[test]
    fn application_types() {
        for (uri, expected) in [
            ("http://127.0.0.1:9/callback", "native"),
            ("http://localhost/callback", "native"),
            ("com.example.app:/callback", "native"),
            ("https://example.com/callback", "web"),
        ] {
            assert_eq!(application_type(uri), expected, "{uri}");
        }
    }
}
