use std::fmt;

use futures_util::future::BoxFuture;
use http::{HeaderMap, StatusCode};
use trunkline::BoxError;

/// Obtains access tokens for the requests of a [`Client`](super::Client) over HTTP ("Authorization").
///
/// A static token is its own implementation: `"token".to_owned()`.
pub trait Authorization: Send + Sync {
    /// The token for the next request, sent as `Authorization: Bearer …`. Without a token, the request has only
    /// the headers of its [`Http`](trunkline::client::Http).
    ///
    /// # Errors
    /// When no token can be obtained. The request is not sent.
    fn token(&self) -> BoxFuture<'_, Result<Option<String>, AuthorizationError>>;

    /// Handles a refused request. Returns whether to send the request again, with a new [`token`](Self::token).
    ///
    /// # Errors
    /// When authorization fails. The request fails with this error.
    fn challenged(&self, challenge: Challenge) -> BoxFuture<'_, Result<bool, AuthorizationError>>;
}

/// A reply that refuses a request for lack of authorization. `Debug` omits the token.
#[derive(Clone)]
#[non_exhaustive]
pub struct Challenge {
    /// The URL of the MCP endpoint.
    pub url: String,
    /// The status: 401 (no token, or an invalid one) or 403 (insufficient scope).
    pub status: StatusCode,
    /// The values of `WWW-Authenticate`, as received. Values that are not ASCII are omitted.
    pub www_authenticate: Vec<String>,
    /// The token of the refused request.
    pub token: Option<String>,
}

/// The reason why authorization failed.
#[derive(Debug, thiserror::Error)]
#[error("authorization failed")]
pub struct AuthorizationError(#[source] BoxError);

impl AuthorizationError {
    /// An error with this cause.
    pub fn new(cause: impl Into<BoxError>) -> Self {
        Self(cause.into())
    }
}

impl Challenge {
    /// The challenge in a reply, if its status is 401 or 403.
    pub fn of(url: impl fmt::Display, status: StatusCode, headers: &HeaderMap) -> Option<Self> {
        if !matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return None;
        }
        let values = headers.get_all(http::header::WWW_AUTHENTICATE).iter();
        let www_authenticate = values.filter_map(|value| Some(value.to_str().ok()?.to_owned()));
        let (url, www_authenticate) = (url.to_string(), www_authenticate.collect());
        Some(Self { url, status, www_authenticate, token: None })
    }

    /// Sets the token of the refused request.
    #[must_use]
    pub fn with_token(mut self, token: Option<String>) -> Self {
        self.token = token;
        self
    }
}

debug_fields!(Challenge: url, status, www_authenticate);

/// A static token. A refused request is not repeated.
impl Authorization for String {
    fn token(&self) -> BoxFuture<'_, Result<Option<String>, AuthorizationError>> {
        Box::pin(std::future::ready(Ok(Some(self.clone()))))
    }

    fn challenged(&self, _challenge: Challenge) -> BoxFuture<'_, Result<bool, AuthorizationError>> {
        Box::pin(std::future::ready(Ok(false)))
    }
}
