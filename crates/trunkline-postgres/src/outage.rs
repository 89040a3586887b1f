use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::address::Address;
use crate::error::ConnectError;

/// Whether the server can be reached by one of its users, such as a pool of connections. Logs the start and the end of
/// each outage, and not each failed attempt.
#[derive(Debug)]
pub struct Outage {
    user: String,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The begin of the outage, if there is one.
    since: Option<Instant>,
    /// The last success. A failed attempt that began before is not an outage.
    last_success: Option<Instant>,
}

impl Outage {
    /// `user` is a name for the log.
    #[must_use]
    pub fn new(user: impl Into<String>) -> Self {
        Self { user: user.into(), state: Mutex::default() }
    }

    /// Waits for the outcome of an attempt to connect, and records it.
    ///
    /// # Errors
    /// The error of the attempt.
    ///
    /// # Cancel safety
    /// If the future is dropped, nothing is recorded.
    pub async fn observe<T>(
        &self,
        address: &Address,
        attempt: impl Future<Output = Result<T, ConnectError>>,
    ) -> Result<T, ConnectError> {
        let begin = Instant::now();
        let outcome = attempt.await;
        match &outcome {
            Ok(_) => self.end(address),
            // The server runs.
            Err(error) if error.is_connection_limit() => {}
            Err(error) => self.begin(address, error, begin),
        }
        outcome
    }

    /// Whether the last attempt failed.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).since.is_some()
    }

    fn begin(&self, address: &Address, error: &ConnectError, begin: Instant) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.since.is_some() || state.last_success.is_some_and(|success| success > begin) {
            return;
        }
        state.since = Some(Instant::now());
        let (user, error) = (&self.user, error as &dyn std::error::Error);
        tracing::warn!(
            user,
            %address,
            error,
            "PostgreSQL cannot be reached; calls fail until it can be"
        );
    }

    fn end(&self, address: &Address) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.last_success = Some(Instant::now());
        if let Some(since) = state.since.take() {
            let (user, seconds) = (&self.user, since.elapsed().as_secs_f32());
            tracing::info!(user, %address, seconds, "PostgreSQL can be reached again");
        }
    }
}
