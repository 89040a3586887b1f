use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use trunkline::BoxError;
use trunkline::client::http::{Roots, UrlError};

use super::client_id::{RegisteredClient, SecretMethod};
use super::error::OAuthError;
use super::fetch::{FetchConfig, Fetcher};
use super::form::Form;
use super::reply;
use super::secret::Secret;

/// Obtains assertions for the JWT bearer grant (RFC 7523, section 2.1).
///
/// A static assertion is its own source: `Secret::from("eyJ…")`.
pub trait AssertionSource: Send + Sync {
    /// An assertion for the authorization server, which is its audience.
    ///
    /// # Errors
    /// When it cannot be obtained.
    fn assertion<'a>(
        &'a self,
        request: AssertionRequest<'a>,
    ) -> BoxFuture<'a, Result<Secret, BoxError>>;
}

/// The purpose of an assertion.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct AssertionRequest<'a> {
    /// The issuer of the authorization server that gets the assertion.
    pub issuer: &'a str,
    /// The resource identifier of the MCP server.
    pub resource: &'a str,
    /// The scopes that are requested, separated by spaces.
    pub scope: Option<&'a str>,
}

/// Always the same assertion, such as the token of a workload.
impl AssertionSource for Secret {
    fn assertion<'a>(
        &'a self,
        _request: AssertionRequest<'a>,
    ) -> BoxFuture<'a, Result<Secret, BoxError>> {
        Box::pin(std::future::ready(Ok(self.clone())))
    }
}

/// An identity provider that exchanges the ID token of a user for an assertion (RFC 8693; extension
/// `io.modelcontextprotocol/enterprise-managed-authorization`).
pub struct IdentityProvider {
    issuer: String,
    token_endpoint: String,
    client: RegisteredClient,
    id_token: Secret,
    fetcher: Fetcher,
}

impl IdentityProvider {
    /// A provider with this token endpoint, where `client` has obtained `id_token`. `issuer` is the audience of the
    /// client's own assertions.
    ///
    /// # Errors
    /// When the token endpoint is not a URL.
    pub fn new(
        issuer: impl Into<String>,
        token_endpoint: impl Into<String>,
        client: RegisteredClient,
        id_token: Secret,
    ) -> Result<Self, UrlError> {
        let token_endpoint = token_endpoint.into();
        let config = FetchConfig {
            roots: Roots::default(),
            trusted_hosts: Vec::new(),
            timeout: Duration::from_secs(10),
            max_reply: 256 << 10,
        };
        let fetcher = Fetcher::new(token_endpoint.parse()?, config);
        Ok(Self { issuer: issuer.into(), token_endpoint, client, id_token, fetcher })
    }

    async fn exchange(&self, request: AssertionRequest<'_>) -> Result<Secret, OAuthError> {
        const GRANT: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
        const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
        const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

        #[derive(Deserialize)]
        struct Exchanged {
            access_token: Secret,
            issued_token_type: String,
        }

        let form = Form::default()
            .with("grant_type", GRANT)
            .with("requested_token_type", ID_JAG)
            .with("subject_token", self.id_token.expose())
            .with("subject_token_type", ID_TOKEN)
            .with("audience", request.issuer)
            .with("resource", request.resource)
            .with_optional("scope", request.scope);
        let message = self.client.token_request(form, &self.issuer, SecretMethod::Basic)?;
        let reply = self.fetcher.post(&self.token_endpoint, message).await?;
        let found: Exchanged = reply::read("token exchange", &reply)?;
        if found.issued_token_type != ID_JAG {
            let reason = "`issued_token_type` is not that of an ID-JAG".to_owned();
            return Err(OAuthError::Malformed { url: reply.url, reason });
        }
        Ok(found.access_token)
    }
}

impl AssertionSource for IdentityProvider {
    fn assertion<'a>(
        &'a self,
        request: AssertionRequest<'a>,
    ) -> BoxFuture<'a, Result<Secret, BoxError>> {
        Box::pin(async move { Ok(self.exchange(request).await?) })
    }
}

// Omits the ID token.
debug_fields!(IdentityProvider: token_endpoint, client);
