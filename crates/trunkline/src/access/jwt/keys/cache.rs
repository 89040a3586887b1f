//! Keys that have been read, and are read again when it is time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Found;
use super::refresh::Refresh;
use super::source::{KeysError, Source};
use crate::access::jwt::error::TokenError;
use crate::access::jwt::key::Key;
use crate::access::jwt::key_set::KeySet;
use crate::access::jwt::token::Token;

#[derive(Debug)]
pub(super) struct Cache {
    source: Source,
    refresh: Refresh,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    read: Option<(KeySet, Instant)>,
    /// When reading began last.
    tried: Option<Instant>,
    /// Cancelled when the reading that goes on has ended.
    reading: Option<CancellationToken>,
}

impl Cache {
    pub(super) fn new(source: Source, refresh: Refresh) -> Arc<Self> {
        Arc::new(Self { source, refresh, state: Mutex::default() })
    }

    pub(super) async fn load(&self) -> Result<(), KeysError> {
        self.state().tried = Some(Instant::now());
        self.read().await
    }

    /// The key for a token. Keys that are due are read again meanwhile; only a token for which there
    /// is none waits for that.
    pub(super) fn find(self: &Arc<Self>, token: &Token<'_>) -> Result<Found, TokenError> {
        let mut state = self.state();
        let now = Instant::now();
        let found = state.find(token, now, &self.refresh);
        let is_due = found.is_err() || !state.is_younger_than(self.refresh.after, now);
        if is_due && state.may_try(self.refresh.interval, now) {
            state.tried = Some(now);
            state.reading = Some(self.start_reading());
        }
        match (found, state.running()) {
            (Ok(key), _) => Ok(Found::Key(key)),
            (Err(_), Some(reading)) => Ok(Found::Reading(reading.clone().cancelled_owned())),
            (Err(error), None) => Err(error),
        }
    }

    pub(super) fn find_now(&self, token: &Token<'_>) -> Result<Arc<Key>, TokenError> {
        self.state().find(token, Instant::now(), &self.refresh)
    }

    /// Reads in a task of its own: it serves all who wait, and goes on when they leave. It ends in
    /// time by itself.
    fn start_reading(self: &Arc<Self>) -> CancellationToken {
        let ended = CancellationToken::new();
        let (cache, ending) = (Arc::clone(self), ended.clone().drop_guard());
        tokio::spawn(async move {
            if let Err(error) = cache.read().await {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                tracing::warn!(%error, cause, "the keys at hand are kept");
            }
            drop(ending);
        });
        ended
    }

    async fn read(&self) -> Result<(), KeysError> {
        let keys = self.source.read(&self.refresh).await?;
        self.state().read = Some((keys, Instant::now()));
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn find(
        &self,
        token: &Token<'_>,
        now: Instant,
        refresh: &Refresh,
    ) -> Result<Arc<Key>, TokenError> {
        match &self.read {
            Some((keys, read)) if now.duration_since(*read) <= refresh.max_age => {
                keys.key_for(token).cloned().ok_or(TokenError::UnknownKey)
            }
            _ => Err(TokenError::NoKeys),
        }
    }

    fn is_younger_than(&self, age: Duration, now: Instant) -> bool {
        self.read.as_ref().is_some_and(|(_, read)| now.duration_since(*read) < age)
    }

    fn may_try(&self, interval: Duration, now: Instant) -> bool {
        let is_early = self.tried.is_some_and(|tried| now.duration_since(tried) < interval);
        !is_early && self.running().is_none()
    }

    fn running(&self) -> Option<&CancellationToken> {
        self.reading.as_ref().filter(|reading| !reading.is_cancelled())
    }
}
