use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::error::Error;

/// The running turns: at most one per conversation, and a limited number in total.
#[derive(Debug)]
pub(super) struct ActiveTurns {
    turns: Mutex<HashSet<TurnKey>>,
    limit: usize,
}

/// The caller and the conversation of a turn.
type TurnKey = (String, String);

/// Marks a turn as running until it is dropped.
#[derive(Debug)]
pub(super) struct TurnGuard<'a> {
    active_turns: &'a ActiveTurns,
    turn: TurnKey,
}

impl ActiveTurns {
    pub(super) fn new(limit: usize) -> Self {
        Self { turns: Mutex::default(), limit }
    }

    pub(super) fn begin(&self, caller: &str, conversation: &str) -> Result<TurnGuard<'_>, Error> {
        let turn = (caller.to_owned(), conversation.to_owned());
        let mut turns = self.lock();
        if turns.contains(&turn) {
            return Err(Error::TurnRunning);
        }
        if turns.len() >= self.limit {
            return Err(Error::TooManyTurns { limit: self.limit });
        }
        turns.insert(turn.clone());
        Ok(TurnGuard { active_turns: self, turn })
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<TurnKey>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for TurnGuard<'_> {
    fn drop(&mut self) {
        self.active_turns.lock().remove(&self.turn);
    }
}
