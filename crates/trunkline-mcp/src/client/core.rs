use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use http::StatusCode;
use serde_json::value::RawValue;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;
use trunkline::client::TransportError;

use super::cache::Key;
use super::connection::{Connection, RequestParts};
use super::error::Error;
use super::inbox::Inbox;
use super::message::Params;
use super::negotiation::{self, Negotiated};
use super::request::Answer;
use super::session::{ServerInfo, Session};
use crate::log_level::LogLevel;
use crate::protocol::method;

/// The state of a client, which its tasks share.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) connection: Connection,
    pub(super) session: watch::Sender<Session>,
    info: Mutex<Arc<ServerInfo>>,
    level: Mutex<Option<LogLevel>>,
    /// Locked while a session is replaced.
    reopening: tokio::sync::Mutex<()>,
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
            info: Mutex::new(Arc::new(info)),
            level: Mutex::default(),
            reopening: tokio::sync::Mutex::default(),
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
        Arc::clone(&self.info.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn set_level(&self, level: LogLevel) {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
    }

    fn level(&self) -> Option<LogLevel> {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request, and waits for its result. If the server has ended the session, another is opened, and the
    /// request is sent once more.
    pub(super) async fn request(
        self: &Arc<Self>,
        method: &'static str,
        parts: &mut RequestParts<'_>,
    ) -> Result<Answer, Error> {
        parts.level = self.level();
        let session = self.session();
        let answer = Box::pin(self.connection.request(&session, method, parts)).await;
        match answer {
            Err(error) if is_of_ended_session(&session, &error) => {
                Box::pin(self.reopen(&session)).await?;
                Box::pin(self.connection.request(&self.session(), method, parts)).await
            }
            answer => answer,
        }
    }

    /// The cached result of a request, or the generation for caching a new one.
    pub(super) async fn cached(&self, key: &Key) -> Result<Result<Box<RawValue>, u64>, Error> {
        let limit = self.inbox().config.max_timeout;
        let validated = timeout(limit, self.connection.link.validate_cache()).await;
        validated.unwrap_or_else(|_| {
            let target = self.connection.link.target();
            Err(TransportError::Timeout { target, after: limit }.into())
        })?;
        let cache = &self.inbox().cache;
        Ok(cache.get(key).ok_or_else(|| cache.generation()))
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
        let (session, info) = negotiation::initialize(&self.connection).await?;
        self.inbox().cache.clear();
        *self.info.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(info);
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

/// Whether an error means that the session has ended ("Session Management").
pub(super) fn is_of_ended_session(session: &Session, error: &Error) -> bool {
    session.has_id() && error.status() == Some(StatusCode::NOT_FOUND)
}
