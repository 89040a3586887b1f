use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;
use trunkline::client::TransportError;

use super::cache::Key;
use super::connection::{Connection, RequestParts};
use super::error::Error;
use super::inbox::Inbox;
use super::link::Link;
use super::message::Params;
use super::negotiation::{self, Negotiated};
use super::request::Answer;
use super::session::{ServerInfo, Session};
use super::session_loss::{SessionLoss, session_loss};
use crate::lock::Lock;
use crate::log_level::LogLevel;
use crate::protocol::method;

/// The state of a client, which its tasks share.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) connection: Connection,
    pub(super) session: watch::Sender<Session>,
    info: Lock<Arc<ServerInfo>>,
    level: Lock<Option<LogLevel>>,
    /// Locked while a session is replaced.
    reopening: tokio::sync::Mutex<()>,
    /// Whether the session is verified before the next request.
    is_doubtful: AtomicBool,
    pub(super) wanted: watch::Sender<Wanted>,
    pub(super) opened: watch::Sender<Opened>,
    pub(super) is_listening: AtomicBool,
}

/// The resources that the client subscribes to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) resources: BTreeSet<String>,
    /// Increases with every change.
    pub(super) version: u64,
}

/// The stream of notifications that is open, or that the server does not support.
#[derive(Debug, Clone, Default)]
pub(super) struct Opened {
    /// The version of the wanted resources. `None` before the first stream.
    pub(super) version: Option<u64>,
    /// The resources that the server accepted.
    pub(super) resources: Vec<String>,
}

impl Core {
    pub(super) fn new(negotiated: Negotiated) -> Self {
        let Negotiated { connection, session, info } = negotiated;
        Self {
            connection,
            session: watch::Sender::new(session),
            info: Lock::new(Arc::new(info)),
            level: Lock::default(),
            reopening: tokio::sync::Mutex::default(),
            is_doubtful: AtomicBool::new(false),
            wanted: watch::Sender::default(),
            opened: watch::Sender::default(),
            is_listening: AtomicBool::new(false),
        }
    }

    pub(super) fn inbox(&self) -> &Arc<Inbox> {
        &self.connection.inbox
    }

    pub(super) fn session(&self) -> Session {
        self.session.borrow().clone()
    }

    pub(super) fn info(&self) -> Arc<ServerInfo> {
        Arc::clone(&self.info.lock())
    }

    pub(super) fn set_level(&self, level: LogLevel) {
        *self.level.lock() = Some(level);
    }

    fn level(&self) -> Option<LogLevel> {
        *self.level.lock()
    }

    /// Sends a request, and waits for its result.
    ///
    /// If the server has lost the session, another is opened, and the request is sent once more, since it did not run. If
    /// the session may be lost, it is verified: at once, if the request may be repeated, or before the next request.
    pub(super) async fn request(
        self: &Arc<Self>,
        method: &'static str,
        parts: &mut RequestParts<'_>,
    ) -> Result<Answer, Error> {
        parts.level = self.level();
        if self.is_doubtful.load(Ordering::Relaxed) {
            Box::pin(self.verify(&self.session())).await?;
        }
        let session = self.session();
        let error = match Box::pin(self.connection.request(&session, method, parts)).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let is_repeated = match self.loss(&session, &error) {
            SessionLoss::No => false,
            SessionLoss::Certain => {
                Box::pin(self.reopen(&session)).await?;
                true
            }
            SessionLoss::Named => Box::pin(self.verify(&session)).await?,
            SessionLoss::Possible if !is_repeatable(method, parts) => {
                self.is_doubtful.store(true, Ordering::Relaxed);
                false
            }
            SessionLoss::Possible => Box::pin(self.verify(&session)).await.is_ok(),
        };
        if !is_repeated {
            return Err(error);
        }
        let session = self.session();
        let answer = Box::pin(self.connection.request(&session, method, parts)).await;
        if let Err(error) = &answer
            && self.loss(&session, error) != SessionLoss::No
        {
            self.is_doubtful.store(true, Ordering::Relaxed);
        }
        answer
    }

    /// Classifies an error. A channel that has ended has no other session.
    fn loss(&self, session: &Session, error: &Error) -> SessionLoss {
        match (&self.connection.link, session_loss(session, error)) {
            (Link::Channel(_), SessionLoss::Possible) => SessionLoss::No,
            (_, loss) => loss,
        }
    }

    /// Opens another session in place of one in which the server does not answer. Returns whether it was replaced.
    async fn verify(self: &Arc<Self>, session: &Session) -> Result<bool, Error> {
        /// The timeout of the request. A server that is busy has not lost the session.
        const PING_TIMEOUT: Duration = Duration::from_secs(10);
        if self.session() != *session {
            return Ok(true);
        }
        self.is_doubtful.store(true, Ordering::Relaxed);
        let mut parts = RequestParts::default();
        parts.options.timeout = Some(PING_TIMEOUT.min(self.inbox().config.timeout));
        let is_lost = match self.connection.request(session, method::PING, &parts).await {
            Ok(_) => false,
            Err(error) => session_loss(session, &error) != SessionLoss::No,
        };
        if is_lost {
            self.reopen(session).await?;
        }
        self.is_doubtful.store(false, Ordering::Relaxed);
        Ok(is_lost)
    }

    /// The cached result of a request, or that of `request`, which is cached unless it depends on input.
    pub(super) async fn cached(
        &self,
        key: Key,
        request: impl Future<Output = Result<(Box<RawValue>, bool), Error>>,
    ) -> Result<Box<RawValue>, Error> {
        let limit = self.inbox().config.max_timeout;
        let validated = timeout(limit, self.connection.link.validate_cache()).await;
        validated.unwrap_or_else(|_| Err(self.connection.link.timed_out(limit).into()))?;
        let cache = &self.inbox().cache;
        if let Some(result) = cache.get(&key) {
            return Ok(result);
        }
        let generation = cache.generation();
        let (result, has_input) = request.await?;
        if !has_input {
            cache.put(key, &result, generation);
        }
        Ok(result)
    }

    /// Opens another session in place of `ended`, unless this has happened. Dropping the future does not interrupt this:
    /// the session would lack its level and its subscriptions.
    pub(super) async fn reopen(self: &Arc<Self>, ended: &Session) -> Result<(), Error> {
        let (core, ended) = (Arc::clone(self), ended.clone());
        let (sender, reopened) = oneshot::channel();
        self.inbox().tasks.spawn(async move {
            // The caller may have been cancelled.
            drop(sender.send(core.replace_session(&ended).await));
        });
        let closed = || {
            let target = self.connection.link.target();
            Err(TransportError::Broken { target, source: None }.into())
        };
        reopened.await.unwrap_or_else(|_| closed())
    }

    async fn replace_session(&self, ended: &Session) -> Result<(), Error> {
        let _reopening = self.reopening.lock().await;
        if self.session() != *ended {
            return Ok(());
        }
        tracing::debug!("the server has ended the session; opening another");
        let (session, info) = negotiation::initialize(&self.connection, None).await?;
        self.inbox().cache.clear();
        *self.info.lock() = Arc::new(info);
        self.session.send_replace(session.clone());
        let mut requests = Vec::new();
        if let Some(level) = self.level() {
            requests.push((method::SET_LEVEL, level.name().to_owned()));
        }
        let resources = self.wanted.borrow().resources.clone();
        requests.extend(resources.into_iter().map(|uri| (method::SUBSCRIBE, uri)));
        for (method, value) in &requests {
            let params = match *method {
                method::SUBSCRIBE => Params { uri: Some(value), ..Params::default() },
                _ => Params { level: Some(value), ..Params::default() },
            };
            let parts = RequestParts { params, ..RequestParts::default() };
            if let Err(error) = self.connection.request(&session, method, &parts).await {
                tracing::warn!(%error, method, "cannot restore a session");
            }
        }
        Ok(())
    }
}

/// Whether a request that may have run may be sent again. Tools may have effects, and a failed `ping` is an
/// answer.
fn is_repeatable(method: &str, parts: &RequestParts<'_>) -> bool {
    match method {
        method::PING => false,
        method::TOOLS_CALL => parts.is_repeatable,
        _ => true,
    }
}
