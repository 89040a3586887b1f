//! One reading at a time, for all who wait for it.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Readings, by number. Whoever asks for one gets the result of the first that begins after that.
#[derive(Debug)]
pub(super) struct Turns<T> {
    state: Mutex<State<T>>,
    ended: Condvar,
}

#[derive(Debug)]
struct State<T> {
    begun: u64,
    is_reading: bool,
    /// The last one that has ended, and what came of it.
    last: Option<(u64, T)>,
}

impl<T: Clone> Turns<T> {
    pub(super) fn new() -> Self {
        let state = State { begun: 0, is_reading: false, last: None };
        Self { state: Mutex::new(state), ended: Condvar::new() }
    }

    /// How many readings have begun: the next one has a higher number.
    pub(super) fn begun(&self) -> u64 {
        self.lock().begun
    }

    /// What came of a reading that has begun after so many others, if it has ended.
    pub(super) fn since(&self, begun: u64) -> Option<T> {
        let state = self.lock();
        let last = state.last.as_ref().filter(|(number, _)| *number > begun);
        last.map(|(_, result)| result.clone())
    }

    /// Reads, or waits for another who does.
    pub(super) fn take(&self, read: impl FnOnce() -> T) -> T {
        let begun = self.begun();
        let mut state = self.lock();
        while state.is_reading {
            state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
            if let Some((_, result)) = state.last.as_ref().filter(|(number, _)| *number > begun) {
                return result.clone();
            }
        }
        state.begun += 1;
        state.is_reading = true;
        let turn = Turn { turns: self, number: state.begun };
        drop(state);
        turn.end(read())
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reading that runs. It is over when this is dropped, whatever came of it.
struct Turn<'t, T: Clone> {
    turns: &'t Turns<T>,
    number: u64,
}

impl<T: Clone> Turn<'_, T> {
    fn end(self, result: T) -> T {
        self.turns.lock().last = Some((self.number, result.clone()));
        result
    }
}

impl<T: Clone> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        self.turns.lock().is_reading = false;
        self.turns.ended.notify_all();
    }
}
