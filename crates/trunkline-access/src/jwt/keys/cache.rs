//! Keys that are cached, and read again when they are due.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::source::{KeysError, Refresh, Source};
use crate::jwt::key_set::{KeySet, Unopened};
use crate::jwt::token::{Token, TokenError};

/// The claims of a token, or the keys that it waits for.
pub(in crate::jwt) enum Opened {
    /// The claims' JSON text.
    Now(Result<Vec<u8>, TokenError>),
    /// The token is checked with the keys that this reads.
    After(Reading),
}

#[derive(Debug)]
pub(super) struct Cache {
    source: Source,
    refresh: Refresh,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    read: Option<(Arc<KeySet>, Instant)>,
    /// The start of the last reading for a token, or of the last one that has succeeded.
    tried: Option<Instant>,
    /// The last reading, which may be running.
    reading: Option<Reading>,
}

impl Cache {
    pub(super) fn new(source: Source, refresh: Refresh) -> Arc<Self> {
        Arc::new(Self { source, refresh, state: Mutex::default() })
    }

    /// Reads the present keys. A reading that has begun before may miss a change, so it does not count.
    pub(super) async fn load(self: &Arc<Self>) -> Result<(), KeysError> {
        let earlier = self.state().running().cloned();
        if let Some(earlier) = earlier {
            // Its result is for the callers that have started it.
            drop(earlier.ended().await);
        }
        let reading = {
            let mut state = self.state();
            let running = state.running().cloned();
            running.unwrap_or_else(|| {
                let cache = Arc::clone(self);
                state.reading.insert(Reading::start(async move { cache.read().await })).clone()
            })
        };
        reading.ended().await
    }

    /// Returns the claims of a token. Keys that are due are read again in the background. A token waits for
    /// that if they are overdue, or if none of them fits.
    pub(super) fn open(self: &Arc<Self>, token: &Token<'_>) -> Opened {
        let keys = match self.keys_for_now() {
            Ok(keys) => keys,
            Err(reading) => return Opened::After(reading),
        };
        let error = match open(keys.as_deref(), token) {
            Ok(claims) => return Opened::Now(Ok(claims)),
            Err(Unopened { error, may_be_newer: false }) => return Opened::Now(Err(error)),
            Err(Unopened { error, .. }) => error,
        };
        let mut state = self.state();
        let now = Instant::now();
        self.read_again(&mut state, now);
        let others = match (state.keys(now, self.refresh.max_age), &keys) {
            (Some(present), Some(tried)) => !Arc::ptr_eq(&present, tried),
            (present, _) => present.is_some(),
        };
        // If other keys have been read since, their reading has ended.
        let reading = if others { state.reading.as_ref() } else { state.running() };
        match reading {
            Some(reading) => Opened::After(reading.clone()),
            None => Opened::Now(Err(error)),
        }
    }

    /// Returns the claims of a token, by the cached keys.
    pub(super) fn open_now(&self, token: &Token<'_>) -> Result<Vec<u8>, TokenError> {
        let keys = self.state().keys(Instant::now(), self.refresh.max_age);
        open(keys.as_deref(), token).map_err(|unopened| unopened.error)
    }

    /// The cached keys, unless a token has to wait for newer ones.
    fn keys_for_now(self: &Arc<Self>) -> Result<Option<Arc<KeySet>>, Reading> {
        let Refresh { after, wait_after, max_age, .. } = self.refresh;
        let mut state = self.state();
        let now = Instant::now();
        if !state.is_younger_than(after, now) {
            self.read_again(&mut state, now);
        }
        match state.running() {
            Some(reading) if !state.is_younger_than(wait_after.max(after), now) => {
                Err(reading.clone())
            }
            _ => Ok(state.keys(now, max_age)),
        }
    }

    /// Starts a reading, unless it is too early.
    fn read_again(self: &Arc<Self>, state: &mut State, now: Instant) {
        if !state.may_try(self.refresh.interval, now) {
            return;
        }
        let cache = Arc::clone(self);
        state.tried = Some(now);
        state.reading = Some(Reading::start(async move {
            cache.read().await.inspect_err(|error| {
                let cause = std::error::Error::source(error).map(ToString::to_string);
                tracing::warn!(%error, cause, "failed to read keys; keeping the previous ones");
            })
        }));
    }

    async fn read(&self) -> Result<(), KeysError> {
        let began = Instant::now();
        let keys = Arc::new(self.source.read(&self.refresh).await?);
        let mut state = self.state();
        state.read = Some((keys, Instant::now()));
        state.tried = Some(began);
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn open(keys: Option<&KeySet>, token: &Token<'_>) -> Result<Vec<u8>, Unopened> {
    match keys {
        Some(keys) => keys.open(token),
        None => Err(Unopened { error: TokenError::NoKeys, may_be_newer: true }),
    }
}

impl State {
    fn keys(&self, now: Instant, max_age: Duration) -> Option<Arc<KeySet>> {
        let (keys, read) = self.read.as_ref()?;
        (now.duration_since(*read) <= max_age).then(|| Arc::clone(keys))
    }

    fn is_younger_than(&self, age: Duration, now: Instant) -> bool {
        self.read.as_ref().is_some_and(|(_, read)| now.duration_since(*read) < age)
    }

    fn may_try(&self, interval: Duration, now: Instant) -> bool {
        let is_early = self.tried.is_some_and(|tried| now.duration_since(tried) < interval);
        !is_early && self.running().is_none()
    }

    fn running(&self) -> Option<&Reading> {
        self.reading.as_ref().filter(|reading| reading.goes_on())
    }
}

/// A running reading, for all tokens that wait for it.
#[derive(Debug, Clone)]
pub(in crate::jwt) struct Reading(watch::Receiver<Option<Result<(), KeysError>>>);

impl Reading {
    /// Reads in a separate task, which serves all that wait, and continues when they leave. `read` has
    /// its own deadline.
    fn start(read: impl Future<Output = Result<(), KeysError>> + Send + 'static) -> Self {
        let (sender, receiver) = watch::channel(None);
        tokio::spawn(async move { sender.send_replace(Some(read.await)) });
        Self(receiver)
    }

    fn goes_on(&self) -> bool {
        // The sender is dropped if the runtime ends.
        self.0.borrow().is_none() && self.0.has_changed().is_ok()
    }

    /// Waits for the result.
    pub(in crate::jwt) async fn ended(mut self) -> Result<(), KeysError> {
        let result = self.0.wait_for(Option::is_some).await;
        result.ok().and_then(|result| result.clone()).unwrap_or(Err(KeysError::Interrupted))
    }
}
