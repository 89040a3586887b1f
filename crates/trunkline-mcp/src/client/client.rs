use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::DropGuard;

use super::config::McpClientConfig;
use super::connection::RequestParts;
use super::core::Core;
use super::error::Error;
use super::inbox::Inbox;
use super::listener;
use super::message::Params;
use super::negotiation;
use super::session::ServerInfo;
use super::transport::Transport;
use crate::log_level::LogLevel;
use crate::protocol::method;

/// A client of one server, whose revision is negotiated.
///
/// Clones share the connection. It ends when the last clone is dropped; [`close`](Self::close) ends it in order.
#[derive(Debug, Clone)]
pub struct Client {
    pub(super) core: Arc<Core>,
    /// Ends the tasks.
    _tasks: Arc<DropGuard>,
}

impl Client {
    /// Connects to a server, and negotiates the revision of the protocol. The transport is that of
    /// [`Http`](trunkline::client::Http), a [`Command`](std::process::Command) to start, or another [`Transport`].
    ///
    /// # Errors
    /// [`Error::Initialize`] if the server does not support MCP, or [`Error::Versions`] if it supports none of this
    /// client's revisions.
    pub async fn connect(
        transport: impl Into<Transport>,
        config: McpClientConfig,
    ) -> Result<Self, Error> {
        /// The time to wait for the stream on which a server may send requests.
        const OPENING: Duration = Duration::from_secs(2);
        let inbox = Arc::new(Inbox::new(config));
        let tasks = Arc::new(inbox.tasks.closing().clone().drop_guard());
        let negotiated = Box::pin(negotiation::connect(transport.into(), &inbox)).await?;
        let core = Arc::new(Core::new(negotiated));
        if listener::is_needed(&core) {
            listener::start(&core);
            listener::opened(&core, 0, OPENING.min(inbox.config.timeout)).await;
        }
        Ok(Self { core, _tasks: tasks })
    }

    /// The server, as it describes itself.
    #[must_use]
    pub fn server(&self) -> Arc<ServerInfo> {
        self.core.info()
    }

    /// Verifies that the server replies. Since 2026-07-28, this is a `server/discover`.
    ///
    /// # Errors
    /// When the request fails.
    pub async fn ping(&self) -> Result<(), Error> {
        let is_modern = self.core.session().is_modern();
        let method = if is_modern { method::DISCOVER } else { method::PING };
        self.core.request(method, &mut RequestParts::default()).await.map(drop)
    }

    /// Sets the minimum level of log messages. Before this, a server of 2026-07-28 sends none.
    ///
    /// # Errors
    /// When the request fails. Since 2026-07-28 no request is sent: the level is part of later requests.
    pub async fn set_level(&self, level: LogLevel) -> Result<(), Error> {
        self.core.set_level(level);
        if self.core.session().is_modern() {
            return Ok(());
        }
        let params = Params { level: Some(level.name()), ..Params::default() };
        self.core.request(method::SET_LEVEL, &mut RequestParts::of(params)).await.map(drop)
    }

    /// Subscribes to changes of a resource, which the handler receives. Repeated subscriptions have no effect.
    ///
    /// # Errors
    /// When the request fails, or [`Error::NoSubscription`] if the server does not support it.
    pub async fn subscribe(&self, uri: &str) -> Result<(), Error> {
        if !self.core.session().is_modern() {
            let params = Params { uri: Some(uri), ..Params::default() };
            self.core.request(method::SUBSCRIBE, &mut RequestParts::of(params)).await?;
        }
        let version = listener::want(&self.core, |wanted| {
            wanted.resources.insert(uri.to_owned());
        });
        if !listener::is_needed(&self.core) {
            return Ok(());
        }
        listener::start(&self.core);
        if !self.core.session().is_modern() {
            return Ok(());
        }
        let limit = self.core.inbox().config.timeout;
        let opened = listener::opened(&self.core, version, limit).await;
        if opened.is_some_and(|opened| opened.resources.iter().any(|known| known == uri)) {
            return Ok(());
        }
        listener::want(&self.core, |wanted| {
            wanted.resources.remove(uri);
        });
        Err(Error::NoSubscription(uri.to_owned()))
    }

    /// Ends a subscription.
    ///
    /// # Errors
    /// When the request fails.
    pub async fn unsubscribe(&self, uri: &str) -> Result<(), Error> {
        listener::want(&self.core, |wanted| {
            wanted.resources.remove(uri);
        });
        if self.core.session().is_modern() {
            return Ok(());
        }
        let params = Params { uri: Some(uri), ..Params::default() };
        self.core.request(method::UNSUBSCRIBE, &mut RequestParts::of(params)).await.map(drop)
    }

    /// Completes when the connection has ended: a child process has exited, or a stream is closed. Connections over
    /// Streamable HTTP do not end.
    pub async fn closed(&self) {
        listener::closed(&self.core).await;
    }

    /// Ends the connection, for all clones: a session of HTTP is deleted, and a child process ended. Waits until this
    /// is done, up to 10 s.
    pub async fn close(self) {
        const SESSION: Duration = Duration::from_secs(2);
        const TASKS: Duration = Duration::from_secs(8);
        let session = self.core.session();
        let limit = SESSION.min(self.core.inbox().config.timeout);
        self.core.connection.link.close(&session, limit).await;
        self.core.inbox().tasks.close(TASKS).await;
    }
}
