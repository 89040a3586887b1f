//! A cache of keys that refreshes them when they are due.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::source::{KeysError, Refresh, Source};
use crate::jwt::key_set::{KeySet, Unverified};
use crate::jwt::token::{Token, TokenError};

/// The claims of a token, or the load of keys that the token waits for.
pub(in crate::jwt) enum Claims {
    /// The JSON text of the claims.
    Ready(Result<Vec<u8>, TokenError>),
    /// The token must be verified after this load.
    After(Load),
}

#[derive(Debug)]
pub(super) struct Cache {
    source: Source,
    refresh: Refresh,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The keys and the time when they were loaded.
    loaded: Option<(Arc<KeySet>, Instant)>,
    /// The start of the last load for a token, or of the last successful load.
    tried: Option<Instant>,
    /// The last load, which may be running.
    load: Option<Load>,
}

impl Cache {
    pub(super) fn new(source: Source, refresh: Refresh) -> Arc<Self> {
        Arc::new(Self { source, refresh, state: Mutex::default() })
    }

    /// Loads the current keys. A load that was already running may miss a change, so it does not count.
    pub(super) async fn load(self: &Arc<Self>) -> Result<(), KeysError> {
        let earlier = self.state().running().cloned();
        if let Some(earlier) = earlier {
            // Its result belongs to the callers that started it.
            drop(earlier.result().await);
        }
        let load = {
            let mut state = self.state();
            let running = state.running().cloned();
            running.unwrap_or_else(|| {
                let cache = Arc::clone(self);
                state.load.insert(Load::start(async move { cache.read().await })).clone()
            })
        };
        load.result().await
    }

    /// Returns the claims of a token. Keys that are due are loaded again in the background. A token waits for
    /// that if the keys are overdue or none of them matches.
    pub(super) fn claims(self: &Arc<Self>, token: &Token<'_>) -> Claims {
        let keys = match self.usable_keys() {
            Ok(keys) => keys,
            Err(load) => return Claims::After(load),
        };
        let error = match verified_claims(keys.as_deref(), token) {
            Ok(claims) => return Claims::Ready(Ok(claims)),
            Err(Unverified { error, may_be_newer: false }) => return Claims::Ready(Err(error)),
            Err(Unverified { error, .. }) => error,
        };
        let mut state = self.state();
        let now = Instant::now();
        self.refresh(&mut state, now);
        let is_replaced = match (state.keys(now, self.refresh.max_age), &keys) {
            (Some(present), Some(tried)) => !Arc::ptr_eq(&present, tried),
            (present, _) => present.is_some(),
        };
        // If the keys were replaced in the meantime, their load has ended.
        let load = if is_replaced { state.load.as_ref() } else { state.running() };
        match load {
            Some(load) => Claims::After(load.clone()),
            None => Claims::Ready(Err(error)),
        }
    }

    /// Returns the claims of a token, verified with the cached keys.
    pub(super) fn cached_claims(&self, token: &Token<'_>) -> Result<Vec<u8>, TokenError> {
        let keys = self.state().keys(Instant::now(), self.refresh.max_age);
        verified_claims(keys.as_deref(), token).map_err(|unverified| unverified.error)
    }

    /// The cached keys, or the load that tokens must wait for.
    fn usable_keys(self: &Arc<Self>) -> Result<Option<Arc<KeySet>>, Load> {
        let Refresh { after, wait_after, max_age, .. } = self.refresh;
        let mut state = self.state();
        let now = Instant::now();
        if !state.is_younger_than(after, now) {
            self.refresh(&mut state, now);
        }
        match state.running() {
            Some(load) if !state.is_younger_than(wait_after.max(after), now) => Err(load.clone()),
            _ => Ok(state.keys(now, max_age)),
        }
    }

    /// Starts a load, unless one is running or the last one is too recent.
    fn refresh(self: &Arc<Self>, state: &mut State, now: Instant) {
        if !state.may_try(self.refresh.interval, now) {
            return;
        }
        let cache = Arc::clone(self);
        state.tried = Some(now);
        state.load = Some(Load::start(async move {
            cache.read().await.inspect_err(|error| {
                let cause = std::error::Error::source(error).map(ToString::to_string);
                tracing::warn!(%error, cause, "failed to read keys; keeping the previous ones");
            })
        }));
    }

    async fn read(&self) -> Result<(), KeysError> {
        let started = Instant::now();
        let keys = Arc::new(self.source.read(&self.refresh).await?);
        let mut state = self.state();
        state.loaded = Some((keys, Instant::now()));
        state.tried = Some(started);
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn verified_claims(keys: Option<&KeySet>, token: &Token<'_>) -> Result<Vec<u8>, Unverified> {
    match keys {
        Some(keys) => keys.verified_claims(token),
        None => Err(Unverified { error: TokenError::NoKeys, may_be_newer: true }),
    }
}

impl State {
    fn keys(&self, now: Instant, max_age: Duration) -> Option<Arc<KeySet>> {
        let (keys, loaded) = self.loaded.as_ref()?;
        (now.duration_since(*loaded) <= max_age).then(|| Arc::clone(keys))
    }

    fn is_younger_than(&self, age: Duration, now: Instant) -> bool {
        self.loaded.as_ref().is_some_and(|(_, loaded)| now.duration_since(*loaded) < age)
    }

    fn may_try(&self, interval: Duration, now: Instant) -> bool {
        let is_early = self.tried.is_some_and(|tried| now.duration_since(tried) < interval);
        !is_early && self.running().is_none()
    }

    fn running(&self) -> Option<&Load> {
        self.load.as_ref().filter(|load| load.is_running())
    }
}

/// A load of keys, shared by all tokens that wait for it.
#[derive(Debug, Clone)]
pub(in crate::jwt) struct Load(watch::Receiver<Option<Result<(), KeysError>>>);

impl Load {
    /// Loads in a separate task, which continues if the waiting callers are cancelled. `read` has its own
    /// timeout.
    fn start(read: impl Future<Output = Result<(), KeysError>> + Send + 'static) -> Self {
        let (sender, receiver) = watch::channel(None);
        tokio::spawn(async move { sender.send_replace(Some(read.await)) });
        Self(receiver)
    }

    fn is_running(&self) -> bool {
        // The sender is dropped if the runtime shuts down.
        self.0.borrow().is_none() && self.0.has_changed().is_ok()
    }

    /// Waits for the result.
    pub(in crate::jwt) async fn result(mut self) -> Result<(), KeysError> {
        let result = self.0.wait_for(Option::is_some).await;
        result.ok().and_then(|result| result.clone()).unwrap_or(Err(KeysError::Interrupted))
    }
}
