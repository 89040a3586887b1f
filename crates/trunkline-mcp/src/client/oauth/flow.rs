//! Obtains tokens from an authorization server.

use super::assertion::{AssertionRequest, AssertionSource};
use super::client_id::{RegisteredClient, Registration, SecretMethod};
use super::config::{Grant, OAuthConfig};
use super::discovery::Discovery;
use super::error::OAuthError;
use super::fetch::Fetcher;
use super::form::Form;
use super::interaction::{Interaction, Response};
use super::pkce;
use super::redirect::Pending;
use super::scopes::Scopes;
use super::tokens::{Credentials, Target, Tokens};

/// One attempt to obtain tokens.
pub(super) struct Flow<'a> {
    pub(super) config: &'a OAuthConfig,
    pub(super) fetcher: &'a Fetcher,
    pub(super) discovery: &'a Discovery,
    pub(super) scopes: Scopes,
}

impl Flow<'_> {
    /// Obtains tokens. A dynamic registration, and the authorization server to which clients are bound, are recorded in
    /// `credentials`.
    pub(super) async fn run(&self, credentials: &mut Credentials) -> Result<Tokens, OAuthError> {
        match &self.config.grant {
            Grant::AuthorizationCode(interaction) => self.code(interaction, credentials).await,
            Grant::ClientCredentials => {
                let form = Form::default().with("grant_type", "client_credentials");
                self.request(self.with_scope(form), self.known_client(credentials)?).await
            }
            Grant::JwtBearer(source) => self.assertion(source.as_ref(), credentials).await,
            Grant::Stored => Err(self.unsupported("the grant of stored tokens")),
        }
    }

    async fn code(
        &self,
        interaction: &Interaction,
        credentials: &mut Credentials,
    ) -> Result<Tokens, OAuthError> {
        let server = &self.discovery.server;
        if !server.supports_pkce() {
            return Err(self.unsupported("PKCE with `S256` (`code_challenge_methods_supported`)"));
        }
        let page = server.endpoint(&server.authorization_endpoint, "authorization requests")?;
        self.fetcher.check(page)?;

        let earlier = credentials.registration.as_ref().map(|known| known.redirect_uri.as_str());
        let response = interaction.begin(earlier).await?;
        let redirect_uri = response.redirect_uri().to_owned();
        let client = self.client(&response, credentials).await?;
        let (verifier, state) = (pkce::random()?, pkce::random()?);
        let scopes = self.with_offline_access();
        let request = Form::default()
            .with("response_type", "code")
            .with("client_id", &client.id)
            .with("redirect_uri", &redirect_uri)
            .with("state", state.expose())
            .with("code_challenge", &pkce::challenge(&verifier))
            .with("code_challenge_method", "S256")
            .with("resource", &self.discovery.resource)
            .with_optional("scope", scopes.parameter().as_deref())
            // OpenID Connect Core 1.0, section 11.
            .with_optional("prompt", scopes.contains(OFFLINE).then_some("consent"));
        let query = response.query(request.append_to(page), state.expose()).await?;
        let pending = Pending {
            state: state.expose(),
            issuer: &server.issuer,
            requires_issuer: server.authorization_response_iss_parameter_supported,
        };
        let form = Form::default()
            .with("grant_type", "authorization_code")
            .with("code", pending.code(&query)?.expose())
            .with("redirect_uri", &redirect_uri)
            .with("code_verifier", verifier.expose());
        self.request(form, client).await
    }

    async fn assertion(
        &self,
        source: &dyn AssertionSource,
        credentials: &mut Credentials,
    ) -> Result<Tokens, OAuthError> {
        const GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
        let client = self.known_client(credentials)?;
        let scope = self.scopes.parameter();
        let request = AssertionRequest {
            issuer: &self.discovery.server.issuer,
            resource: &self.discovery.resource,
            scope: scope.as_deref(),
        };
        let assertion = source.assertion(request).await.map_err(OAuthError::Assertion)?;
        let form = Form::default().with("grant_type", GRANT).with("assertion", assertion.expose());
        self.request(self.with_scope(form), client).await
    }

    async fn request(&self, form: Form, client: RegisteredClient) -> Result<Tokens, OAuthError> {
        let server = &self.discovery.server;
        let token_endpoint = server.endpoint(&server.token_endpoint, "token requests")?.to_owned();
        let target = Target {
            issuer: server.issuer.clone(),
            resource: self.discovery.resource.clone(),
            token_endpoint,
            secret_method: SecretMethod::of(server),
        };
        target.request(self.fetcher, client, form, &self.scopes).await
    }

    /// The client id for the authorization code grant: a registered client, the metadata document, or a dynamic
    /// registration (MCP, "Client Registration").
    async fn client(
        &self,
        response: &Response<'_>,
        credentials: &mut Credentials,
    ) -> Result<RegisteredClient, OAuthError> {
        let server = &self.discovery.server;
        let no_client = || OAuthError::NoClient { issuer: server.issuer.clone() };
        if !self.config.clients.is_empty() || self.document_id().is_some() {
            return self.known_client(credentials);
        }
        let redirect_uri = response.redirect_uri();
        if let Some(known) = &credentials.registration
            && known.is_valid_at(&server.issuer)
            && known.redirect_uri == redirect_uri
        {
            return Ok(known.client());
        }
        let endpoint = server.registration_endpoint.as_deref().ok_or_else(no_client)?;
        let client = (self.config.client_name.as_str(), redirect_uri);
        let found = Registration::request(self.fetcher, server, endpoint, client).await?;
        Ok(credentials.registration.insert(found).client())
    }

    /// The registered client, or the one of the metadata document.
    fn known_client(&self, credentials: &mut Credentials) -> Result<RegisteredClient, OAuthError> {
        let issuer = &self.discovery.server.issuer;
        let clients = &self.config.clients;
        if let Some(client) = clients.iter().find(|client| client.issuer.as_ref() == Some(issuer)) {
            return Ok(client.clone());
        }
        if let Some(client) = clients.iter().find(|client| client.issuer.is_none())
            && credentials.issuer.get_or_insert_with(|| issuer.clone()) == issuer
        {
            return Ok(client.clone());
        }
        let document = self.document_id().filter(|_| clients.is_empty());
        document.ok_or_else(|| OAuthError::NoClient { issuer: issuer.clone() })
    }

    /// The client id of the metadata document, if the authorization server supports it.
    fn document_id(&self) -> Option<RegisteredClient> {
        let url = self.config.client_metadata_url.clone()?;
        let is_supported = self.discovery.server.client_id_metadata_document_supported;
        is_supported.then(|| RegisteredClient::new(url))
    }

    fn with_scope(&self, form: Form) -> Form {
        form.with_optional("scope", self.scopes.parameter().as_deref())
    }

    /// The scopes of an authorization request. A request without scopes stays one, since it means the default ones.
    fn with_offline_access(&self) -> Scopes {
        let is_supported = self.discovery.server.scopes_supported.contains(OFFLINE);
        if !self.config.offline_access || !is_supported || self.scopes.is_empty() {
            return self.scopes.clone();
        }
        self.scopes.clone().union(&Scopes::from(OFFLINE))
    }

    fn unsupported(&self, missing: &'static str) -> OAuthError {
        OAuthError::Unsupported { issuer: self.discovery.server.issuer.clone(), missing }
    }
}

const OFFLINE: &str = "offline_access";
