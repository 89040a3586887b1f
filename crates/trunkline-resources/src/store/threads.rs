use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::error::OpenError;

/// Starts a thread that serves until `serve` returns. A panic of SQLite's wrapper, as for memory that ran
/// out, does not end it: what was at work is dropped, and `serve` is called again.
pub(super) fn start(
    name: &str,
    mut serve: impl FnMut() + Send + 'static,
) -> Result<JoinHandle<()>, OpenError> {
    let serve = move || while catch_unwind(AssertUnwindSafe(&mut serve)).is_err() {};
    thread::Builder::new().name(name.to_owned()).spawn(serve).map_err(OpenError::Thread)
}

/// Whether the last thread has ended.
#[derive(Default)]
pub(super) struct Ended {
    ended: Mutex<bool>,
    changed: Condvar,
}

impl Ended {
    pub(super) fn set(&self) {
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Waits for it, and returns whether it happened in time.
    pub(super) fn wait(&self, patience: Duration) -> bool {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(ended, patience, |ended| !*ended);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}
