use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use trunkline::client::TransportError;

use super::channel::Channel;
use super::error::Error;
use super::http_link::HttpLink;
use super::last_lines::LastLines;
use super::request::{Answer, Outgoing};
use super::session::Session;

/// A connection to a server.
#[derive(Debug)]
pub(super) enum Link {
    Http(HttpLink),
    Channel(Channel),
}

impl Link {
    /// Sends a request, and waits for its result. Notifications and requests of the server go to the inbox.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the request.
    pub(super) fn request<'a>(
        &'a self,
        session: &'a Session,
        request: &'a Outgoing<'_>,
    ) -> BoxFuture<'a, Result<Answer, Error>> {
        match self {
            Self::Http(http) => Box::pin(http.request(session, request)),
            Self::Channel(channel) => Box::pin(channel.request(request)),
        }
    }

    pub(super) async fn notify(
        &self,
        session: &Session,
        method: &'static str,
        body: Bytes,
    ) -> Result<(), Error> {
        match self {
            Self::Http(http) => http.notify(session, method, body).await,
            Self::Channel(channel) => channel.notify(body).await,
        }
    }

    /// Removes cached results if the authorization has changed.
    pub(super) async fn validate_cache(&self) -> Result<(), Error> {
        match self {
            Self::Http(http) => http.endpoint.token().await.map(drop),
            Self::Channel(_) => Ok(()),
        }
    }

    pub(super) async fn close(&self, session: &Session, limit: Duration) {
        if let Self::Http(http) = self {
            http.close(session, limit).await;
        }
    }

    /// The error for a message that was not answered in time.
    pub(super) fn timed_out(&self, after: Duration) -> TransportError {
        let output = match self {
            Self::Http(_) => None,
            Self::Channel(channel) => channel.output().and_then(LastLines::cause),
        };
        TransportError::Timeout { target: self.target(), after, source: output }
    }

    pub(super) fn target(&self) -> String {
        match self {
            Self::Http(http) => http.endpoint.origin(),
            Self::Channel(channel) => channel.target().to_owned(),
        }
    }
}
