use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::error::Error;

/// The turns that are not over: one of a conversation, and not too many in all.
#[derive(Debug)]
pub(super) struct Running {
    turns: Mutex<HashSet<Turn>>,
    limit: usize,
}

/// Its caller and its conversation.
type Turn = (String, String);

/// A turn is over when this is dropped.
#[derive(Debug)]
pub(super) struct Guard<'a> {
    running: &'a Running,
    turn: Turn,
}

impl Running {
    pub(super) fn new(limit: usize) -> Self {
        Self { turns: Mutex::default(), limit }
    }

    pub(super) fn begin(&self, caller: &str, conversation: &str) -> Result<Guard<'_>, Error> {
        let turn = (caller.to_owned(), conversation.to_owned());
        let mut turns = self.lock();
        if turns.contains(&turn) {
            return Err(Error::TurnRunning);
        }
        if turns.len() >= self.limit {
            return Err(Error::TooManyTurns { limit: self.limit });
        }
        turns.insert(turn.clone());
        Ok(Guard { running: self, turn })
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<Turn>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.running.lock().remove(&self.turn);
    }
}
