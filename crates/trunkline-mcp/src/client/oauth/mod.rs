//! OAuth 2.1 for MCP clients ("Authorization"). Feature `oauth`.
//!
//! [`OAuth`] obtains tokens when a server refuses a request, adds them to the requests that follow, and refreshes them.
//! It finds the authorization server from the metadata of the MCP server (RFC 9728, RFC 8414, OpenID Connect Discovery).
//!
//! ```
//! use trunkline_mcp::client::oauth::{Grant, Loopback, OAuth, OAuthConfig};
//!
//! let browser = Loopback::new(|url| eprintln!("Open this page: {url}"));
//! let config = OAuthConfig::new(Grant::AuthorizationCode(browser.into()));
//! let oauth = OAuth::new("https://mcp.example.com/mcp", config)?;
//! # Ok::<(), trunkline_mcp::client::oauth::OAuthError>(())
//! ```
//!
//! | what | rule |
//! |---|---|
//! | client id | a registered client, a client id metadata document, or dynamic registration, in this order |
//! | PKCE | always, with `S256`; authorization servers without it are refused |
//! | `state`, `iss` | a response of another request or issuer is discarded (RFC 9207) |
//! | `resource` | sent with each request (RFC 8707); metadata of another resource are refused |
//! | URLs | `https`, except on this machine; no redirects; private networks only if the MCP server is in one |
//! | tokens | sent to the MCP server that they are for; refresh tokens to the endpoint that issued them |
//! | stores | clients, also of several processes, can share one: before tokens are refreshed, it is read again |
//! | refresh tokens | discarded after the error `invalid_grant` only |
//! | 403 `insufficient_scope` | authorization with the additional scopes, a limited number of times |

mod assertion;
mod challenge;
mod client_id;
mod config;
mod discovery;
mod error;
mod fetch;
mod flow;
mod form;
mod interaction;
mod loopback;
mod metadata;
mod pkce;
mod redirect;
mod reply;
mod scopes;
mod secret;
mod store;
mod tokens;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::StatusCode;
use tokio::sync::Mutex;
use tokio::time::Instant;
use trunkline::client::http::Url;

use super::authorization::{Authorization, AuthorizationError, Challenge};

pub use self::assertion::{AssertionRequest, AssertionSource, IdentityProvider};
pub use self::client_id::{ClientAuthentication, RegisteredClient};
pub use self::config::{Grant, OAuthConfig};
pub use self::error::OAuthError;
pub use self::interaction::{Interaction, Loopback, UserAgent};
pub use self::secret::Secret;
pub use self::store::{FileStore, FileStoreError, MemoryStore, StoreLock, TokenStore};
pub use self::tokens::Credentials;

use self::challenge::BearerChallenge;
use self::client_id::Registration;
use self::discovery::Discovery;
use self::fetch::{FetchConfig, Fetcher};
use self::flow::Flow;
use self::metadata::is_same_origin;
use self::scopes::Scopes;
use self::tokens::{Target, Tokens};

/// The authorization for one MCP server. Cloning is cheap; clones share their tokens.
#[derive(Clone)]
pub struct OAuth(Arc<Inner>);

struct Inner {
    server: Url,
    config: OAuthConfig,
    fetcher: Fetcher,
    /// Locked while a user decides: one decision is the answer to all refused requests.
    authorizing: Mutex<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// `None` until they are loaded.
    credentials: Option<Credentials>,
    attempts: VecDeque<Instant>,
    /// The last time that the tokens were refreshed because the server refused the earlier ones.
    refreshed: Option<Instant>,
}

/// The result of handling a refused request without the user.
enum Renewal {
    /// Whether to send the request again.
    Done(bool),
    /// New tokens with these scopes are required.
    Obtain { discovery: Box<Discovery>, scopes: Scopes, credentials: Box<Credentials> },
}

impl OAuth {
    /// The authorization for the MCP server at `url`.
    ///
    /// # Errors
    /// When `url` is not an `http` or `https` URL, or the URL of the metadata document is not `https` or has no path.
    pub fn new(url: &str, config: OAuthConfig) -> Result<Self, OAuthError> {
        let invalid = |url: &str, reason: String| OAuthError::Url { url: url.to_owned(), reason };
        let server: Url = url.parse().map_err(|error| invalid(url, format!("{error}")))?;
        if let Some(url) = &config.client_metadata_url {
            let parsed = url.parse::<Url>().map_err(|error| invalid(url, error.to_string()))?;
            if !parsed.is_https() || parsed.path() == "/" {
                let reason = "the URL of a client's metadata is https and has a path".to_owned();
                return Err(invalid(url, reason));
            }
        }
        let fetch = FetchConfig {
            roots: config.roots.clone(),
            trusted_hosts: config.trusted_hosts.clone(),
            timeout: config.timeout,
            max_reply: config.max_reply,
        };
        let fetcher = Fetcher::new(server.clone(), fetch);
        let (authorizing, state) = Default::default();
        Ok(Self(Arc::new(Inner { server, config, fetcher, authorizing, state })))
    }

    /// Discards the tokens, and returns whether there were any. The next refused request starts a new authorization.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn forget_tokens(&self) -> Result<bool, OAuthError> {
        let mut state = self.0.state.lock().await;
        let _lock = self.0.lock_store().await?;
        if self.0.reload(&mut state).await?.tokens.take().is_none() {
            return Ok(false);
        }
        self.0.save(&mut state).await.map(|()| true)
    }
}

impl Authorization for OAuth {
    fn token(&self) -> BoxFuture<'_, Result<Option<String>, AuthorizationError>> {
        // A refresh token may be valid only once, so its use is not interrupted with the request.
        let inner = Arc::clone(&self.0);
        Box::pin(async move {
            let token = match inner.valid_token().await {
                Ok(Some(token)) => Ok(token),
                Ok(None) => tokio::spawn(async move { inner.refreshed_token().await })
                    .await
                    .unwrap_or(Err(OAuthError::Interrupted)),
                Err(error) => Err(error),
            };
            token.map_err(AuthorizationError::new)
        })
    }

    fn challenged(&self, challenge: Challenge) -> BoxFuture<'_, Result<bool, AuthorizationError>> {
        Box::pin(async move { self.0.challenged(challenge).await.map_err(AuthorizationError::new) })
    }
}

impl Inner {
    /// The token of the next request, if there is one that need not be refreshed, or none at all.
    async fn valid_token(&self) -> Result<Option<Option<String>>, OAuthError> {
        let mut state = self.state.lock().await;
        let Some(tokens) = &self.load(&mut state).await?.tokens else { return Ok(Some(None)) };
        if tokens.expire_within(self.config.expiry_margin) && tokens.refresh.is_some() {
            return Ok(None);
        }
        Ok(Some(Some(tokens.access.expose().to_owned())))
    }

    async fn refreshed_token(&self) -> Result<Option<String>, OAuthError> {
        let mut state = self.state.lock().await;
        let _lock = self.lock_store().await?;
        self.reload(&mut state).await?;
        let Some(tokens) = self.load(&mut state).await?.tokens.clone() else { return Ok(None) };
        let is_due = tokens.expire_within(self.config.expiry_margin);
        if is_due && let Err(error) = self.refresh(&mut state, &tokens).await {
            // The token is still accepted for a while, or its refusal starts a new authorization.
            let is_expired = tokens.expire_within(std::time::Duration::ZERO);
            if is_expired && !(error.is_final() && self.can_authorize()) {
                return Err(error);
            }
            tracing::debug!(%error, "the access token was not refreshed");
        }
        let tokens = &self.load(&mut state).await?.tokens;
        Ok(tokens.as_ref().map(|tokens| tokens.access.expose().to_owned()))
    }

    async fn challenged(self: &Arc<Self>, challenge: Challenge) -> Result<bool, OAuthError> {
        if !challenge.url.parse::<Url>().is_ok_and(|url| is_same_origin(&url, &self.server)) {
            let (server, other) = (self.server.to_string(), challenge.url.clone());
            return Err(OAuthError::OtherServer { server, other });
        }
        if self.has_newer(&mut *self.state.lock().await, &challenge).await? {
            return Ok(true);
        }
        let _turn = self.authorizing.lock().await;
        let inner = Arc::clone(self);
        // As for `token`: the use of a refresh token is not interrupted.
        let renewing = tokio::spawn(async move {
            let mut state = inner.state.lock().await;
            inner.renew(&mut state, &challenge).await
        });
        let (discovery, scopes, mut credentials) = match renewing
            .await
            .map_err(|_| OAuthError::Interrupted)??
        {
            Renewal::Done(is_done) => return Ok(is_done),
            Renewal::Obtain { discovery, scopes, credentials } => (discovery, scopes, credentials),
        };
        let flow =
            Flow { config: &self.config, fetcher: &self.fetcher, discovery: &discovery, scopes };
        // A user may take minutes: meanwhile, neither the tokens nor the store are locked.
        let obtained = flow.run(&mut credentials).await;
        let mut state = self.state.lock().await;
        state.refreshed = None;
        match obtained {
            Ok(tokens) => {
                credentials.tokens = Some(tokens);
                state.credentials = Some(*credentials);
                let _lock = self.lock_store().await?;
                self.save(&mut state).await.map(|()| true)
            }
            Err(error) => {
                if let Err(error) = self.keep_client(&mut state, *credentials).await {
                    tracing::debug!(%error, "the registration of the client was not saved");
                }
                Err(error)
            }
        }
    }

    /// Saves the client of a failed authorization for the next one, unless earlier tokens need the earlier client.
    async fn keep_client(&self, state: &mut State, failed: Credentials) -> Result<(), OAuthError> {
        let _lock = self.lock_store().await?;
        let known = self.reload(state).await?;
        let (tokens, client) = (known.tokens.as_ref(), known.registration.as_ref());
        if tokens.zip(client).is_some_and(|(tokens, client)| tokens.are_of(client)) {
            return Ok(());
        }
        known.registration = failed.registration;
        known.issuer = failed.issuer;
        self.save(state).await
    }

    /// Whether there are tokens that were obtained after a request was sent, here or by another client of the store.
    async fn has_newer(
        &self,
        state: &mut State,
        challenge: &Challenge,
    ) -> Result<bool, OAuthError> {
        Ok(is_newer(self.load(state).await?, challenge)
            || is_newer(self.reload(state).await?, challenge))
    }

    /// Handles a refused request with tokens of the store, or by refreshing them.
    async fn renew(&self, state: &mut State, challenge: &Challenge) -> Result<Renewal, OAuthError> {
        if self.has_newer(state, challenge).await? {
            return Ok(Renewal::Done(true));
        }
        let known = self.load(state).await?.tokens.clone();
        let bearer = BearerChallenge::parse(&challenge.www_authenticate);
        if challenge.status == StatusCode::FORBIDDEN && !is_step_up(&bearer, known.as_ref()) {
            return Ok(Renewal::Done(false));
        }
        let is_refused = challenge.status == StatusCode::UNAUTHORIZED;
        let may_refresh = is_refused && self.may_refresh(state, known.as_ref());
        if !self.can_authorize() && !may_refresh {
            return Ok(Renewal::Done(false));
        }
        self.admit_attempt(state)?;
        let discovery = Box::new(self.discover(state, &bearer).await?);
        // Tokens and scopes of another authorization server or resource do not matter here.
        let known = known.filter(|known| {
            let Target { issuer, resource, .. } = &known.target;
            *issuer == discovery.server.issuer && *resource == discovery.resource
        });
        let mut is_client_refused = false;
        if let Some(tokens) = known.as_ref().filter(|_| may_refresh) {
            let _lock = self.lock_store().await?;
            if is_newer(self.reload(state).await?, challenge) {
                return Ok(Renewal::Done(true));
            }
            state.refreshed = Some(Instant::now());
            match self.refresh(state, tokens).await {
                Ok(true) => return Ok(Renewal::Done(true)),
                Ok(false) => {}
                Err(error) if error.is_final() && self.can_authorize() => {
                    tracing::debug!(%error, "the access token was not refreshed");
                    is_client_refused = error.is_invalid_client();
                }
                Err(error) => return Err(error),
            }
        }
        if !self.can_authorize() {
            return Ok(Renewal::Done(false));
        }
        let scopes = self.scopes(bearer.scope, &discovery, known.as_ref());
        let mut credentials = Box::new(self.load(state).await?.clone());
        credentials
            .registration
            .take_if(|known| is_client_refused || !known.is_valid_at(&discovery.server.issuer));
        Ok(Renewal::Obtain { discovery, scopes, credentials })
    }

    /// Whether new tokens can be obtained without those of the store.
    fn can_authorize(&self) -> bool {
        !matches!(self.config.grant, Grant::Stored)
    }

    /// Whether refused tokens can be refreshed. Tokens that were just refreshed are refused for another reason.
    fn may_refresh(&self, state: &State, tokens: Option<&Tokens>) -> bool {
        let within = self.config.attempts_within;
        let is_recent = state.refreshed.is_some_and(|refreshed| refreshed.elapsed() < within);
        tokens.is_some_and(|tokens| tokens.refresh.is_some()) && !is_recent
    }

    /// Finds the authorization server. Of several, one is preferred that has issued tokens or client ids.
    async fn discover(
        &self,
        state: &mut State,
        challenge: &BearerChallenge,
    ) -> Result<Discovery, OAuthError> {
        let known = self.load(state).await?;
        let issuers: Vec<&String> = [
            known.tokens.as_ref().map(|tokens| &tokens.target.issuer),
            known.registration.as_ref().map(|registration| &registration.issuer),
            known.issuer.as_ref(),
        ]
        .into_iter()
        .chain(self.config.clients.iter().map(|client| client.issuer.as_ref()))
        .flatten()
        .collect();
        let prefers = |issuer: &str| issuers.iter().any(|known| *known == issuer);
        Discovery::find(&self.fetcher, &self.server, challenge, prefers).await
    }

    /// The scopes to request: those of the challenge or else those of the metadata, those that were requested before, and
    /// those of the configuration (MCP, "Scope Selection Strategy" and "Step-Up Authorization Flow").
    fn scopes(
        &self,
        challenged: Option<Scopes>,
        discovery: &Discovery,
        known: Option<&Tokens>,
    ) -> Scopes {
        let required = challenged.unwrap_or_else(|| discovery.scopes.clone());
        let before = known.map(|tokens| tokens.scopes.clone()).unwrap_or_default();
        before.union(&required).union(&Scopes::new(&self.config.scopes))
    }

    /// Refreshes tokens. Returns false if that is not possible. Tokens are discarded if their refresh token is invalid,
    /// and stay after any other error: the authorization server may accept them later, or from another client.
    async fn refresh(&self, state: &mut State, tokens: &Tokens) -> Result<bool, OAuthError> {
        let credentials = self.load(state).await?;
        let client = self.client_of(tokens, credentials);
        let Some((client, refresh)) = client.zip(tokens.refresh.as_ref()) else { return Ok(false) };
        credentials.tokens = match tokens.refresh(refresh, &self.fetcher, client).await {
            Ok(refreshed) => Some(refreshed),
            Err(error) if error.is_invalid_grant() => None,
            Err(error) => return Err(error),
        };
        let is_refreshed = credentials.tokens.is_some();
        self.save(state).await?;
        Ok(is_refreshed)
    }

    /// The client to which tokens were issued.
    fn client_of(&self, tokens: &Tokens, credentials: &Credentials) -> Option<RegisteredClient> {
        let clients = self.config.clients.iter().filter(|client| {
            client.issuer.as_ref().or(credentials.issuer.as_ref()) == Some(&tokens.target.issuer)
        });
        let registered = clients.cloned();
        let dynamic = credentials.registration.iter();
        let dynamic = dynamic.filter(|known| known.is_valid_at(&tokens.target.issuer));
        let document = self.config.client_metadata_url.iter();
        let document = document.map(RegisteredClient::new);
        let mut all = registered.chain(dynamic.map(Registration::client)).chain(document);
        all.find(|client| client.id == tokens.client_id)
    }

    async fn load<'s>(&self, state: &'s mut State) -> Result<&'s mut Credentials, OAuthError> {
        let found = match state.credentials.take() {
            Some(known) => known,
            None => {
                let found = self.config.store.load(&self.server.to_string()).await;
                found.map_err(OAuthError::Store)?.unwrap_or_default()
            }
        };
        Ok(state.credentials.insert(found))
    }

    /// Reads the credentials again, since another client may use the same store: a refresh token may be valid only once.
    async fn reload<'s>(&self, state: &'s mut State) -> Result<&'s mut Credentials, OAuthError> {
        state.credentials = None;
        self.load(state).await
    }

    async fn lock_store(&self) -> Result<StoreLock, OAuthError> {
        self.config.store.lock(&self.server.to_string()).await.map_err(OAuthError::Store)
    }

    async fn save(&self, state: &mut State) -> Result<(), OAuthError> {
        let credentials = self.load(state).await?;
        let saved = self.config.store.save(&self.server.to_string(), credentials).await;
        saved.map_err(OAuthError::Store)
    }

    fn admit_attempt(&self, state: &mut State) -> Result<(), OAuthError> {
        let OAuthConfig { max_attempts, attempts_within: within, .. } = self.config;
        let now = Instant::now();
        while state.attempts.front().is_some_and(|attempt| now - *attempt >= within) {
            state.attempts.pop_front();
        }
        let attempts = state.attempts.len();
        if attempts >= max_attempts {
            return Err(OAuthError::TooManyAttempts { attempts, within });
        }
        state.attempts.push_back(now);
        Ok(())
    }
}

/// Whether a refused request was sent without these tokens.
fn is_newer(credentials: &Credentials, challenge: &Challenge) -> bool {
    let tokens = credentials.tokens.as_ref();
    tokens.is_some_and(|tokens| challenge.token.as_deref() != Some(tokens.access.expose()))
}

/// Whether a 403 asks for scopes that were not requested before.
fn is_step_up(bearer: &BearerChallenge, known: Option<&Tokens>) -> bool {
    let is_insufficient = bearer.error.as_deref() == Some("insufficient_scope");
    let is_new = |scope| !known.is_some_and(|tokens| tokens.scopes.contains_all(scope));
    is_insufficient && bearer.scope.as_ref().is_some_and(is_new)
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth")
            .field("server", &self.0.server)
            .field("config", &self.0.config)
            .finish_non_exhaustive()
    }
}
