use std::fmt;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::timeout;
use trunkline::BoxError;

use super::error::OAuthError;
use super::loopback::Listener;

/// How a user is asked for authorization.
#[non_exhaustive]
pub enum Interaction {
    /// With a browser on this machine.
    Loopback(Loopback),
    /// With a user agent that has its own redirect URI.
    Agent {
        /// The redirect URI.
        redirect_uri: String,
        /// The user agent.
        agent: Box<dyn UserAgent>,
    },
}

/// Opens the authorization page, and waits for the response at a port of 127.0.0.1 (RFC 8252, section 7.3).
#[non_exhaustive]
pub struct Loopback {
    open: Box<dyn Fn(&str) + Send + Sync>,
    /// The port of the redirect URI, which is `http://127.0.0.1:PORT/callback`. Default 0: any free port; the
    /// authorization server then has to ignore the port, or to support dynamic registration.
    pub port: u16,
    /// The deadline for the response of the user. Default 5 min.
    pub deadline: Duration,
}

/// A user agent with its own redirect URI.
pub trait UserAgent: Send + Sync {
    /// Requests authorization at `url`, and returns the URL to which the authorization server redirects, or its query.
    ///
    /// # Errors
    /// When the response is missing.
    fn authorize(&self, url: String) -> BoxFuture<'_, Result<String, BoxError>>;
}

/// The response that one authorization request will have.
pub(super) enum Response<'a> {
    Loopback { listener: Listener, config: &'a Loopback },
    Agent { redirect_uri: &'a str, agent: &'a dyn UserAgent },
}

impl Loopback {
    /// Opens pages with `open`, which gets the URL, starts a browser or shows the URL, and returns. It must not block.
    #[must_use]
    pub fn new(open: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { open: Box::new(open), port: 0, deadline: Duration::from_secs(5 * 60) }
    }
}

impl Interaction {
    /// Requests authorization with `agent`, whose redirect URI is `redirect_uri`.
    pub fn agent(redirect_uri: impl Into<String>, agent: impl UserAgent + 'static) -> Self {
        Self::Agent { redirect_uri: redirect_uri.into(), agent: Box::new(agent) }
    }

    /// Prepares to receive a response. `earlier` is the redirect URI of an earlier request.
    pub(super) async fn begin(&self, earlier: Option<&str>) -> Result<Response<'_>, OAuthError> {
        Ok(match self {
            Self::Loopback(config) => {
                let listener = Listener::bind(config.port, earlier).await;
                let listener = listener.map_err(|error| OAuthError::UserAgent(error.into()))?;
                Response::Loopback { listener, config }
            }
            Self::Agent { redirect_uri, agent } => {
                Response::Agent { redirect_uri, agent: agent.as_ref() }
            }
        })
    }
}

impl From<Loopback> for Interaction {
    fn from(loopback: Loopback) -> Self {
        Self::Loopback(loopback)
    }
}

impl Response<'_> {
    pub(super) fn redirect_uri(&self) -> &str {
        match self {
            Self::Loopback { listener, .. } => listener.uri(),
            Self::Agent { redirect_uri, .. } => redirect_uri,
        }
    }

    /// Requests authorization at `url`. Returns the query of the redirect.
    pub(super) async fn query(self, url: String, state: &str) -> Result<String, OAuthError> {
        match self {
            Self::Loopback { listener, config } => {
                (config.open)(&url);
                let response = timeout(config.deadline, listener.query(state)).await;
                let late = || format!("no response within {} s", config.deadline.as_secs());
                let response = response.map_err(|_| OAuthError::UserAgent(late().into()))?;
                response.map_err(|error| OAuthError::UserAgent(error.into()))
            }
            Self::Agent { agent, .. } => {
                let location = agent.authorize(url).await.map_err(OAuthError::UserAgent)?;
                let location = location.split('#').next().unwrap_or_default();
                Ok(location.split_once('?').map_or(location, |(_, query)| query).to_owned())
            }
        }
    }
}

impl fmt::Debug for Interaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loopback(loopback) => loopback.fmt(f),
            Self::Agent { redirect_uri, .. } => {
                f.debug_struct("Agent").field("redirect_uri", redirect_uri).finish_non_exhaustive()
            }
        }
    }
}

debug_fields!(Loopback: port, deadline);
